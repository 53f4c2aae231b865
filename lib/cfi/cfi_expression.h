/* SPDX-License-Identifier: MIT */
/*
 * The DWARF expressions that compilers, linkers and assembly writers put into call frame
 * information, recognised by their shape: the kernel has no stack machine to run others on.
 */
#ifndef CFI_CFI_EXPRESSION_H
#define CFI_CFI_EXPRESSION_H

#include "cfi/cfi_reader.h"
#include "cfi/cfi_state.h"

/* A CFA's expression, into the state's cfa fields: register + offset; register + offset, read
 * through, plus a constant; or the one of the linker's PLT. RECIPE_ACCEPTED, or
 * RECIPE_REFUSED_CFA_EXPRESSION with the state as it was. */
enum recipe_refusal cfi_expression_cfa(struct cfi_reader expression, struct cfi_state *state);

/* An expression for the slot of a register: register + offset, else CFI_EXPRESSION. */
struct cfi_reg cfi_expression_slot(struct cfi_reader expression);

#endif
