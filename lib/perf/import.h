/* SPDX-License-Identifier: MIT */
/*
 * perf's recordings become ours: what perf/perfdata.h reads goes into a store as one recording.
 *
 *   perfdata ──┬─ mmap, comm, fork, exit ──► import_world: processes, objects, address ─► location
 *              └─ sample ──► import_stack: frames ──► import_path: node of the trie ──► store
 *
 * Where a sample's frames come from, best first: its registers and stack (walked with lib/unwind,
 * the recordings of `--call-graph dwarf`), held against its branch records if it has them; branch
 * records in call-stack mode (`--call-graph lbr`); a call chain as the kernel walked it
 * (`--call-graph fp`), joined by the segment that branch records of every kind show (`-b`); the
 * sampled address alone.
 *
 * Files are taken if they are the recorded ones: by build-id (of the record or of the header's
 * table), or on the machine that recorded, by device and inode, or because somebody says so
 * (symfs). Other frames keep object and
 * offset, and with the same build-id they are the same locations as in recordings of our own.
 */
#ifndef PERF_IMPORT_H
#define PERF_IMPORT_H

#include <stdint.h>
#include <sys/utsname.h>

#include "perf/perfdata.h"
#include "stackd_abi.h"
#include "store/store_writer.h"

#define IMPORT_MAX_THREADS (1u << 20) /* of one file: more is not a recording of a machine */

struct import_options {
	const char *store;	   /* path; made if it is not there */
	const char *target;	   /* what the recording is said to be of: "perf.data" */
	const char *const *events; /* names; NULL: the one that has samples */
	size_t n_events;
	const struct utsname *machine; /* ours: files and kernel may be the recorded ones */
	const char *symfs;	       /* folder with the recorded machine's files; NULL */
	const char *cache;	       /* perf's folder of files by build-id; NULL */
	uint64_t unix_ns; /* about when the recording ended, if the file does not say */
};

struct import_result {
	int64_t recording;
	const char *event; /* lives as long as the reader */
	uint64_t samples, lost, complete, reconstructed, partial;
	uint64_t other_samples; /* of events that were not asked for */
	char *missing;		/* what is to be said of missing files, malloc()ed; NULL: none is */
};

/* Imports all of it, and ends the recording as finished. 0; -ENODATA: there are no samples; what
 * the reader says; -EINVAL: several events have samples, or none is named so; -EBADMSG: more
 * threads than IMPORT_MAX_THREADS; what the store's writer says; -ENOMEM. On failure nothing is
 * left in the store, and *ret_error is a malloc()ed sentence or NULL. */
int import_run(struct perfdata *reader, const struct import_options *options,
	       struct import_result *ret_result, char **ret_error);

#endif
