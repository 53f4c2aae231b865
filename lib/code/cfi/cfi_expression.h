/* SPDX-License-Identifier: MIT */
/*
 * Recognises, by their shape, the DWARF expressions that compilers, linkers and assembly writers
 * commonly put into call frame information. The kernel half has rules for these shapes, but no
 * stack machine; dwarf_expr.h evaluates all other expressions, in user space.
 */
#ifndef CFI_CFI_EXPRESSION_H
#define CFI_CFI_EXPRESSION_H

#include "cfi/cfi_reader.h"
#include "cfi/cfi_state.h"

/* Recognises a CFA's expression and sets the state's cfa fields: register + offset; the word at
 * register + offset, plus a constant; or the expression of the linker's PLT. Returns CFI_ACCEPTED,
 * or CFI_REFUSED_CFA_EXPRESSION with the state unchanged. */
enum cfi_refusal cfi_expression_cfa(struct cfi_reader expression, struct cfi_state *state);

/* Recognises an expression for the slot of a register. Returns CFI_AT_REG if it is register +
 * offset, CFI_RANGE if that offset does not fit, else CFI_EXPRESSION. */
struct cfi_reg cfi_expression_slot(struct cfi_reader expression);

#endif
