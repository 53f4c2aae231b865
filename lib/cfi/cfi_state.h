/* SPDX-License-Identifier: MIT */
/*
 * One row of the call frame table, as DWARF has it: a rule for the CFA and one for each register.
 *
 * Only the 17 registers that x86-64 code can be walked with are kept (16 general purpose ones and
 * the return address); rules for others are read and forgotten. A register's offset is
 * kept in 32 bits; one that does not fit makes the register's rule unusable.
 */
#ifndef CFI_CFI_STATE_H
#define CFI_CFI_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/recipe.h"

#define CFI_REG_COUNT STACKD_REG_COUNT

enum cfi_how {
	CFI_UNSET, /* no rule was given: the convention's default */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_AT_CFA,	/* saved at CFA + offset */
	CFI_AT_REG,	/* saved at reg + offset (an expression) */
	CFI_IS_CFA,	/* its value is CFA + offset */
	CFI_OTHER,	/* another register, or a value by expression */
	CFI_EXPRESSION, /* saved at an expression that is not known */
	CFI_RANGE,	/* an offset that does not fit */
};

struct cfi_reg {
	uint8_t how; /* enum cfi_how */
	uint8_t reg; /* of CFI_AT_REG */
	int32_t offset;
};

struct cfi_state {
	struct cfi_reg regs[CFI_REG_COUNT];
	enum recipe_refusal refused; /* RECIPE_ACCEPTED; else why there is no rule for the CFA */
	enum stackd_cfa cfa;	     /* REG, DEREF or PLT, with the meaning that these have there */
	uint8_t cfa_reg;	     /* UINT8_MAX for all numbers above */
	int64_t cfa_offset, cfa_add;
	int64_t last_offset; /* that an instruction gave, also while an expression is the CFA */
	uint64_t history;    /* hash of the CIE and of the instructions that made this state */
};

#endif
