/* SPDX-License-Identifier: MIT */
/*
 * Counters of perf's groups (`perf record -e '{cycles,instructions}:S'`): the counters' values that
 * were read with each sample become records of SERIES_READING, for folding.
 *
 * perf has a counter for each thread on each CPU, each with an id. A record is the difference from
 * the value that was read with the thread's previous sample, of the counter with the same id. If
 * event groups are multiplexed, a counter counts in a part of the time only: the difference is not
 * scaled, and a record of SERIES_COUNTED has that part. If the id differs, or the value has become
 * smaller, the difference is not known.
 */
#ifndef PERF_IMPORT_COUNTERS_H
#define PERF_IMPORT_COUNTERS_H

#include "perf/perfdata.h"
#include "store/store_writer.h"

struct import_counters;

struct import_counters *import_counters_new(void);	     /* NULL without memory */
void import_counters_free(struct import_counters *counters); /* NULL is fine */

/* Writes the counters that were read with a sample, whose row is `row`. Returns 0, -ENOMEM, or an
 * error of the writer. */
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
