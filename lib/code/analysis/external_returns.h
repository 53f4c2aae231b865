/* SPDX-License-Identifier: MIT */
/*
 * Decides whether functions outside of the analysed code return. In a static program whose own code
 * has no unwind tables, the C library has them, so its functions are not analysed. If the program
 * is stripped, they have no names either: then only the code of exit(), and of what it calls, shows
 * that it does not return.
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
	struct int_map functions;  /* results, by vaddr */
	uint64_t steps;		   /* instructions that were looked at */
	uint64_t open; /* results that depend on a function whose own result was still open */
};

/* Frees all. */
void external_returns_fini(struct external_returns *external);

/* Returns whether the function at `vaddr` may return: a path from its start leads to a return, or
 * to an unknown target. Looks at no more instructions in all calls together than the analysed code
 * has bytes; beyond that, every function may return. */
bool external_may_return(struct external_returns *external, uint64_t vaddr);

#endif
