/* SPDX-License-Identifier: MIT */
/*
 * One instruction, reduced to what the analysis of code needs: its effect on the stack frame and on
 * control flow. Registers here have the numbers of the processor's instructions, which need not be
 * DWARF's; the processor's registers.h defines INSN_SP, INSN_FP and their number.
 */
#ifndef ARCH_INSN_H
#define ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define INSN_NO_REG INSN_REG_COUNT

/* A decoder. Only arch/ knows what its bytes mean. */
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
	INSN_JUMP_INDIRECT, /* to the address in src; see also idiom */
	INSN_STOP,	    /* it traps: nothing follows */
};

enum insn_op {
	INSN_OTHER, /* writes the registers `written`; nothing else is known */
	INSN_PUSH,  /* src, or INSN_NO_REG: another value */
	INSN_POP,   /* dst, or INSN_NO_REG: into memory or the flags */
	INSN_COPY,  /* dst = src + disp */
	INSN_ALIGN, /* of the stack pointer: some low bits are cleared */
	INSN_LOAD,  /* dst = *(src + disp), 8 bytes */
	INSN_STORE, /* *(dst + disp) = src, 8 bytes */
	INSN_ZERO,  /* dst = 0 */
	INSN_LEAVE,
};

/* The instruction's other role: a step in computing an address in code. */
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
	INSN_BOUND_TEST,  /* jumps by an unsigned comparison: up to the bound, or `number` less */
	INSN_STACK_BOUND, /* the stack pointer is compared with src */
	INSN_COMPARISON,  /* of anything else */
	INSN_SLOT,	  /* calls or jumps to the address in the word at `target` */
};

struct insn {
	uint8_t length;
	uint8_t flow; /* enum insn_flow */
	uint8_t op;   /* enum insn_op */
	uint8_t idiom;
	uint8_t dst, src;
	uint8_t addend;
	uint8_t entry; /* bytes of a table's entry; its numbers are signed, but those of 8 bytes */
	bool is_padding;  /* a no-op, or an instruction that traps between functions */
	bool is_endbr;	  /* marks a target of indirect calls */
	bool is_unequal;  /* INSN_BRANCH: it jumps if the compared values differ */
	bool is_up_to;	  /* INSN_BOUND_TEST: it jumps if the number is within the bound */
	bool is_local;	  /* a call within the code: set by the analysis, not by decoding */
	bool reads_fp;	  /* as a value that it may keep, other than by push */
	bool is_unsigned; /* the table's entries are */
	bool is_number;	  /* INSN_ADDRESS: it is a plain number, and may be no address */
	int32_t disp;
	uint32_t written; /* a bit for each register */
	uint32_t used;	  /* a bit for each whose value matters: not just pushed or stored */
	uint32_t number;
	uint64_t target; /* vaddr */
};

/* Makes a decoder for insn_decode(). */
void insn_decoder_init(struct insn_decoder *ret_decoder);

/* Returns DWARF's number of a register. */
unsigned insn_dwarf_number(unsigned reg);

/* Returns the index in STACKD_SAVED_REGS of a register that functions preserve, or -1. */
int insn_saved_index(unsigned reg);

/* Returns whether an instruction, whose bytes are given, changes registers that none of its
 * operands names: a system call, or a loop. */
bool insn_changes_unnamed(const struct insn *insn, const uint8_t *code);

/* Returns whether an instruction pushes a register that functions preserve. */
bool insn_saves_register(const struct insn *insn);

/* Returns whether an instruction releases a frame, with which no function begins. */
bool insn_ends_frame(const struct insn *insn);

/* Decodes the instruction at `vaddr`, whose bytes are code[0 .. size). Returns false if they are no
 * instruction. */
bool insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct insn *ret_insn);

/* The same for the instruction at code[at], which is at `vaddr`. Takes the code around it into
 * account: a call of the next instruction may be how code finds its own address, a return may be a
 * jump to a pushed address, and a number may be the size of a frame whose pages were touched
 * before.
 */
bool insn_decode_within(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
			size_t at, uint64_t vaddr, struct insn *ret_insn);

/* The same by the general decoder alone, against which the short one is tested. */
bool insn_decode_any(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		     uint64_t vaddr, struct insn *ret_insn);

#endif
