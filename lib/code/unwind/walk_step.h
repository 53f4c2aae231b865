/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk: from a frame's registers to its caller's, by a rule.
 */
#ifndef UNWIND_WALK_STEP_H
#define UNWIND_WALK_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/walk_memory.h"
#include "stackd_abi.h"
#include "unwind/walk_rule.h"

/* A step's result when it did not end the walk. */
#define WALK_GOES_ON STACKD_END_COUNT

struct walk_state {
	uint64_t r[STACKD_REG_COUNT];
	uint32_t known;	    /* bit i: r[i] is the frame's value */
	uint64_t slot;	    /* where the return address stood; 0: not in memory */
	bool is_return;	    /* waits for a call to return; else it was interrupted */
	bool may_be_at_cfa; /* the leaf: it can have popped its return address already */
};

/* Which registers have a value: the leaf's, after a call, and after a frame-pointer step. */
#define WALK_KNOWN_ALL	       (((uint32_t)1 << STACKD_REG_COUNT) - 1)
#define WALK_KNOWN_AFTER_CALL  WALK_RULE_PRESERVED
#define WALK_KNOWN_AFTER_GUESS (1u << STACKD_REG_FP | 1u << STACKD_REG_SP | 1u << STACKD_REG_PC)

/* Returns why a read at that address failed. */
enum stackd_end_reason walk_memory_reason(const struct walk_memory *m, uint64_t address);

/* Turns `state` into the caller's. Returns WALK_GOES_ON, or the reason why the walk ends there,
 * with `state` untouched. The rule must lead to a caller: not STACKD_CFA_NONE. */
enum stackd_end_reason walk_step(const struct walk_rule *rule, const struct walk_memory *memory,
				 struct walk_state *state);

#endif
