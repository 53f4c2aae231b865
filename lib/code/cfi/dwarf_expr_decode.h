/* SPDX-License-Identifier: MIT */
/* Decodes the bytes of a DWARF expression to operations. */
#ifndef CFI_DWARF_EXPR_DECODE_H
#define CFI_DWARF_EXPR_DECODE_H

#include "cfi/cfi_section.h"
#include "cfi/dwarf_expr.h"

#define DWARF_EXPR_MAX_BYTES 1024 /* of one expression */
/* of one expression, with the operations that are added around it */
#define DWARF_EXPR_MAX_OPS (DWARF_EXPR_MAX_BYTES + 2)

enum dwarf_expr_use {
	DWARF_EXPR_OF_CFA,   /* the result is the CFA */
	DWARF_EXPR_OF_SLOT,  /* the result is the slot of a register; the CFA is pushed first */
	DWARF_EXPR_OF_VALUE, /* the result is the register's value; the CFA is pushed first */
};

/* Decodes the block (a ULEB128 length and an expression) at offset `at` of a section into `ops`,
 * which has room for DWARF_EXPR_MAX_OPS. Adds, before and after it, the operations that `use` needs
 * (DWARF 5, section 6.4.2.3). Returns 0; -EINVAL: the expression is cut short, empty, longer than
 * DWARF_EXPR_MAX_BYTES, or has an operation that is not allowed in call frame information. */
int dwarf_expr_decode(const struct cfi_section *section, uint32_t at, enum dwarf_expr_use use,
		      struct dwarf_expr_op *ops, size_t *ret_count);

#endif
