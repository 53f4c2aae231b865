/* SPDX-License-Identifier: MIT */
/*
 * One instruction, reduced to the value that it computes. Code that follows values through straight
 * lines of compiled functions uses it: loads of 32 and 64 bits, products, sums and comparisons. An
 * instruction's effect on frames is in insn.h.
 */
#ifndef ARCH_DATA_INSN_H
#define ARCH_DATA_INSN_H

#include "arch/insn.h"

enum data_operation {
	DATA_OTHER,
	DATA_MOVE,
	DATA_ADDRESS,	   /* the first operand becomes the address of the second */
	DATA_ADD,	   /* adds the second operand to the first */
	DATA_MULTIPLY,	   /* multiplies the first operand by the second; with three operands:
			    * the second by the third, into the first */
	DATA_AND,	   /* ANDs both operands, into the first */
	DATA_COMPARE,	   /* compares both operands */
	DATA_SET_IF_EQUAL, /* sets the first operand to 1 if the compared values were equal; else to
			    * 0 */
	DATA_RESTORE,	   /* loads a register from the stack */
	DATA_CALL,
	DATA_LEAVE, /* a jump or a return */
};

enum data_operand_kind {
	DATA_NO_OPERAND, /* none, or one of another kind */
	DATA_REGISTER,	 /* reg, or a part of it */
	DATA_NUMBER,	 /* number */
	DATA_BASED,	 /* memory at reg + number */
	DATA_FIXED,	 /* memory at the vaddr `number`, relative to the program counter */
};

struct data_operand {
	uint8_t kind; /* enum data_operand_kind */
	uint8_t reg;  /* INSN_NO_REG: it has none */
	int64_t number;
};

#define DATA_OPERANDS 3

struct data_insn {
	uint8_t length;
	uint8_t operation; /* enum data_operation */
	uint8_t count;	   /* of all operands; the first DATA_OPERANDS are below */
	struct data_operand operands[DATA_OPERANDS];
	uint32_t written; /* a bit for each register */
};

/* Decodes the instruction at `vaddr`; `code` has `size` bytes. Returns false if they are no
 * instruction. */
bool data_insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		      uint64_t vaddr, struct data_insn *ret_insn);

#endif
