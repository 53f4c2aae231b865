/* SPDX-License-Identifier: MIT */
/*
 * Caller-saved registers that a callee is seen to preserve.
 *
 * Assembly can rely on knowing its parts: OpenSSL's AES-GCM keeps its CFA in a register that
 * callees may change, and calls a part that leaves this register alone. Call frame information
 * states where the CFA is, but cannot state that the callee preserves the register: after a call
 * its value is unknown. So if a rule needs such a register, this follows the called code in the
 * file: from the call's target on, through all jumps, branches and calls. The register still has
 * the caller's value if no reachable instruction writes it, no path leads to an unknown target (an
 * indirect call or jump), and the callee's address was reached.
 *
 * This must be checked for each frame, from the one where the register's value is known up to the
 * one that needs it. For code without call frame information, tables hold the result
 * (analysis/unclobbered.h).
 */
#ifndef UNWIND_KEPT_REGISTER_H
#define UNWIND_KEPT_REGISTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/int_map.h"
#include "proc/object.h"
#include "unwind/dwarf_walk.h"

#define KEPT_REGISTER_FUNCTIONS 8 /* whose results are kept */

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
	unsigned next; /* counts replacements; the remainder is the next function to replace */
};

/* Frees all, and leaves it empty. */
void kept_register_fini(struct kept_register *kept);

/* Returns whether the function of the frame `callee` has left register `reg` (DWARF's number) as it
 * was when `caller`, the next frame, called it. */
bool kept_register_is_kept(struct kept_register *kept, const struct walk_frame *callee,
			   const struct walk_frame *caller, unsigned reg);

#endif
