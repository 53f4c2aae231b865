/* SPDX-License-Identifier: MIT */
/*
 * Jumps through a register into which a function has put one of several addresses of its code, as
 * the inner loops of libgmp do. A path reaches such a jump with one address, but the jump can lead
 * to any other address that the same function puts into the same register. It can also lead to
 * addresses that another function has put there before it jumps into this one with the same frame
 * (dav1d). Not every jump of the function need take these paths, so they get separate owners (code
 * of one owner is believed or withdrawn together: owners.h).
 */
#ifndef ANALYSIS_COMPUTED_JUMPS_H
#define ANALYSIS_COMPUTED_JUMPS_H

#include "analysis/worklist.h"
#include "arch/insn.h"
#include "base/int_map.h"

/* Number of pairs of an address and a jump that each function and register may always have. Further
 * pairs are taken from `room`. PHP's interpreter has thousands. */
#define COMPUTED_JUMPS_FREE_PAIRS 256

/* in place of a register: the addresses are in a table of the file */
#define COMPUTED_JUMPS_ANY INSN_NO_REG

#define COMPUTED_JUMPS_OWN UINT32_MAX /* in place of an owner: the owner of the jump */

struct computed_jumps_entry {
	struct work_item work; /* of a jump; for an address only `at` and `owner` are set */
	uint32_t next;	       /* number of the group's next entry plus 1; 0: none */
};

struct computed_jumps_group {		  /* for a function and a register */
	uint32_t first_label, first_jump; /* numbers of the first entries plus 1; 0: none */
	uint32_t labels, jumps;
};

struct computed_jumps {			/* zeroed but for the first three is empty */
	struct worklist *strong, *late; /* borrowed; they receive the paths that are found */
	uint32_t room;	      /* number of pairs beyond COMPUTED_JUMPS_FREE_PAIRS that are left */
	struct int_map known; /* the labels and jumps that were added */
	struct int_map groups;
	VEC(struct computed_jumps_group) items;
	VEC(struct computed_jumps_entry) entries;
};

/* Frees all, and leaves it empty. */
void computed_jumps_fini(struct computed_jumps *labels);

/* Adds the address of byte `at`, which a function puts into a register, and pushes a path from each
 * known jump to that address. If `owner` is COMPUTED_JUMPS_OWN, the paths go to labels->strong,
 * with their jumps' owners. Else another function has put the address there, and they go to
 * labels->late, with `owner`. Returns 0 or -ENOMEM. */
int computed_jumps_add(struct computed_jumps *labels, uint32_t function, unsigned reg, uint32_t at,
		       uint32_t owner);

/* Returns whether computed_jumps_add() has added this address for this function and register. */
bool computed_jumps_has(const struct computed_jumps *labels, uint32_t function, unsigned reg,
			uint32_t at);

/* Returns whether a jump of this function by this register was added. */
bool computed_jumps_has_jump(const struct computed_jumps *labels, uint32_t function, unsigned reg);

/* Adds a function's jump by a register, with the state and owner of `jump`, and pushes a path from
 * it to each known address. Returns 0 or -ENOMEM. */
int computed_jumps_jump(struct computed_jumps *labels, uint32_t function, unsigned reg,
			const struct work_item *jump);

#endif
