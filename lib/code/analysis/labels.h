/* SPDX-License-Identifier: MIT */
/*
 * Jumps by a register that a function has put one of several addresses of its own code in: the
 * inner loops of libgmp go on like that. A path brings one address to such a jump; any other that
 * the same function puts in the same register leads on from there as well. So do those that other
 * functions bring along, which go on into its code with the same frame (dav1d); but these have
 * owners of their own: whether they hold at every jump of the function is not known.
 */
#ifndef ANALYSIS_LABELS_H
#define ANALYSIS_LABELS_H

#include "analysis/worklist.h"
#include "arch/insn.h"
#include "base/int_map.h"

/* Pairs of addresses and jumps that each function and register may have; more of them are taken
 * from `room`. */
#define LABELS_FREE_PAIRS 256

#define LABELS_ANY                                                                                 \
	INSN_NO_REG /* in place of a register: the addresses are in a table of the file */

#define LABELS_OWN UINT32_MAX /* an owner: that of the jump */

struct labels_entry {
	struct work_item work; /* of a jump; of an address: `at` and `owner` alone */
	uint32_t next;	       /* number plus 1; 0: none */
};

struct labels_group {			  /* of a function and a register */
	uint32_t first_label, first_jump; /* numbers plus 1; 0: none */
	uint32_t labels, jumps;
};

struct labels {				/* zeroed, but for the first three, is empty */
	struct worklist *strong, *late; /* borrowed: where what is found goes */
	uint32_t room;			/* pairs that functions may have beyond the free ones */
	struct int_map known;		/* what was added */
	struct int_map groups;
	VEC(struct labels_group) items;
	VEC(struct labels_entry) entries;
};

/* Frees all, and leaves it empty. */
void labels_fini(struct labels *labels);

/* A function puts the address of byte `at` in a register. Pushes what the jumps that are known lead
 * on with, to labels->strong. Where the address is brought along, `owner` is its owner, and it goes
 * to labels->late; LABELS_OWN otherwise. Returns 0 or -ENOMEM, as the next. */
int labels_add(struct labels *labels, uint32_t function, unsigned reg, uint32_t at, uint32_t owner);

/* Whether the function has that address in that register already. */
bool labels_has(const struct labels *labels, uint32_t function, unsigned reg, uint32_t at);

/* Whether the function jumps by that register. */
bool labels_has_jump(const struct labels *labels, uint32_t function, unsigned reg);

/* A function jumps by a register, with `jump`'s state, owner and hints. Pushes what leads on from
 * there to the addresses that are known. */
int labels_jump(struct labels *labels, uint32_t function, unsigned reg,
		const struct work_item *jump);

#endif
