/* SPDX-License-Identifier: MIT */
/*
 * Finds the rule of an instruction from its paths to a return, for code whose function's start is
 * not known.
 *
 * The data flow of solve.h begins where functions begin. In JIT code that can be unknown: a trace
 * of PyPy begins where a guard of another trace fails, and small stubs follow data. But from each
 * instruction, paths lead forward to a return, where the CFA is the stack pointer + 8. The amount
 * that such a path adds to the stack pointer, and the registers that it restores, give the rule at
 * the instruction.
 *
 * Code that runs in the frame of a file's function (PHP's JIT code runs in the interpreter's) has
 * no return: it jumps back into that function, whose call frame information describes the frame.
 */
#ifndef ANALYSIS_EXIT_FRAME_H
#define ANALYSIS_EXIT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

/* limit of the instructions that are followed; chosen by hand */
#define EXIT_FRAME_INSTRUCTIONS 1024

/* parts of a rule's cfa_add, see exit_frame_find() */
#define EXIT_FRAME_OPEN		 (1 << 14)
#define EXIT_FRAME_REMOVES(rule) ((rule)->cfa_add >> 6 & 0xff)

/* Copies up to `size` bytes of code at `vaddr`, and returns their number; 0: no code. */
typedef size_t exit_frame_read_fn(void *arg, uint64_t vaddr, uint8_t *bytes, size_t size);

/* Gives the rule at an address outside of the code that is followed, from call frame information.
 * Returns false if there is none. */
typedef bool exit_frame_outside_fn(void *arg, uint64_t vaddr, struct stackd_rule *ret_rule);

/* Follows the paths from an instruction (vaddr), over calls, to returns. Returns true if it found a
 * return, and the first few that it found release the same frame. Then *ret_rule is the rule at
 * `vaddr`. A path ends without a result where its next instruction is not known or cannot be read.
 * Bit i of ret_rule->cfa_add means that the caller's value of register i of STACKD_SAVED_REGS is
 * not known; EXIT_FRAME_OPEN there, that a path has ended at a jump to an unknown target;
 * EXIT_FRAME_REMOVES() is the number of words that the return takes off the stack besides the
 * return address. */
bool exit_frame_find(exit_frame_read_fn *read, void *arg, uint64_t vaddr,
		     struct stackd_rule *ret_rule);

/* Like exit_frame_find(), but a path also ends at code for which `outside` gives a rule, and then
 * counts with that rule's frame: an interpreter and the code that it has compiled jump to each
 * other, and run in one frame. `outside` NULL: such paths end without a result. */
bool exit_frame_find_outside(exit_frame_read_fn *read, exit_frame_outside_fn *outside, void *arg,
			     uint64_t vaddr, struct stackd_rule *ret_rule);

/* The location of a function's return address, at one of its instructions. */
struct exit_frame_return {
	uint8_t reg; /* register that holds it, by DWARF's number; STACKD_REG_COUNT: it is on the
		      * stack */
	int64_t at;  /* its distance from the stack pointer, in bytes */
};

/* Some functions take their return address off the stack, make a frame for their caller, and return
 * with that frame on the stack: V8's compiler without optimisation calls such a function at the
 * start of its code. Returns whether the function at `callee` does so, and the path from its start
 * without taken branches leads to `vaddr` before it returns. Then sets *ret_where to the location
 * of its return address before the instruction at `vaddr`. */
bool exit_frame_is_taken(exit_frame_read_fn *read, void *arg, uint64_t callee, uint64_t vaddr,
			 struct exit_frame_return *ret_where);

/* Like exit_frame_find_outside(), for the instruction at `vaddr` of a function for which
 * exit_frame_is_taken() has returned true with `where`; `address` is its return address. Gives the
 * rule of the caller's frame, from paths through the rest of both functions. */
bool exit_frame_find_taken(exit_frame_read_fn *read, exit_frame_outside_fn *outside, void *arg,
			   uint64_t vaddr, const struct exit_frame_return *where, uint64_t address,
			   struct stackd_rule *ret_rule);

#endif
