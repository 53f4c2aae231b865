/* SPDX-License-Identifier: MIT */
/*
 * Measures regions: finds the requested functions in the files of the target, and makes the kernel
 * half (bpf/region.bpf.h) run at their entries and returns.
 *
 *   files of the target ──► functions that match (region_find.h) ──► probes (probe.h)
 *
 * A file is searched once, when it is first mapped. The files of a command, of the programs that
 * its words name (command_words.h) and of their libraries are searched before the command starts,
 * so that no instance (pass through a region) is missed. So are libraries whose paths are given.
 * Any other library that is loaded later is searched in the next round (session_round.c), and its
 * first instances may be missed.
 */
#ifndef REGIONS_REGIONS_H
#define REGIONS_REGIONS_H

#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/target.h"
#include "daemon/capture/alloc_coverage.h"
#include "daemon/worker/worker.h"
#include "proc/object.h"

struct regions;

struct regions_options { /* all borrowed, for as long as the regions live */
	const struct options *options;
	struct sampler *sampler;
	const struct object_table *objects; /* files of the target that are mapped already */
	struct target *target;
	struct worker *worker; /* searches files */
	/* Takes the files whose allocations are recorded; NULL: allocations are not. */
	struct alloc_coverage *coverage;
};

/* Begins to measure. *ret_regions is NULL if the options ask for no regions, marks or allocations.
 * Logs what fails; returns the status to exit with. */
enum exit_status regions_start(const struct regions_options *with, struct regions **ret_regions);

/* Searches the files that have been mapped since the last call, and attaches to the functions that
 * it finds. To be called in each round, and once more after regions_stop(): the files that
 * came last are searched then, so that regions_check() knows them. NULL is fine. Logs what fails.
 */
void regions_look(struct regions *regions);

/* Logs which requested functions were in no file of the target, after it has ended. Returns the
 * status to exit with. NULL is fine. */
enum exit_status regions_check(struct regions *regions);

/* Returns how many regions and marks are not measured any more, or never were, because threads
 * enter them too often. NULL is fine. */
uint64_t regions_taken_off(const struct regions *regions);

/* Writes the name ("FUNC@FILE") of a region or mark that was switched off, by its index among all
 * of those, and gives when that was (CLOCK_MONOTONIC). Returns false if there are no more. NULL is
 * fine. */
bool regions_off(const struct regions *regions, size_t index, char *name, size_t size,
		 uint64_t *ret_ns);

/* Returns when stackd stopped recording allocations (CLOCK_MONOTONIC) because there were too many;
 * 0: it still records them, or was not asked to. Valid after regions_stop(), too; NULL is fine. */
uint64_t regions_alloc_until(const struct regions *regions);

/* Returns the name of a mark by its index, from 0 on; NULL: there are no more. NULL is fine. */
const char *regions_mark_name(const struct regions *regions, size_t index);

/* Returns false, and logs it, if an allocator was probed and none of its functions was called. To
 * be called before regions_stop(); NULL is fine. */
bool regions_allocator_was_called(const struct regions *regions);

/* Stops: removes all probes. NULL is fine. */
void regions_stop(struct regions *regions);
void regions_free(struct regions *regions); /* stops and frees; NULL is fine */

#endif
