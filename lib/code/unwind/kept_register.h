/* SPDX-License-Identifier: MIT */
/*
 * Registers that a callee need not keep, but is seen to keep.
 *
 * Assembly may count on what it knows of its own parts: OpenSSL's AES-GCM keeps its CFA in a
 * register that callees may change, and calls a part that leaves this register alone. Call frame
 * information says the first, and nothing says the second: after a call such a register has no
 * known value. So where a rule asks for such a register, the code that was called is followed in
 * the file, from the target of the call on, by all its jumps, branches and calls. If nothing that
 * can be reached writes the register, no way leads where that is not known (an indirect call or
 * jump), and the callee's own address was met, then the register still has the caller's value.
 *
 * It must be asked for each frame from the one where the register's value is known up to the one
 * that needs it. Rules from an analysis without call frame information say the same in tables
 * (analysis/preserved.h).
 */
#ifndef UNWIND_KEPT_REGISTER_H
#define UNWIND_KEPT_REGISTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/int_map.h"
#include "proc/object.h"
#include "unwind/dwarf_walk.h"

#define KEPT_REGISTER_FUNCTIONS 8 /* that are remembered */

/* The code that a call leads to, with respect to one register. */
struct kept_function {
	uint32_t object; /* number */
	unsigned reg;	 /* DWARF's number, plus 1; 0: this is unused */
	uint64_t entry;	 /* vaddr */
	bool keeps;
	struct int_map seen; /* vaddr of its instructions */
};

struct kept_register { /* zeroed is empty */
	struct kept_function functions[KEPT_REGISTER_FUNCTIONS];
	unsigned next; /* that is replaced */
};

/* Frees all, and leaves it empty. */
void kept_register_fini(struct kept_register *kept);

/* Whether the function of the frame `callee`, which `caller`, the frame after it, has called, has
 * left register `reg` (DWARF's number) as it was at the call. */
bool kept_register_is_kept(struct kept_register *kept, const struct walk_frame *callee,
			   const struct walk_frame *caller, unsigned reg);

#endif
