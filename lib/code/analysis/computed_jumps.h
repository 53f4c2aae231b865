/* SPDX-License-Identifier: MIT */
/*
 * Jumps through a register into which a function has put one of several addresses of its code, as
 * the inner loops of libgmp do. A path reaches such a jump with one address, but the jump can lead
 * to any other address that the same function puts into the same register. It can also lead to
 * addresses that another function has put there before it jumps into this one with the same frame
 * (dav1d); these get owners of their own, since not every jump of the function need have them.
 */
#ifndef ANALYSIS_COMPUTED_JUMPS_H
#define ANALYSIS_COMPUTED_JUMPS_H

#include "analysis/worklist.h"
#include "arch/insn.h"
#include "base/int_map.h"

/* Pairs of an address and a jump that each function and register may always have. Further pairs are
 * taken from `room`: PHP's interpreter has thousands. */
#define COMPUTED_JUMPS_FREE_PAIRS 256

#define COMPUTED_JUMPS_ANY INSN_NO_REG /* no register: the addresses are in a table of the file */

#define COMPUTED_JUMPS_OWN UINT32_MAX /* in place of an owner: that of the jump */

struct computed_jumps_entry {
	struct work_item work; /* of a jump; for an address only `at` and `owner` are set */
	uint32_t next;	       /* number plus 1; 0: none */
};

struct computed_jumps_group {		  /* for a function and a register */
	uint32_t first_label, first_jump; /* numbers plus 1; 0: none */
	uint32_t labels, jumps;
};

struct computed_jumps {			/* empty if all but the first three are zero */
	struct worklist *strong, *late; /* borrowed: receive the paths that are found */
	uint32_t room;	      /* number of pairs beyond COMPUTED_JUMPS_FREE_PAIRS that are left */
	struct int_map known; /* the labels and jumps that were added */
	struct int_map groups;
	VEC(struct computed_jumps_group) items;
	VEC(struct computed_jumps_entry) entries;
};

/* Frees all, and leaves it empty. */
void computed_jumps_fini(struct computed_jumps *labels);

/* Adds the address of byte `at`, which a function puts into a register. Pushes a path from each
 * known jump to the address: to labels->strong if `owner` is COMPUTED_JUMPS_OWN; to labels->late,
 * with that owner, if another function has put the address there. Returns 0 or -ENOMEM, like
 * computed_jumps_jump(). */
int computed_jumps_add(struct computed_jumps *labels, uint32_t function, unsigned reg, uint32_t at,
		       uint32_t owner);

/* Returns whether the function has put that address in that register already. */
bool computed_jumps_has(const struct computed_jumps *labels, uint32_t function, unsigned reg,
			uint32_t at);

/* Returns whether the function jumps by that register. */
bool computed_jumps_has_jump(const struct computed_jumps *labels, uint32_t function, unsigned reg);

/* Adds a function's jump by a register, with the state and owner of `jump`. Pushes a path from it
 * to each known address. */
int computed_jumps_jump(struct computed_jumps *labels, uint32_t function, unsigned reg,
			const struct work_item *jump);

#endif
