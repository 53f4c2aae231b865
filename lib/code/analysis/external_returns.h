/* SPDX-License-Identifier: MIT */
/*
 * Whether functions outside of the analysed code return. Of a static program without unwind tables,
 * the C library has them and is not analysed; nor has a stripped one names. That exit() does not
 * return is told by its own code alone, through what it calls.
 */
#ifndef ANALYSIS_EXTERNAL_RETURNS_H
#define ANALYSIS_EXTERNAL_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/code.h"
#include "analysis/noreturn.h"
#include "base/int_map.h"

struct external_returns { /* zeroed, but for the first two, is empty */
	const struct code *code;
	struct noreturn *noreturn; /* both borrowed */
	struct int_map functions;  /* what is known, by vaddr */
	uint64_t steps;		   /* instructions that were looked at */
	uint64_t open; /* answers that counted on a function that was being asked about */
};

/* Frees all. */
void external_returns_fini(struct external_returns *external);

/* Whether the function at `vaddr` may return: a path from its start leads to a return, or to where
 * nobody knows. Looks at no more instructions altogether than the analysed code has bytes; beyond
 * that, all functions may. */
bool external_may_return(struct external_returns *external, uint64_t vaddr);

#endif
