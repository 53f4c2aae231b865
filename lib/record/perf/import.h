/* SPDX-License-Identifier: MIT */
/*
 * Converts a perf.data file, read by perf/perfdata.h, into one recording of a store.
 *
 *   perfdata ──┬─ mmap, comm, fork, exit ──► import_processes: address ──► location
 *              └─ sample ──► import_stack: frames ──► node of the trie ──► import_rows ──► store
 *
 * The frames of a sample come from the first of these sources that it has:
 *   - its registers and stack (`--call-graph dwarf`), walked with lib/code/unwind and checked
 * against its branch records if there are any;
 *   - branch records in call-stack mode (`--call-graph lbr`);
 *   - the kernel's call chain (`--call-graph fp`), joined with the calls that branch records of
 *     every kind show (`-b`);
 *   - the sampled address alone.
 *
 * A file of this machine is used only if it is the recorded one: its build-id must match (that of
 * the record or of the header's table) or, on the machine that recorded, device and inode must; or
 * the user vouches for it (symfs). Frames of other files keep object and offset. With the same
 * build-id these are the same locations as in stackd's own recordings.
 */
#ifndef PERF_IMPORT_H
#define PERF_IMPORT_H

#include <stdint.h>
#include <sys/utsname.h>

#include "perf/import_passes.h"
#include "perf/perfdata.h"
#include "stackd_abi.h"
#include "store/store_writer.h"

#define IMPORT_MAX_THREADS (1u << 20) /* of one file: no machine runs more threads */

struct import_options {
	const char *store;	   /* path; created if missing */
	const char *target;	   /* becomes the recording's target: "perf.data" */
	const char *const *events; /* names of the wanted events; NULL: the one that has samples */
	size_t n_events;
	/* events of this region's probes are passes, not samples; begin NULL: there are none */
	struct import_region region;
	const struct utsname *machine; /* this machine, to be compared with the one that recorded */
	const char *symfs;	       /* folder with the recorded machine's files, or NULL */
	const char *cache;	       /* perf's folder of files by build-id, or NULL */
	uint64_t unix_ns; /* approximate end of the recording, used if the file has no clock */
};

struct import_result {
	int64_t recording;
	const char *event; /* borrowed from the reader */
	uint64_t samples, lost, complete, reconstructed, partial;
	uint64_t other_samples; /* samples of events that were not asked for */
	uint64_t hits;		/* hits of the region's probes */
	/* counters read with samples that are left out: there are more than METRIC_COUNTERS */
	uint32_t counters_left_out;
	char *missing; /* report on missing files, which the caller frees; NULL: none is missing */
};

/* Imports the whole file and marks the recording as finished. Borrows all arguments. Returns 0;
 * -ENODATA: there are no samples; -EINVAL: several events have samples, or none has the wanted
 * name, or that of the region; -EBADMSG: the file is damaged, or exceeds IMPORT_MAX_THREADS or
 * IMPORT_MAX_MAPS; -ENOMEM; or an error of perfdata_next() or of the store's writer. On failure
 * nothing is left in the store, and *ret_error is a malloc()ed sentence, or NULL. */
int import_run(struct perfdata *reader, const struct import_options *options,
	       struct import_result *ret_result, char **ret_error);

#endif
