/* SPDX-License-Identifier: MIT */
/*
 * Decides whether functions outside of the analysed code return. A static program can have unwind
 * tables for the C library's functions, but none for its own. Then only its own code is analysed.
 * If the program is stripped as well, the C library's functions have no names, and only the code of
 * exit() and of its callees shows that exit() does not return.
 */
#ifndef ANALYSIS_EXTERNAL_RETURNS_H
#define ANALYSIS_EXTERNAL_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/code.h"
#include "analysis/noreturn.h"
#include "base/int_map.h"

struct external_returns { /* zeroed but for the first two members is empty */
	const struct code *code;
	struct noreturn *noreturn; /* both borrowed */
	struct int_map functions;  /* results, by vaddr */
	uint64_t steps;		   /* instructions that were decoded */
	uint64_t open; /* number of results so far that relied on a function whose examination
			* had not ended */
};

/* Frees the results. */
void external_returns_fini(struct external_returns *external);

/* Returns whether the function at `vaddr` may return: a path from its start leads to a return, or
 * to an unknown target. All calls together decode hardly more instructions than the analysed code
 * has bytes; when that limit is reached, it returns true for every further function. */
bool external_may_return(struct external_returns *external, uint64_t vaddr);

#endif
