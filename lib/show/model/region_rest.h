/* SPDX-License-Identifier: MIT */
/*
 * What regions took after they were taken off (--region-limit): their passes are not counted from
 * then on, but samples of a clock still have them on their paths. Each sample after the last pass
 * of its thread through a region is an estimate of as much time in it.
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

/* Finds the regions that were taken off. `tables` are those that `names` are of. *ret_rest is NULL
 * if there are none. 0, -ENOMEM, or an error of store_reader_records(). */
int region_rest_new(struct store_reader *reader, const struct store_tables *tables,
		    struct names *names, struct region_rest **ret_rest);
void region_rest_free(struct region_rest *rest); /* NULL is allowed */

/* Whether there are estimates: the recording's samples are of a clock. NULL: false. */
bool region_rest_is_estimated(const struct region_rest *rest);

/* Returns when a function was taken off (CLOCK_MONOTONIC): until then it was counted. 0: it never
 * was, or there are several recordings. UINT64_MAX: it was not taken off, or `rest` is NULL. */
uint64_t region_rest_off_ns(const struct region_rest *rest, const struct profile_symbol *symbol);

/* Takes a sample for a region on its path, up to which the record's path is cut. `is_own`: it is
 * the region's own time. Returns 0, or an error that ends the search. */
typedef int (*region_rest_each)(void *arg, const struct store_sample *record,
				const struct lasting *lasting, bool is_own);

/* Calls `each` for each sample and each region that was taken off on its path, the innermost one
 * first. 0, what `each` returned, -ENOMEM, or an error of store_reader_records(). */
int region_rest_records(struct region_rest *rest, region_rest_each each, void *arg);

/* Returns the length of a region's name in the source, without what the linkage names of clones
 * have. A function within another one (GNU C) is linked with a number: "inner.0". */
size_t region_rest_source_name(const char *name);

#endif
