/* SPDX-License-Identifier: MIT */
/*
 * One row of the call frame table, as DWARF has it (DWARF 5, section 6.4.1): a rule for the CFA and
 * one for each register.
 *
 * Only the registers that code can be walked with are kept (STACKD_REG_COUNT: the general purpose
 * ones and the return address); rules for others are read and forgotten. A register's offset is
 * kept in 32 bits; one that does not fit makes the register's rule unusable.
 *
 * An expression that is not one of the usual shapes (cfi_expression.h) is kept by where its block,
 * a length and the operations, begins in the section.
 */
#ifndef CFI_CFI_STATE_H
#define CFI_CFI_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi_refusal.h"
#include "stackd_abi.h"

#define CFI_REG_COUNT STACKD_REG_COUNT

enum cfi_how {
	CFI_UNSET, /* no rule was given: the convention's default */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_AT_CFA,	    /* saved at CFA + offset */
	CFI_AT_REG,	    /* saved at reg + offset (an expression) */
	CFI_IS_CFA,	    /* its value is CFA + offset */
	CFI_IN_REG,	    /* its value is in reg */
	CFI_EXPRESSION,	    /* saved at the result of the expression at `offset` */
	CFI_VAL_EXPRESSION, /* its value is the result of the expression at `offset` */
	CFI_RANGE,	    /* an offset that does not fit */
};

struct cfi_reg {
	uint8_t how; /* enum cfi_how */
	uint8_t reg; /* of CFI_AT_REG and CFI_IN_REG */
	int32_t offset;
};

struct cfi_state {
	struct cfi_reg regs[CFI_REG_COUNT];
	enum cfi_refusal refused; /* CFI_ACCEPTED; else why there is no rule for the CFA */
	enum stackd_cfa cfa;	  /* REG, DEREF or PLT, with the meaning that these have there */
	uint8_t cfa_reg;	  /* UINT8_MAX for all numbers above */
	uint32_t cfa_expression;  /* where it is, of CFI_REFUSED_CFA_EXPRESSION */
	int64_t cfa_offset, cfa_add;
	int64_t last_offset; /* that an instruction gave, also while an expression is the CFA */
	uint64_t history;    /* hash of the CIE and of the instructions that made this state */
};

#endif
