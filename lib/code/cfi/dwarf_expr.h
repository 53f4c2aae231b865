/* SPDX-License-Identifier: MIT */
/*
 * Evaluates the DWARF expressions of call frame information (DWARF 5, sections 2.5 and 6.4.2):
 * a stack machine over a thread's registers and memory, bounded in steps and depth.
 *
 * Expressions are decoded once (dwarf_expr_decode.h), when a rule is made, and evaluated at each
 * frame that has the rule.
 */
#ifndef CFI_DWARF_EXPR_H
#define CFI_DWARF_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

#define DWARF_EXPR_MAX_STEPS 1000
#define DWARF_EXPR_MAX_DEPTH 64

/* One operation, with its operands as libdw's Dwarf_Op has them. Signs are extended. The operand of
 * DW_OP_breg* is in `number`; DW_OP_bregx has the register in `number` and the offset in
 * `number2`. */
struct dwarf_expr_op {
	uint8_t atom;		  /* 0 if there is none */
	uint64_t number, number2; /* 0 for missing ones */
	uint64_t offset;	  /* in the expression's bytes; UINT64_MAX: it is not in them,
				   * but was inserted before them */
};

struct dwarf_expr_context {
	const uint64_t *registers; /* STACKD_REG_COUNT of them, in DWARF's order */
	uint64_t known;		   /* bit i: register i has a value */
	bool has_cfa;
	uint64_t cfa; /* value of DW_OP_call_frame_cfa */

	/* Reads 1, 2, 4 or 8 bytes of the thread's memory, zero-extended. Returns false if they are
	 * unreadable. */
	bool (*read)(void *arg, uint64_t address, size_t bytes, uint64_t *ret_value);
	void *arg;
};

enum dwarf_expr_kind {
	DWARF_EXPR_ADDRESS,  /* `value` is the top of the stack: an address, or the final result */
	DWARF_EXPR_VALUE,    /* DW_OP_stack_value: `value` is the value itself */
	DWARF_EXPR_REGISTER, /* DW_OP_reg: `value` is the register's number */
};

struct dwarf_expr_result {
	enum dwarf_expr_kind kind;
	uint64_t value;
};

/* Evaluates `count` operations. Returns 0; -EINVAL: the expression is invalid, or has an operation
 * that is not allowed in call frame information; -ELOOP: more than DWARF_EXPR_MAX_STEPS; -ENODATA:
 * a register without a value; -EFAULT: `read` returned false. */
int dwarf_expr_eval(const struct dwarf_expr_op *ops, size_t count,
		    const struct dwarf_expr_context *context, struct dwarf_expr_result *ret_result);

#endif
