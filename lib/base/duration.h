/* SPDX-License-Identifier: MIT */
/* Durations as a user writes them: "1.5", "20ms", "3m", "2h", "7d". */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a number with a unit: ns, us, ms, s, m or min, h, d; without a unit it means seconds.
 * Returns false if the text is no such number, is negative, or exceeds 30 years. */
bool duration_parse(const char *text, uint64_t *ret_ns);

#endif
