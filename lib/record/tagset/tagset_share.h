/* SPDX-License-Identifier: MIT */
/*
 * Writes the sets of many processes as one tag export, byte by byte as tagset_write() would write
 * one set that held all of it. (tagset_write() is this with a single process.)
 *
 * No process holds everything. router.h brings each kind of thing to owners, in the order of the
 * file: recordings by time, objects and locations by id, tags by tag, samples by process. Owners
 * combine equal things, number them and write them, at offsets that follow from the sizes of what
 * the other processes write. The numbers by which later lines refer to a thing (numbers, ids with
 * ".1") go back to the processes as answers of the router. So a process's memory is in proportion
 * to its own set and to an equal part of the whole.
 */
#ifndef TAGSET_TAGSET_SHARE_H
#define TAGSET_TAGSET_SHARE_H

#include "tagset/router.h"
#include "tagset/tagset.h"

/* A part of the text that a process has to write, and its place in the file. */
struct tagset_part {
	uint64_t offset;
	uint64_t len;
};

/* Receives the text that a process writes. All processes call `put` equally often, at the same
 * points, some without any text. `text` has the parts one after the other, with ascending offsets
 * in the file. `put` returns 0, or an error that ends the writing. */
struct tagset_sink {
	int (*put)(void *arg, const struct tagset_part *parts, size_t n, const struct buf *text);
	void *arg;
};

/* Totals over all sets. */
struct tagset_shared {
	uint64_t recordings, repeated; /* results of tagset_recordings() and tagset_repeated() */
	uint64_t skipped;
	uint64_t samples, weight; /* sums over all metrics */
	uint64_t bytes;		  /* bytes written */
};

/* Writes the sets of all processes as one export. Returns 0, -ENOMEM, -EIO, -EOVERFLOW (counts
 * beyond 64 bits), -EBADMSG (a message of another process is broken), -ENODATA (no set has a
 * recording: nothing is written), or an error of the sink. */
int tagset_share(const struct tagset *set, const struct router_comm *comm,
		 const struct tagset_sink *sink, struct tagset_shared *ret_shared);

#endif
