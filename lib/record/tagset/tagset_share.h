/* SPDX-License-Identifier: MIT */
/*
 * Writes the sets of many processes as one tag export: what tagset_write() would write if one set
 * held all of it, to the byte, and that is how tagset_write() does it, as a single process.
 *
 * No process has all. Each kind of thing is brought to owners by router.h, in the order of the
 * file: recordings by time, objects and locations by id, tags by tag, samples by process; owners
 * combine what is the same, number it and write it, at offsets that follow from the sizes of what
 * the others write. What lines call things by (numbers, ids with ".1") goes back as the answers of
 * the router. So a process's memory is in proportion to its own set and to an equal part of the
 * whole.
 */
#ifndef TAGSET_TAGSET_SHARE_H
#define TAGSET_TAGSET_SHARE_H

#include "tagset/router.h"
#include "tagset/tagset.h"

/* A part of the text that a process has written, and where in the file it belongs. */
struct tagset_part {
	uint64_t offset;
	uint64_t len;
};

/* Takes what processes write. All call `put` equally often, at the same points, maybe with nothing;
 * the parts stand one after the other in `text`, with ascending offsets. 0 or an error, which ends
 * the writing. */
struct tagset_sink {
	int (*put)(void *arg, const struct tagset_part *parts, size_t n, const struct buf *text);
	void *arg;
};

/* What all sets have together. */
struct tagset_shared {
	uint64_t recordings, repeated; /* as of tagset_recordings() and tagset_repeated() */
	uint64_t skipped;
	uint64_t samples, weight; /* of all metrics */
	uint64_t bytes;		  /* that were written */
};

/* Writes. 0, -ENOMEM, -EIO, -EOVERFLOW (counts beyond 64 bits), -EBADMSG (what came from another
 * process is broken), -ENODATA (no set has a recording: nothing is written), or an error of the
 * sink. */
int tagset_share(const struct tagset *set, const struct router_comm *comm,
		 const struct tagset_sink *sink, struct tagset_shared *ret_shared);

#endif
