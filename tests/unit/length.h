/* SPDX-License-Identifier: MIT */
/*
 * How much a test tries that makes its own cases. `make check` tries few of them each time, and
 * `make check-long`, which sets STACKD_LONG, many. The cases come from fixed seeds: either passes
 * always or never.
 */
#ifndef LENGTH_H
#define LENGTH_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t by_length(uint64_t usual, uint64_t in_long)
{
	return getenv("STACKD_LONG") ? in_long : usual;
}

#endif
