/* SPDX-License-Identifier: MIT */
/*
 * One instruction, reduced to where control goes from it, and to the addresses that it loads into
 * registers. Used by the searches for a program's calls and jumps: callflow (which tells whether a
 * call can reach a function), branch records (LBR), and models of tags. insn.h also has the effect
 * on frames, and decodes a call of the next instruction as a push. Here it is a call, as it is in a
 * branch record.
 *
 * Registers have the numbers that instructions have, as in insn.h.
 */
#ifndef ARCH_FLOW_INSN_H
#define ARCH_FLOW_INSN_H

#include "arch/insn.h"

enum flow_kind {
	FLOW_NEXT,
	FLOW_CALL,
	FLOW_RETURN,
	FLOW_JUMP,
	FLOW_BRANCH, /* to the target, or to the next instruction */
	FLOW_STOP,   /* it traps: nothing follows */
};

/* The value that an instruction computes, if it is known. */
enum flow_value {
	FLOW_VALUE_NONE,    /* it computes none that matters here */
	FLOW_VALUE_COPY,    /* `to` = `from` */
	FLOW_VALUE_ADDRESS, /* `to` = the address at `distance` */
	FLOW_VALUE_WORD,    /* `to` = the word at `distance` */
	FLOW_VALUE_NUMBER,  /* `to` = `number`; INSN_NO_REG: it pushes the number, or stores it to
			     * memory */
	FLOW_VALUE_OTHER,   /* `to` has another value now */
};

struct flow_insn {
	uint8_t length;
	uint8_t kind;  /* enum flow_kind */
	uint8_t value; /* enum flow_value */
	uint8_t to, from;
	uint8_t reg;	    /* of an indirect call or jump; INSN_NO_REG: it goes through memory */
	uint8_t scale;	    /* of the index of an operand in memory; 0: it has no index */
	uint8_t sum;	    /* the 64-bit register that it adds to; INSN_NO_REG: none */
	bool is_direct;	    /* a call or jump whose target is at `distance` */
	bool has_address;   /* its memory operand is at a distance from the program counter */
	bool is_mark;	    /* marks a target of indirect calls, and has no other effect */
	bool is_switch;	    /* a jump marked so that its target needs no mark */
	bool is_sum;	    /* it is an addition */
	bool pushes_number; /* FLOW_VALUE_NUMBER: it pushes the number */
	bool stops_prediction; /* only speculative execution reaches it */
	bool clears_fp;	       /* the frame pointer is 0 after it */
	bool stores_to_thread; /* it stores to memory relative to the thread pointer */
	int64_t distance;      /* from the instruction's end */
	uint64_t number;
};

/* Decodes the instruction at the start of `code`, of `size` bytes. Returns false if they are no
 * instruction. */
bool flow_insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		      struct flow_insn *ret_insn);

/* Returns the address at `distance` from the end of the instruction at `at`: a vaddr if `at` is a
 * vaddr, a file offset if `at` is one, since a file's code is contiguous. */
static inline uint64_t flow_insn_target(const struct flow_insn *i, uint64_t at)
{
	return at + i->length + (uint64_t)i->distance;
}

#endif
