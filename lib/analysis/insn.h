/* SPDX-License-Identifier: MIT */
/* One instruction of x86-64, reduced to its effect on the stack frame and on control flow. */
#ifndef ANALYSIS_INSN_H
#define ANALYSIS_INSN_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

/* Registers here have the processor's numbers: 4 is rsp, 5 is rbp. */
#define INSN_RSP    4
#define INSN_RBP    5
#define INSN_NO_REG 16

#define INSN_MAX_BYTES 15

enum insn_flow {
	INSN_NEXT,
	INSN_RETURN,
	INSN_JUMP,   /* to `target` */
	INSN_BRANCH, /* to `target`, or on */
	INSN_CALL,   /* of `target` */
	INSN_CALL_INDIRECT,
	INSN_JUMP_INDIRECT, /* to what src holds; see also idiom */
	INSN_STOP,	    /* ud2, hlt, int3: nothing follows */
};

enum insn_op {
	INSN_OTHER, /* writes `written`, and nothing else is known */
	INSN_PUSH,  /* src, or INSN_NO_REG: another value */
	INSN_POP,   /* dst, or INSN_NO_REG: into memory or the flags */
	INSN_COPY,  /* dst = src + disp */
	INSN_ALIGN, /* and of rsp with a negative number */
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
	INSN_STACK_BOUND, /* rsp is compared with src */
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
	bool is_padding; /* nop or int3 */
	bool is_endbr;
	bool is_unequal;  /* INSN_BRANCH: if what was compared differs */
	bool is_up_to;	  /* INSN_BOUND_TEST: it goes where the number is within the bound */
	bool is_local;	  /* a call within the code: set by who knows that, not by decoding */
	bool reads_rbp;	  /* as a value that it may keep, other than by push */
	bool is_unsigned; /* the table's entries are */
	bool is_number;	  /* INSN_ADDRESS: it is a plain number, and may be none */
	int32_t disp;
	uint32_t written; /* a bit for each register */
	uint32_t used; /* likewise those whose values matter: they are not just pushed or stored */
	uint32_t number;
	uint64_t target; /* vaddr */
};

/* Makes a decoder for insn_decode(). */
void insn_decoder_init(ZydisDecoder *ret_decoder);

/* Whether an instruction pushes a register that functions preserve. */
bool insn_saves_register(const struct insn *insn);

/* Whether an instruction gives a frame up, with which no function begins. */
bool insn_ends_frame(const struct insn *insn);

/* Decodes the instruction at `vaddr`, whose bytes are code[0 .. size). Returns false where they are
 * no instruction. */
bool insn_decode(const ZydisDecoder *decoder, const uint8_t *code, size_t size, uint64_t vaddr,
		 struct insn *ret_insn);

/* The same by Zydis alone, against which insn_decode() is tested. */
bool insn_decode_any(const ZydisDecoder *decoder, const uint8_t *code, size_t size, uint64_t vaddr,
		     struct insn *ret_insn);

#endif
