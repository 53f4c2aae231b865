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

/* Returns whether a text looks like one of these rather than like a duration (base/duration.h). */
bool wall_time_is(const char *text);

/* Parses a moment, to nanoseconds since 1970. A time of day alone means its last occurrence until
 * `now_ns`, or, if `after_ns` is not 0, its first occurrence after `after_ns`. Where the clock is
 * set back and a time occurs twice, the first occurrence is meant, or with `after_ns` the second.
 * Returns 0; -EINVAL if the text is no moment; -ERANGE if the clock skips that time on that day. */
int wall_time_parse(const char *text, uint64_t now_ns, uint64_t after_ns, uint64_t *ret_unix_ns);

#endif
