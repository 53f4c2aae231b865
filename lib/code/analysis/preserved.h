/* SPDX-License-Identifier: MIT */
/*
 * Functions that keep a register that they need not keep, for a caller that counts on it.
 *
 * Code in assembly that realigns the stack may have its CFA in a caller-saved register alone, and
 * call a part of its own file that leaves that register as it is. Walks from that part on know the
 * caller's register only if they are told so: each instruction of the part says which one is kept
 * (STACKD_KEPT of its rule). The part's flow is followed to its returns; nothing in it may write
 * the register, and nothing may call.
 */
#ifndef ANALYSIS_PRESERVED_H
#define ANALYSIS_PRESERVED_H

#include "analysis/code.h"
#include "base/int_map.h"

struct preserved {	       /* zeroed is empty */
	struct int_map wanted; /* function's byte and register */
	struct int_map kept;   /* by byte of an instruction: see preserved.c */
	VEC(uint64_t) list;    /* the keys of `wanted` */
	uint64_t followed;     /* instructions */
	bool is_void;	       /* there was too much to follow */
};

/* Frees all, and leaves it empty. */
void preserved_fini(struct preserved *preserved);

/* A caller counts on the function at byte `at` to keep a register. Returns 0 or -ENOMEM. */
int preserved_want(struct preserved *preserved, uint32_t at, unsigned reg);

/* Follows all those functions. Returns 0 or -ENOMEM. */
int preserved_settle(struct preserved *preserved, const struct code *code);

/* The registers that are kept at an instruction, a bit for each (processor's numbers). */
uint32_t preserved_at(const struct preserved *preserved, uint32_t at);

#endif
