/* SPDX-License-Identifier: MIT */
/*
 * Finds the instructions that leave a function: returns, and jumps to other functions (tail calls).
 *
 * Rejected: ending regions by uretprobes. A uretprobe replaces the return address on the stack,
 * which breaks programs that unwind their own stack: an exception that passes through the function
 * ends the program, and so does the second return of setjmp().
 */
#ifndef REGIONS_FUNCTION_EXITS_H
#define REGIONS_FUNCTION_EXITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/elf_file.h"
#include "stackd_abi.h"

/* A part of a function: its body, or rarely executed code that the compiler has moved elsewhere
 * (.cold). */
struct code_part {
	uint64_t vaddr, size;
};

struct function_exit {
	uint64_t offset; /* file offset */
	uint64_t target; /* vaddr that a jump leads to; 0: not known, or it is a return */
	uint64_t slot; /* vaddr of the word in memory that holds the target of an indirect jump; 0:
			* there is none */
	uint8_t kind;  /* STACKD_EXIT_... */
	/* With STACKD_EXIT_EPILOGUE: the instructions that are still to run (probe_move.h). */
	uint8_t saved;	/* registers that are still to be popped: a bit for each of
			 * STACKD_SAVED_... */
	uint16_t frame; /* words of the frame still on the stack, including the registers in
			 * `saved` */
};

struct function_exits {
	VEC(struct function_exit) all;
	bool is_loop; /* a jump leads back to its first instruction */
	/* Where the entry's probe is, if probe_move() has moved it. */
	uint8_t after; /* how many bytes after the function's first one */
	uint8_t frame; /* words that the function has put on the stack there, beside the return
			* address */
};

/* Finds the exits of a function in all of its parts; the first part is its body. 0; -ENOEXEC: its
 * code cannot be decoded; -ENOMEM. The caller calls function_exits_free() in any case. */
int function_exits_find(const struct elf_file *file, const struct code_part *parts, size_t n_parts,
			struct function_exits *ret_exits);
void function_exits_free(struct function_exits *exits);

#endif
