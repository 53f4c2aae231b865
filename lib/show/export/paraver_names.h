/* SPDX-License-Identifier: MIT */
/*
 * Numbers the values of a Paraver trace, and writes their names: the .pcf file.
 *
 * Types are those of Extrae, BSC's tracer, which Paraver's configurations and Folding know:
 *
 *   60000019  a region begins (the function's value) or ends (0)    60000119  its line
 *   30000000 + LEVEL  the sampled function, and its callers          30000100 + LEVEL  their lines
 *   42001000 + NUMBER  a counter: by how much it has grown since the event before; after the
 * numbers that PAPI uses
 *
 * Values of functions and lines begin at 3, as Extrae's do. Functions of one name share a value,
 * since readers look values up by names.
 */
#ifndef EXPORT_PARAVER_NAMES_H
#define EXPORT_PARAVER_NAMES_H

#include "base/buf.h"
#include "model/profile.h"

#define PARAVER_REGION	    60000019u
#define PARAVER_REGION_LINE 60000119u
#define PARAVER_CALLER	    30000000u
#define PARAVER_CALLER_LINE 30000100u
#define PARAVER_COUNTER	    42001000u

#define PARAVER_LEVELS 100u /* levels of callers for which there are types */

enum { PARAVER_ENDS, PARAVER_UNKNOWN, PARAVER_INCOMPLETE, PARAVER_FIRST };

struct paraver_names;

/* Returns 0 or -ENOMEM. The caller frees the names in either case. */
int paraver_names_new(struct paraver_names **ret_names);
void paraver_names_free(struct paraver_names *names); /* NULL is allowed */

/* Gives the values for a frame's function and line at a level (0: innermost frame). Returns 0 or
 * -ENOMEM. */
int paraver_names_frame(struct paraver_names *names, const struct profile_frame *frame,
			unsigned level, uint32_t *ret_function, uint32_t *ret_line);

/* Appends the .pcf file: all values that were given so far, and the types of the counters that have
 * a name. The text is ASCII, because readers accept nothing else. */
void paraver_names_put(const struct paraver_names *names, char *const counters[METRIC_COUNTERS],
		       struct buf *b);

#endif
