/* SPDX-License-Identifier: MIT */
/*
 * The DWARF expressions that compilers, linkers and assembly writers put into call frame
 * information, recognised by their shape, since the kernel half has no stack machine to run others
 * on. dwarf_expr.h evaluates all others.
 */
#ifndef CFI_CFI_EXPRESSION_H
#define CFI_CFI_EXPRESSION_H

#include "cfi/cfi_reader.h"
#include "cfi/cfi_state.h"

/* Recognises a CFA's expression and fills the state's cfa fields by it: register + offset; register
 * + offset, read through, plus a constant; or the one of the linker's PLT. Returns CFI_ACCEPTED, or
 * CFI_REFUSED_CFA_EXPRESSION and leaves the state as it was. */
enum cfi_refusal cfi_expression_cfa(struct cfi_reader expression, struct cfi_state *state);

/* Recognises an expression for the slot of a register: CFI_AT_REG where it is register + offset,
 * CFI_RANGE where that offset does not fit, else CFI_EXPRESSION. */
struct cfi_reg cfi_expression_slot(struct cfi_reader expression);

#endif
