/* SPDX-License-Identifier: MIT */
/*
 * Functions that preserve a caller-saved register because their caller relies on it.
 *
 * Assembly code that realigns the stack may have its CFA in a caller-saved register alone, and call
 * a part of its own file that does not change the register. A walk from that part knows the
 * caller's register only if the rules say so: the rule of each of the part's instructions names the
 * preserved register (STACKD_KEPT). This module follows the part's flow to its returns, and rejects
 * the part if any instruction in it writes the register or is a call.
 */
#ifndef ANALYSIS_UNCLOBBERED_H
#define ANALYSIS_UNCLOBBERED_H

#include "analysis/code.h"
#include "base/int_map.h"

struct unclobbered {	       /* zeroed is empty */
	struct int_map wanted; /* keys: a function's first byte and a register */
	struct int_map kept;   /* by byte of an instruction: see unclobbered.c */
	VEC(uint64_t) list;    /* the keys of `wanted` */
	uint64_t followed;     /* instructions */
	bool is_void;	       /* there was too much code to follow, so no register is known to
				* be kept */
};

/* Frees all, and leaves it empty. */
void unclobbered_fini(struct unclobbered *preserved);

/* Adds a register that the function at byte `at` must preserve for a caller. Returns 0 or
 * -ENOMEM. */
int unclobbered_want(struct unclobbered *preserved, uint32_t at, unsigned reg);

/* Follows all functions that unclobbered_want() has added. Returns 0 or -ENOMEM. */
int unclobbered_settle(struct unclobbered *preserved, const struct code *code);

/* Returns the registers that are preserved at an instruction, a bit for each (the processor's
 * numbers). */
uint32_t unclobbered_at(const struct unclobbered *preserved, uint32_t at);

#endif
