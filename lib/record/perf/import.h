/* SPDX-License-Identifier: MIT */
/*
 * Converts a perf.data file, read by perf/perfdata.h, into one recording of a store.
 *
 *   perfdata ──┬─ mmap, comm, fork, exit ──► import_processes: address ──► location
 *              └─ sample ──► import_stack: frames ──► node of the trie ──► import_rows ──► store
 *
 * The frames of a sample come from the first of these sources that the sample has:
 *   - its registers and stack (`--call-graph dwarf`), walked with lib/code/unwind and checked
 * against its branch records if there are any;
 *   - branch records in call-stack mode (`--call-graph lbr`);
 *   - the kernel's call chain (`--call-graph fp`), joined with the calls that branch records of
 *     every kind show (`-b`);
 *   - the sampled address alone.
 *
 * A file of this machine is used only if it is the recorded one: its build-id must be the one of
 * the mmap record or of the header's table, or device and inode must be the recorded ones if this
 * is the machine that recorded, or the user must vouch for the file (symfs). Frames of other files
 * keep object and offset. With the same build-id these are the same locations as in stackd's own
 * recordings.
 */
#ifndef PERF_IMPORT_H
#define PERF_IMPORT_H

#include <stdint.h>
#include <sys/utsname.h>

#include "perf/import_passes.h"
#include "perf/perfdata.h"
#include "stackd_abi.h"
#include "store/store_writer.h"

#define IMPORT_MAX_THREADS (1u << 20) /* most threads of a file; no machine runs more */

struct import_options {
	const char *store;	   /* path; created if missing */
	const char *target;	   /* the recording's target in the store, such as "perf.data" */
	const char *const *events; /* names of the wanted events; NULL: the one that has samples */
	size_t n_events;
	/* samples of events that are this region's probes are passes, not samples; `begin` NULL:
	 * there is no such region */
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
	/* counters that were read with samples but are left out because there are more than
	 * METRIC_COUNTERS */
	uint32_t counters_left_out;
	/* report on missing files, which the caller frees; NULL: no file is missing */
	char *missing;
};

/* Imports the whole file and marks the recording as finished. Borrows all arguments. Returns 0;
 * -ENODATA: there are no samples; -EINVAL: several events have samples and none was chosen, or no
 * event has a chosen name or a name of the region; -EBADMSG: the file is damaged, or exceeds
 * IMPORT_MAX_THREADS or IMPORT_MAX_MAPS; -ENOMEM; or an error of perfdata_next() or of the store's
 * writer. On failure nothing is left in the store, and *ret_error is a malloc()ed sentence, or
 * NULL. */
int import_run(struct perfdata *reader, const struct import_options *options,
	       struct import_result *ret_result, char **ret_error);

#endif
