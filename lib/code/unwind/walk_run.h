/* SPDX-License-Identifier: MIT */
/* The state of one walk, which dwarf_walk.c shares with the steps of heuristic_step.c. */
#ifndef UNWIND_WALK_RUN_H
#define UNWIND_WALK_RUN_H

#include "unwind/dwarf_walk.h"
#include "unwind/walk_step.h"

struct walk_run {
	const struct walk_input *in;
	struct runtime_code *code;	 /* NULL: JIT code cannot be read */
	struct stack_walk at;		 /* the present frame */
	const struct walk_frame *frames; /* all frames so far, with the present one */
	size_t count;
	uint64_t last_value[STACKD_REG_COUNT]; /* of caller-saved registers; last_known has the
						* number of the frame */
	size_t last_known[STACKD_REG_COUNT];
	bool has_next;		 /* the rule of the present frame is already known */
	struct stackd_rule next; /* that rule, which was found with its callee, and is relative
				  * to the callee's registers */
	uint64_t guesses;	 /* steps by a frame pointer */
	bool is_guess;
	uint8_t provenance; /* of the last step's rule */
	bool has_left;	    /* a signal has interrupted code on another stack than the leaf's */
	uint8_t root;	    /* enum stackd_root, should the walk end at the present frame */
};

/* Finds the code at an address; `is_return`: it is a return address. */
static inline bool walk_run_find(const struct walk_run *run, uint64_t pc, bool is_return,
				 const struct object **ret_object, uint64_t *ret_offset)
{
	return run->in->find(run->in->arg, pc - is_return, ret_object, ret_offset);
}

/* Returns whether a slot is at the end of the stack's memory, or that end is not known. Elsewhere a
 * word of 0 proves nothing where the slot of the return address is guessed. */
static inline bool walk_run_is_at_end(const struct walk_run *run, uint64_t slot)
{
	uint64_t end = run->at.memory.end;

	return !end || (slot < end && end - slot <= STACKD_STACK_BOTTOM);
}

#endif
