/* SPDX-License-Identifier: MIT */
/*
 * Estimates the time in regions after their probes were taken off, because they cost too much
 * (--region-limit). From then on their passes are not recorded, but samples by a clock still have
 * the regions on their paths. Each sample after its thread's last counted pass through a region
 * adds its period to the estimate.
 *
 *   main > outer (off) > inner (off) > leaf      both have the sample; it is inner's own time
 *   main > outer (counted) > inner (off)         inner has it; its own time is outer's, whose
 *                                                passes have it
 *   main > outer (off) > inner (counted)         outer has it; its own time is inner's
 *
 * So own times, counted and estimated, add up.
 */
#ifndef MODEL_REGION_REST_H
#define MODEL_REGION_REST_H

#include <stdbool.h>
#include <stddef.h>

#include "model/lasting.h"
#include "model/profile.h"
#include "model/names.h"

struct region_rest;

/* Finds the regions that were taken off. `names` must have been made from `tables`. *ret_rest is
 * NULL if there are no such regions. Returns 0, -ENOMEM, or an error of store_reader_records(). */
int region_rest_new(struct store_reader *reader, const struct store_tables *tables,
		    struct names *names, struct region_rest **ret_rest);
void region_rest_free(struct region_rest *rest); /* NULL is allowed */

/* Returns whether there are estimates: they need samples by a clock. `rest` may be NULL: false. */
bool region_rest_is_estimated(const struct region_rest *rest);

/* Returns the time (CLOCK_MONOTONIC) until which the passes through a function were recorded. 0:
 * they never were, or there are several recordings; UINT64_MAX: its probes were not taken off, or
 * `rest` is NULL. */
uint64_t region_rest_off_ns(const struct region_rest *rest, const struct profile_symbol *symbol);

/* Receives a sample that is an estimate for a region on its path; the path of `record` ends at the
 * region. `is_own`: the time is the region's own time. Returns 0, or an error that ends the
 * calls. */
typedef int (*region_rest_each)(void *arg, const struct store_sample *record,
				const struct lasting *lasting, bool is_own);

/* Calls `each` for each sample and each region on its path whose probes were taken off, the
 * innermost region first. Returns 0, a non-zero result of `each`, -ENOMEM, or an error of
 * store_reader_records(). */
int region_rest_records(struct region_rest *rest, region_rest_each each, void *arg);

/* Returns the length of a region's name in the source, which is the linkage name without the suffix
 * that a compiler adds for a clone or a nested function of GNU C ("inner.0"). */
size_t region_rest_source_name(const char *name);

#endif
