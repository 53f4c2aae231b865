/* SPDX-License-Identifier: MIT */
/*
 * Caller-saved registers that a callee is seen to preserve.
 *
 * Assembly code can rely on knowing its own parts: OpenSSL's AES-GCM keeps its CFA in a
 * caller-saved register, and calls a part that leaves this register alone. Call frame information
 * states where the CFA is, but cannot state that the callee preserves the register, so for an
 * unwinder its value is unknown after the call. So if a rule needs such a register, this module
 * follows the called code in the file, from the call's target on, through all jumps, branches and
 * calls. The register still has the caller's value if no reachable instruction writes it, no path
 * leads to an unknown target (an indirect call or jump), and the callee's address was reached.
 *
 * This must be checked for each pair of frames, from the frame where the register's value is known
 * up to the frame that needs it. For code without call frame information, tables hold the result
 * (analysis/unclobbered.h).
 */
#ifndef UNWIND_KEPT_REGISTER_H
#define UNWIND_KEPT_REGISTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/int_map.h"
#include "proc/object.h"
#include "unwind/dwarf_walk.h"

#define KEPT_REGISTER_FUNCTIONS 8 /* number of functions whose results are kept */

/* The code to which a call leads, and whether it preserves a register. */
struct kept_function {
	uint32_t object; /* number */
	unsigned reg;	 /* DWARF's number, plus 1; 0: this entry is unused */
	uint64_t entry;	 /* vaddr */
	bool keeps;
	struct int_map seen; /* vaddr of its instructions */
};

struct kept_register { /* zeroed is empty */
	struct kept_function functions[KEPT_REGISTER_FUNCTIONS];
	unsigned next; /* counts replacements; modulo KEPT_REGISTER_FUNCTIONS, the next function
			* to replace */
};

/* Frees all, and leaves it empty. */
void kept_register_fini(struct kept_register *kept);

/* Returns whether register `reg` (DWARF's number) still had, in the frame `callee`, the value with
 * which `caller`, the next frame, called it. */
bool kept_register_is_kept(struct kept_register *kept, const struct walk_frame *callee,
			   const struct walk_frame *caller, unsigned reg);

#endif
