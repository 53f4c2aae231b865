/* SPDX-License-Identifier: MIT */
/*
 * Decides whether functions outside of the analysed code return. A static program may have no
 * unwind tables for its own code, but the C library's: then the latter's functions are not
 * analysed. If the program is stripped, they have no names either: then only the code of exit(),
 * and of its callees, shows that it does not return.
 */
#ifndef ANALYSIS_EXTERNAL_RETURNS_H
#define ANALYSIS_EXTERNAL_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/code.h"
#include "analysis/noreturn.h"
#include "base/int_map.h"

struct external_returns { /* empty if all but the first two are zero */
	const struct code *code;
	struct noreturn *noreturn; /* both borrowed */
	struct int_map functions;  /* results, by vaddr */
	uint64_t steps;		   /* instructions that were decoded */
	uint64_t open; /* number of results that relied on a function which was still being
			* examined */
};

/* Frees the results. */
void external_returns_fini(struct external_returns *external);

/* Returns whether the function at `vaddr` may return: a path from its start leads to a return, or
 * to an unknown target. In all calls together, decodes hardly more instructions than the analysed
 * code has bytes; beyond that, every function may return. */
bool external_may_return(struct external_returns *external, uint64_t vaddr);

#endif
