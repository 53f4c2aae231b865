/* SPDX-License-Identifier: MIT */
/*
 * The code that is analysed: its bytes, and marks that a first pass makes for each byte.
 *
 * The pass decodes every area from its first byte to its last. After data between functions it can
 * decode some instructions from a wrong byte on, so its marks are likely, not certain.
 */
#ifndef ANALYSIS_CODE_H
#define ANALYSIS_CODE_H

#include "analysis/analysis.h"
#include "arch/insn.h"
#include "analysis/jump_table.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "elf/elf_file.h"

#define CODE_ENDING_CALLS   8	  /* most calls that are known not to return */
#define CODE_CALL_BYTES	    8	  /* longest of them */
#define CODE_STOP_EVERY	    65536 /* instructions: 20 ms */
#define CODE_NONE	    UINT32_MAX
#define CODE_FUNCTION_ALIGN ARCH_FUNCTION_ALIGN /* what compilers align functions to */

struct code_area { /* one range */
	uint64_t vaddr, size;
	uint32_t first;	      /* number of its first byte; bytes are numbered in order through
			       * all areas */
	const uint8_t *bytes; /* borrowed */
	bool is_first;	      /* no code before the area can continue into it */
};

struct code_call {
	uint8_t length;
	uint8_t bytes[CODE_CALL_BYTES];
};

enum code_mark {
	CODE_PINNED = 1, /* a function's start */
	CODE_LEADER = 2, /* a jump leads there */
	CODE_SWEPT = 4,	 /* the first pass found an instruction there */
	CODE_CALLED = 8,
	CODE_POINTED = 16,	/* an instruction contains its address */
	CODE_PADDED = 32,	/* the first instruction after padding that the code before it
				 * cannot run into */
	CODE_BEHIND_CALL = 128, /* the first instruction after a call and padding, unless a jump
				 * leads there */
	CODE_ENDBR = 64,	/* a landing pad of indirect branches; but not right behind a
				 * call, where setjmp()'s second return needs one */
};

struct code {
	const struct elf_file *elf; /* borrowed, as are the areas */
	struct analysis_stop stop;
	uint32_t until_stop;	       /* instructions until stop.is_due is called again */
	const struct code_area *areas; /* in order */
	size_t area_count;
	bool has_data; /* data can be between functions (JIT code) */
	uint32_t size; /* of all areas */
	struct insn_decoder decoder;
	uint8_t *marks; /* by byte; enum code_mark */
	VEC(uint64_t)
	data; /* vaddr of jump tables, and of other addresses that instructions compute, in order */
	VEC(struct jump_table) tables, callees;	    /* of jumps, and of calls */
	struct int_map cases;			    /* bytes that jump tables lead to */
	struct code_call ending[CODE_ENDING_CALLS]; /* if has_data: indirect calls that do not
						     * return */
	unsigned ending_count;
};

/* Prepares areas of less than 2^31 bytes together, and makes the first pass. has_data: data can be
 * between functions. Returns 0, -ENOMEM or -ECANCELED; the caller frees *ret_code with code_fini()
 * in either case. */
int code_init(struct code *ret_code, const struct elf_file *elf, const struct code_area *areas,
	      size_t count, bool has_data, const struct analysis_stop *stop);

/* Returns whether the analysis is to be stopped. Callers ask for each instruction; it calls the
 * caller's callback for one in CODE_STOP_EVERY. */
static inline bool code_must_stop(struct code *code)
{
	if (!code->stop.is_due || --code->until_stop)
		return false;
	code->until_stop = CODE_STOP_EVERY;
	return code->stop.is_due(code->stop.arg);
}
void code_fini(struct code *code);

/* Returns the area that contains a byte. */
const struct code_area *code_area_of(const struct code *code, uint32_t at);

/* Returns the number of the byte at `vaddr`; CODE_NONE: no area contains it. */
uint32_t code_find(const struct code *code, uint64_t vaddr);

/* Returns the address of a byte of an area. */
static inline uint64_t code_vaddr(const struct code_area *area, uint32_t at)
{
	return area->vaddr + (at - area->first);
}

/* Returns the number of the byte behind an area's last byte. */
static inline uint32_t code_end(const struct code_area *area)
{
	return area->first + (uint32_t)area->size;
}

/* Decodes the instruction at byte `at` of an area. Returns false if there is none; zeroes, which
 * would decode as an addition, are data or padding. */
bool code_decode(const struct code *code, const struct code_area *area, uint32_t at,
		 struct insn *ret_insn);

/* Returns the length of the piece of padding at byte `at` of an area: one no-op, one breakpoint, or
 * one of the zeroes with which Free Pascal pads. 0: there is no padding. */
uint32_t code_padding_bytes(const struct code *code, const struct code_area *area, uint32_t at);

/* Returns whether the instruction at a byte, or the one after a landing pad there, saves a register
 * that functions preserve. */
bool code_saves_register(const struct code *code, uint32_t at);

/* Returns whether a function ends before byte `at`, which follows a call. It does if a function or
 * a landing pad is known to begin at `at`, or if a function seems to begin there or after padding,
 * at an aligned address: other code or data has the address, the instructions save registers, or,
 * after padding, no jump leads there. */
bool code_ends_at(const struct code *code, const struct code_area *area, uint32_t at);

/* Returns whether, in code with data between functions, a function seems to begin at a byte: the
 * byte is aligned like functions, and the code there sets up a frame with a frame pointer, at once
 * or after a few instructions that leave the stack alone. (V8's functions first check whether they
 * are still valid.) */
bool code_begins_framed(const struct code *code, const struct code_area *area, uint32_t at);

/* Returns whether, in code with data between functions, the indirect call at byte `at` does not
 * return: somewhere the same instruction follows itself. (V8's functions end in a row of calls that
 * give up the function's code.) */
bool code_never_returns(const struct code *code, const struct code_area *area, uint32_t at,
			const struct insn *call);

/* Returns whether the bytes from byte `at` of an area on, which follow a call, can be the code to
 * which the call returns. JIT compilers put data right behind calls that do not return: it leads,
 * within some dozens of instructions, to bytes that are none, to a trap that no call precedes, or
 * to the start of a function. */
bool code_can_go_on(const struct code *code, const struct code_area *area, uint32_t at);

/* Returns whether the jump at byte `at` of an area is gcc's __builtin_eh_return(): it goes to an
 * address that the function got as an argument, with a stack pointer that is an argument, too. */
bool code_is_eh_return(const struct code_area *area, uint32_t at);

/* Returns whether compilers emit the instructions from byte `at` to the next jump or return, or
 * some dozens of them if that is farther. Data seldom decodes to such instructions. */
bool code_is_sane(const struct code *code, uint32_t at);

/* Marks the byte at `vaddr`, if it is in an area. */
void code_mark(struct code *code, uint64_t vaddr, enum code_mark mark);

/* Returns whether a jump table leads to a byte, and no call does. The entries of such a table do
 * not point to functions. */
bool code_is_case(const struct code *code, uint32_t at);

/* Marks the byte at `vaddr` as pointed to, if the first pass found an instruction there and no jump
 * table leads to it. */
void code_mark_pointed(struct code *code, uint64_t vaddr);

/* Returns the first vaddr after `vaddr` to which code refers as data, where the next object begins;
 * UINT64_MAX: there is none. */
uint64_t code_data_end(const struct code *code, uint64_t vaddr);

#endif
