/* SPDX-License-Identifier: MIT */
/*
 * One instruction, reduced to its effect on the stack frame and on control flow: what the analysis
 * of code knows of it. Registers here have the numbers that the processor's instructions have,
 * which need not be DWARF's; registers.h of the processor says INSN_SP, INSN_FP and how many there
 * are.
 */
#ifndef ARCH_INSN_H
#define ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define INSN_NO_REG INSN_REG_COUNT

/* A decoder; its own are the bytes. */
struct insn_decoder {
	uint64_t state[4];
};

enum insn_flow {
	INSN_NEXT,
	INSN_RETURN,
	INSN_JUMP,   /* to `target` */
	INSN_BRANCH, /* to `target`, or on */
	INSN_CALL,   /* of `target` */
	INSN_CALL_INDIRECT,
	INSN_JUMP_INDIRECT, /* to what src holds; see also idiom */
	INSN_STOP,	    /* it traps: nothing follows */
};

enum insn_op {
	INSN_OTHER, /* writes `written`, and nothing else is known */
	INSN_PUSH,  /* src, or INSN_NO_REG: another value */
	INSN_POP,   /* dst, or INSN_NO_REG: into memory or the flags */
	INSN_COPY,  /* dst = src + disp */
	INSN_ALIGN, /* of the stack pointer: some low bits are cleared */
	INSN_LOAD,  /* dst = *(src + disp), 8 bytes */
	INSN_STORE, /* *(dst + disp) = src, 8 bytes */
	INSN_ZERO,  /* dst = 0 */
	INSN_LEAVE,
};

/* What else an instruction can be a part of: the ways to an address in code. */
enum insn_idiom {
	INSN_NO_IDIOM,
	INSN_ADDRESS,	  /* dst = target */
	INSN_ENTRY,	  /* dst = the entry of the table at src + disp (INSN_NO_REG: at disp) that
			   * another register chooses; or at addend + disp, if it has one */
	INSN_EXTENDED,	  /* dst = the lower 32 bits of src, sign-extended */
	INSN_SUM,	  /* dst = src + addend + disp */
	INSN_INDEXED,	  /* dst = src and something that another register chooses */
	INSN_BOUND,	  /* a number in src (INSN_NO_REG: in memory) is compared with `number`, or
			   * reduced to at most that */
	INSN_BOUND_TEST,  /* goes by an unsigned comparison: up to it, or `number` less */
	INSN_STACK_BOUND, /* the stack pointer is compared with src */
	INSN_COMPARISON,  /* of anything else */
	INSN_SLOT,	  /* calls or jumps to what the word at `target` holds */
};

struct insn {
	uint8_t length;
	uint8_t flow; /* enum insn_flow */
	uint8_t op;   /* enum insn_op */
	uint8_t idiom;
	uint8_t dst, src;
	uint8_t addend;
	uint8_t entry; /* bytes of a table's entry; its numbers are signed, but those of 8 bytes */
	bool is_padding;  /* a no-op, or what traps between functions */
	bool is_endbr;	  /* the mark of where indirect calls may lead */
	bool is_unequal;  /* INSN_BRANCH: if what was compared differs */
	bool is_up_to;	  /* INSN_BOUND_TEST: it goes where the number is within the bound */
	bool is_local;	  /* a call within the code: set by who knows that, not by decoding */
	bool reads_fp;	  /* as a value that it may keep, other than by push */
	bool is_unsigned; /* the table's entries are */
	bool is_number;	  /* INSN_ADDRESS: it is a plain number, and may be none */
	int32_t disp;
	uint32_t written; /* a bit for each register */
	uint32_t used; /* likewise those whose values matter: they are not just pushed or stored */
	uint32_t number;
	uint64_t target; /* vaddr */
};

/* Makes a decoder for insn_decode(). */
void insn_decoder_init(struct insn_decoder *ret_decoder);

/* DWARF's number of a register. */
unsigned insn_dwarf_number(unsigned reg);

/* The index in STACKD_SAVED_REGS of a register that functions preserve, or -1. */
int insn_saved_index(unsigned reg);

/* Whether an instruction, whose bytes are given, changes registers that none of its operands names:
 * a system call, or a loop. */
bool insn_changes_unnamed(const struct insn *insn, const uint8_t *code);

/* Whether an instruction pushes a register that functions preserve. */
bool insn_saves_register(const struct insn *insn);

/* Whether an instruction gives a frame up, with which no function begins. */
bool insn_ends_frame(const struct insn *insn);

/* Decodes the instruction at `vaddr`, whose bytes are code[0 .. size). Returns false where they are
 * no instruction. */
bool insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct insn *ret_insn);

/* The same of the instruction at code[at], which is at `vaddr`. What stands around it counts, too:
 * a call of the next instruction may be how code finds its own address, a return may be a jump to
 * what was pushed, and a number may be the size of a frame whose pages were touched before. */
bool insn_decode_within(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
			size_t at, uint64_t vaddr, struct insn *ret_insn);

/* The same by the general decoder alone, which the short one is tested against. */
bool insn_decode_any(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		     uint64_t vaddr, struct insn *ret_insn);

#endif
