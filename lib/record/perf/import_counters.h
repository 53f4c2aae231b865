/* SPDX-License-Identifier: MIT */
/*
 * Counters of perf's groups (`perf record -e '{cycles,instructions}:S'`): what was read with each
 * sample becomes readings of the recording (SERIES_READING), for folding.
 *
 * perf keeps a counter for each thread and each CPU that it runs on, with an id each. A reading is
 * the difference from the thread's previous reading of the same id. If groups take turns on the
 * processor's counters, a counter counts for a part of the time only: the reading is not scaled,
 * and that part is kept beside it (SERIES_COUNTED). If the id differs, or the value has become
 * smaller, the difference is not known.
 */
#ifndef PERF_IMPORT_COUNTERS_H
#define PERF_IMPORT_COUNTERS_H

#include "perf/perfdata.h"
#include "store/store_writer.h"

struct import_counters;

struct import_counters *import_counters_new(void);	     /* NULL without memory */
void import_counters_free(struct import_counters *counters); /* NULL is fine */

/* Writes the readings of a sample, whose row is `row`. Returns 0, -ENOMEM, or an error of the
 * writer. */
int import_counters_keep(struct import_counters *counters, struct perfdata *reader,
			 const struct perfdata_record *record, const struct store_sample *row,
			 struct store_writer *writer);

/* Writes the names of the counters. If another counter has the same name, " (2)" is appended.
 * Returns 0, -ENOMEM, or an error of the writer. */
int import_counters_names(const struct import_counters *counters, struct perfdata *reader,
			  struct store_writer *writer);

/* Returns the number of counters beyond METRIC_COUNTERS, which are left out. */
uint32_t import_counters_left_out(const struct import_counters *counters);

#endif
