/* SPDX-License-Identifier: MIT */
/*
 * Instances of regions (passes), from samples of probes (`perf probe -x ./model step`): a pass of a
 * thread goes from one hit of an event to the next hit, or to the next hit of the event at which
 * passes end.
 */
#ifndef PERF_IMPORT_PASSES_H
#define PERF_IMPORT_PASSES_H

#include "perf/perfdata.h"
#include "store/store_writer.h"

struct import_region {
	const char *begin; /* name of the event where passes begin */
	/* name of the event at which passes end; NULL: a pass ends where the next one begins */
	const char *end;
};

struct import_passes;

struct import_passes *import_passes_new(void);	       /* NULL without memory */
void import_passes_free(struct import_passes *passes); /* NULL is fine */

/* Returns whether an event is one of the region's probes. */
bool import_passes_is_hit(const struct import_region *region, const char *event);

/* Handles a hit, whose thread, path and time are in `row`: ends the thread's pass and writes it
 * (unless the writer is NULL), or begins one, or both. Returns 0, -ENOMEM, or an error of the
 * writer. */
int import_passes_take(struct import_passes *passes, const struct import_region *region,
		       const char *event, struct store_sample row, struct store_writer *writer);

#endif
