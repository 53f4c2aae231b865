/* SPDX-License-Identifier: MIT */
/*
 * The frame that code gives up on its way to a return.
 *
 * Rules come from where functions begin. Of code that a program has made, nothing may tell that: a
 * trace of PyPy's begins where a guard of another one fails, and small stubs stand behind data. But
 * from any instruction, ways lead on to a return, where the CFA is the stack pointer + 8; what they
 * add to the stack pointer until then, and the registers that they restore, is the rule where they
 * began.
 *
 * Code that runs in the frame of a function of a file (PHP's, in its interpreter's) has no return,
 * but jumps back there: call frame information tells the frame from there on.
 */
#ifndef ANALYSIS_EXIT_FRAME_H
#define ANALYSIS_EXIT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

#define EXIT_FRAME_INSTRUCTIONS 1024 /* that are followed at most */

/* Copies up to `size` bytes of code that stand at `vaddr`; their number, 0: there are none. */
typedef size_t exit_frame_read_fn(void *arg, uint64_t vaddr, uint8_t *bytes, size_t size);

/* Gives the rule of an address outside of such code, from call frame information. false: it has
 * none for this address. */
typedef bool exit_frame_outside_fn(void *arg, uint64_t vaddr, struct stackd_rule *ret_rule);

/* Follows the ways from an instruction (vaddr), over calls, to returns. Returns whether there is
 * one, and all that were found, which are a few, give up the same frame: then *ret_rule is the rule
 * there. A way ends where nobody knows where it goes, or there are no bytes. Bit i of
 * ret_rule->cfa_add says that the caller's value of register i of STACKD_SAVED_REGS is not known.
 */
bool exit_frame_find(exit_frame_read_fn *read, void *arg, uint64_t vaddr,
		     struct stackd_rule *ret_rule);

/* The same, where ways also end at code for which `outside` gives a rule, with that frame: code of
 * an interpreter that jumps to what a compiler has made for it, and is jumped back to, has both run
 * in one frame. NULL: they end there as where no bytes are. */
bool exit_frame_find_outside(exit_frame_read_fn *read, exit_frame_outside_fn *outside, void *arg,
			     uint64_t vaddr, struct stackd_rule *ret_rule);

#endif
