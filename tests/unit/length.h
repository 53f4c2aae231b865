/* SPDX-License-Identifier: MIT */
/*
 * How much a test tries that makes its own cases. `make check` tries few of them each time, and
 * `make check-long`, which sets STACKD_LONG, many. The cases come from fixed seeds: either passes
 * always or never.
 *
 * Cases that compute much (fits of curves, generated programs) take gcc's sanitizers several times
 * as long. A test that calls by_build() is run twice by `make check`: with sanitizers, which look
 * for wrong accesses and need each path of the code once, and as a plain build, which judges all
 * cases. The long run has all cases in both.
 */
#ifndef LENGTH_H
#define LENGTH_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t by_length(uint64_t usual, uint64_t in_long)
{
	return getenv("STACKD_LONG") ? in_long : usual;
}

#ifdef __SANITIZE_ADDRESS__
#define HAS_SANITIZERS 1
#else
#define HAS_SANITIZERS 0
#endif

static inline uint64_t by_build(uint64_t with_sanitizers, uint64_t all)
{
	return HAS_SANITIZERS ? by_length(with_sanitizers, all) : all;
}

#endif
