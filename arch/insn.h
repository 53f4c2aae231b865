/* SPDX-License-Identifier: MIT */
/*
 * One instruction, reduced to what the analysis of code needs: its effect on the stack frame and on
 * control flow. Registers have the numbers of the processor's instructions, which need not be
 * DWARF's; the processor's registers.h defines INSN_SP, INSN_FP and the number of registers.
 */
#ifndef ARCH_INSN_H
#define ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define INSN_NO_REG INSN_REG_COUNT

/* A decoder. Only arch/ knows what `state` means. */
struct insn_decoder {
	uint64_t state[4];
};

enum insn_flow {
	INSN_NEXT,
	INSN_RETURN,
	INSN_JUMP,   /* to `target` */
	INSN_BRANCH, /* to `target`, or to the next instruction */
	INSN_CALL,   /* of `target` */
	INSN_CALL_INDIRECT,
	INSN_JUMP_INDIRECT, /* to the address in `src`; see also `idiom` */
	INSN_STOP,	    /* it traps: nothing follows */
};

enum insn_op {
	INSN_OTHER, /* writes the registers in `written`; nothing else is known */
	INSN_PUSH,  /* pushes `src`; INSN_NO_REG: another value than a register */
	INSN_POP,   /* pops into `dst`; INSN_NO_REG: into memory or the flags */
	INSN_COPY,  /* dst = src + disp */
	INSN_ALIGN, /* clears some low bits of the stack pointer */
	INSN_LOAD,  /* dst = *(src + disp), 8 bytes */
	INSN_STORE, /* *(dst + disp) = src, 8 bytes */
	INSN_ZERO,  /* dst = 0 */
	INSN_LEAVE,
};

/* A second role of an instruction: a step in the computation of a code address, as for a jump
 * table. */
enum insn_idiom {
	INSN_NO_IDIOM,
	INSN_ADDRESS,	  /* dst = target */
	INSN_ENTRY,	  /* dst = an entry of the table at src + disp (INSN_NO_REG: at disp),
			   * whose index is another register. If `addend` is a register: the
			   * entry at src + addend + disp */
	INSN_EXTENDED,	  /* dst = the lower 32 bits of src, sign-extended */
	INSN_SUM,	  /* dst = src + addend + disp */
	INSN_INDEXED,	  /* dst = src + a value that another register selects */
	INSN_BOUND,	  /* compares a number in src (INSN_NO_REG: in memory) with `number`, or
			   * reduces the number in src to at most `number` */
	INSN_BOUND_TEST,  /* a jump by an unsigned comparison. Up to INSN_BOUND's number less
			   * `number`, the compared number is allowed */
	INSN_STACK_BOUND, /* compares the stack pointer with src */
	INSN_COMPARISON,  /* any other comparison */
	INSN_SLOT,	  /* calls, or jumps to, the address in the word at `target` */
	INSN_FIELD,	  /* calls the address in the word at addend + disp */
	INSN_STACK_WORD,  /* pushes the word that is `disp` bytes above the stack pointer */
};

struct insn {
	uint8_t length;
	uint8_t flow; /* enum insn_flow */
	uint8_t op;   /* enum insn_op */
	uint8_t idiom;
	uint8_t dst, src;
	uint8_t addend;
	uint8_t entry;	 /* bytes of a table's entry; entries are signed, except those of 8 bytes */
	bool is_padding; /* a no-op, or an instruction that traps between functions */
	bool is_endbr;	 /* marks a target of indirect calls */
	bool is_unequal; /* INSN_BRANCH: it jumps if the compared values differ */
	bool is_up_to;	 /* INSN_BOUND_TEST: it jumps if the number is within the bound */
	bool is_local;	 /* a call within the code: set by the analysis, not by decoding */
	bool reads_fp;	 /* it reads the frame pointer as a value that it may keep; a push does
			  * not */
	bool is_unsigned; /* entries of the table are unsigned */
	bool is_number;	  /* INSN_ADDRESS: a plain number, which need not be an address */
	int32_t disp;
	uint32_t written; /* a bit for each register */
	uint32_t used;	  /* a bit for each register whose value the instruction uses; a register
			   * that it only pushes or stores has no bit */
	uint32_t number;
	uint64_t target; /* vaddr */
};

/* Makes a decoder for insn_decode(). */
void insn_decoder_init(struct insn_decoder *ret_decoder);

/* Returns DWARF's number of a register. */
unsigned insn_dwarf_number(unsigned reg);

/* Returns the index in STACKD_SAVED_REGS of a register that functions preserve, or -1. */
int insn_saved_index(unsigned reg);

/* Returns whether an instruction changes registers that are not its operands, as a system call and
 * a loop do. `code` has its bytes. */
bool insn_changes_unnamed(const struct insn *insn, const uint8_t *code);

/* Returns whether an instruction pushes a register that functions preserve. */
bool insn_saves_register(const struct insn *insn);

/* Returns whether an instruction releases a frame; no function begins with one. */
bool insn_ends_frame(const struct insn *insn);

/* Decodes the instruction at `vaddr`, whose bytes are code[0 .. size). Returns false if the bytes
 * are no instruction. */
bool insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct insn *ret_insn);

/* Like insn_decode(), for the instruction at code[at], whose address is `vaddr`. It also looks at
 * the code around the instruction: a call of the next instruction may only get its own address; a
 * return may be a jump to an address that was just pushed; and a number may be the size of a frame
 * whose pages were touched before. */
bool insn_decode_within(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
			size_t at, uint64_t vaddr, struct insn *ret_insn);

/* Like insn_decode(), but with Zydis alone, without the short decoder of the commonest
 * instructions. Tests compare the two. */
bool insn_decode_any(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		     uint64_t vaddr, struct insn *ret_insn);

#endif
