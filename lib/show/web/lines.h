/* SPDX-License-Identifier: MIT */
/* The lines above the lanes of a timeline: quantities of the whole recording over time: CPUs in
 * use, bytes of the heap, counts per second. */
#ifndef WEB_LINES_H
#define WEB_LINES_H

#include "base/json_put.h"
#include "stack/metric.h"
#include "store/store_reader.h"
#include "web/ask.h"

/* CPU, the heap, and the counters. */
#define LINES_MOST (2 + METRIC_COUNTERS)

struct lines_line {
	const char *name, *unit;
	double *values; /* by column; NULL: there is no such line */
	bool is_level;	/* the values are levels; else amounts of the column's time */
};

struct lines {
	const struct store_tables *tables;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	uint32_t columns;
	struct lines_line lines[LINES_MOST];
	char *names[METRIC_COUNTERS]; /* of counters */
};

/* Makes empty lines. The caller calls lines_end() in any case. Returns 0 or -ENOMEM. */
int lines_begin(struct lines *lines, const struct store_tables *tables, uint64_t from_ns,
		uint64_t to_ns, uint32_t columns);
void lines_end(struct lines *lines);

/* Adds a time for which a thread was on the CPU (CLOCK_MONOTONIC). */
void lines_cpu(struct lines *lines, uint64_t begin_ns, uint64_t end_ns);

/* Adds the records of the heap and of counters. Returns 0, -ECANCELED, or an error of the reader.
 */
int lines_records(const struct ask *ask, struct store_reader *reader, struct lines *lines);

/* Joins neighbouring columns, so that half of them are left. */
void lines_join(struct lines *lines);

/* Writes the member "lines". */
void lines_put(const struct lines *lines, struct json *j);

#endif
