/* SPDX-License-Identifier: MIT */
/*
 * Counters of perf's groups (`perf record -e '{cycles,instructions}:S'`): what was read with each
 * sample becomes readings of the recording (SERIES_READING), for folding.
 *
 * perf keeps a counter for each thread, and each CPU that it runs on; they have ids. A reading is
 * the difference from the one before, in the thread, of the same id. Where groups have to take
 * turns on the processor's counters, it counted for a part of the time only: nothing is scaled
 * here, but that part is kept beside it (SERIES_COUNTED). Where the id is another one, or a value
 * is less, the difference is not known.
 */
#ifndef PERF_IMPORT_COUNTERS_H
#define PERF_IMPORT_COUNTERS_H

#include "perf/perfdata.h"
#include "store/store_writer.h"

struct import_counters;

struct import_counters *import_counters_new(void);	     /* NULL without memory */
void import_counters_free(struct import_counters *counters); /* NULL is fine */

/* Writes the readings of a sample, whose row is `row`. 0, -ENOMEM, or an error of the writer. */
int import_counters_keep(struct import_counters *counters, struct perfdata *reader,
			 const struct perfdata_record *record, const struct store_sample *row,
			 struct store_writer *writer);

/* Writes their names; one that another counter has is followed by " (2)". 0, -ENOMEM, or an error
 * of the writer. */
int import_counters_names(const struct import_counters *counters, struct perfdata *reader,
			  struct store_writer *writer);

/* Returns the number of counters that there was no room for: of more than METRIC_COUNTERS. */
uint32_t import_counters_left_out(const struct import_counters *counters);

#endif
