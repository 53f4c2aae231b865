/* SPDX-License-Identifier: MIT */
/*
 * Moments as a user writes them, in local time:
 *
 *   14:05  14:05:30                                   a time of day
 *   2026-11-22  2026-11-22 14:05  2026-11-22T14:05:30 a date, at midnight or with a time
 *   today  yesterday  yesterday 14:05                 the same by name
 *   now
 */
#ifndef BASE_WALL_TIME_H
#define BASE_WALL_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a text looks like one of these, rather than like a duration (base/duration.h). */
bool wall_time_is(const char *text);

/* Parses a moment, to nanoseconds since 1970. `after_ns` 0: a time of day is the last one until
 * `now_ns`; else it is the first one after that moment. Where the clock is set back, the first of
 * two moments of that name is meant, or with `after_ns` the second. 0; -EINVAL: the text is no
 * moment; -ERANGE: the clock skips it on that day. */
int wall_time_parse(const char *text, uint64_t now_ns, uint64_t after_ns, uint64_t *ret_unix_ns);

#endif
