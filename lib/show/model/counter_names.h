/* SPDX-License-Identifier: MIT */
/* The names of the counters of which a recording has values (SERIES_READING, SERIES_PASSED). */
#ifndef MODEL_COUNTER_NAMES_H
#define MODEL_COUNTER_NAMES_H

#include "stack/metric.h"
#include "store/store_reader.h"

/* Sets ret_names[i] to the name of counter i; NULL: there is no such counter. The caller frees the
 * names with counter_names_free(), also after a failure. Returns 0 or -ENOMEM. */
int counter_names_find(const struct store_tables *tables, char *ret_names[METRIC_COUNTERS]);
void counter_names_free(char *names[METRIC_COUNTERS]);

/* Returns the number of the counter of CPU time; METRIC_COUNTERS if there is none. */
unsigned counter_names_cpu(char *const names[METRIC_COUNTERS]);

#endif
