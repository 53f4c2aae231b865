/* SPDX-License-Identifier: MIT */
/*
 * One row of the call frame table, as DWARF has it (DWARF 5, section 6.4.1): a rule for the CFA and
 * one for each register.
 *
 * Only the registers that walks need are kept (STACKD_REG_COUNT: the general purpose ones and the
 * return address); rules for other registers are read and dropped. An offset has 32 bits; if it
 * does not fit, the register's rule is unusable.
 *
 * An expression whose shape cfi_expression.h does not recognise is kept as the offset in the
 * section of its block (a length and the operations).
 */
#ifndef CFI_CFI_STATE_H
#define CFI_CFI_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi_refusal.h"
#include "stackd_abi.h"

#define CFI_REG_COUNT STACKD_REG_COUNT

enum cfi_how {
	CFI_UNSET, /* no rule was given: the calling convention's default holds */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_AT_CFA,	    /* saved at CFA + offset */
	CFI_AT_REG,	    /* saved at reg + offset (an expression) */
	CFI_IS_CFA,	    /* its value is CFA + offset */
	CFI_IN_REG,	    /* its value is in reg */
	CFI_EXPRESSION,	    /* saved at the result of the expression at `offset` */
	CFI_VAL_EXPRESSION, /* its value is the result of the expression at `offset` */
	CFI_RANGE,	    /* the offset does not fit into 32 bits */
};

struct cfi_reg {
	uint8_t how; /* enum cfi_how */
	uint8_t reg; /* of CFI_AT_REG and CFI_IN_REG */
	int32_t offset;
};

struct cfi_state {
	struct cfi_reg regs[CFI_REG_COUNT];
	enum cfi_refusal refused; /* CFI_ACCEPTED; else why there is no rule for the CFA */
	enum stackd_cfa cfa;	  /* REG, DEREF or PLT, with the meaning that they have in
				   * stackd_abi.h */
	uint8_t cfa_reg;	  /* UINT8_MAX stands for all larger numbers */
	uint32_t cfa_expression;  /* if the CFA is an expression that is not recognised: the
				   * offset of its block */
	int64_t cfa_offset, cfa_add;
	int64_t last_offset; /* the last offset of the CFA that was given, also while the CFA is
			      * an expression */
	uint64_t history;    /* hash of the CIE and of the instructions that made this state */
};

#endif
