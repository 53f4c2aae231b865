/* SPDX-License-Identifier: MIT */
/*
 * The decoder; see dwarf_expr_decode.h. A table has a string for each operation, with a letter for
 * each operand:
 *   u ULEB128  s SLEB128  1 2 4 8 that many bytes  a b d h the same, signed
 * An operation without a string is not allowed in call frame information (DWARF 5, section 6.4.2:
 * no addresses, no calls, no types).
 */
#include "cfi/dwarf_expr_decode.h"

#include <dwarf.h>
#include <errno.h>

#include "cfi/cfi_reader.h"

static const char *const operands[256] = {
	[DW_OP_deref] = "",
	[DW_OP_const1u] = "1",
	[DW_OP_const1s] = "a",
	[DW_OP_const2u] = "2",
	[DW_OP_const2s] = "b",
	[DW_OP_const4u] = "4",
	[DW_OP_const4s] = "d",
	[DW_OP_const8u] = "8",
	[DW_OP_const8s] = "8",
	[DW_OP_constu] = "u",
	[DW_OP_consts] = "s",
	[DW_OP_dup... DW_OP_over] = "", /* dup drop over */
	[DW_OP_pick] = "1",
	[DW_OP_swap... DW_OP_rot] = "",
	[DW_OP_abs... DW_OP_plus] = "", /* abs and div minus mod mul neg not or plus */
	[DW_OP_plus_uconst] = "u",
	[DW_OP_shl... DW_OP_xor] = "", /* shl shr shra xor */
	[DW_OP_bra] = "b",
	[DW_OP_eq... DW_OP_ne] = "",
	[DW_OP_skip] = "b",
	[DW_OP_lit0... DW_OP_lit31] = "",
	[DW_OP_reg0... DW_OP_reg31] = "",
	[DW_OP_breg0... DW_OP_breg31] = "s",
	[DW_OP_regx] = "u",
	[DW_OP_bregx] = "us",
	[DW_OP_deref_size] = "1",
	[DW_OP_nop] = "",
	[DW_OP_call_frame_cfa] = "",
	[DW_OP_stack_value] = "",
};

static uint64_t read_operand(struct cfi_reader *r, char kind)
{
	switch (kind) {
	case 'u':
		return cfi_reader_uleb(r);
	case 's':
		return (uint64_t)cfi_reader_sleb(r);
	case '1':
		return cfi_reader_u8(r);
	case 'a':
		return (uint64_t)(int8_t)cfi_reader_u8(r);
	case '2':
		return cfi_reader_u16(r);
	case 'b':
		return (uint64_t)(int16_t)cfi_reader_u16(r);
	case '4':
		return cfi_reader_u32(r);
	case 'd':
		return (uint64_t)(int32_t)cfi_reader_u32(r);
	}
	return cfi_reader_u64(r);
}

/* Reads an operation, which begins `offset` bytes into the expression. Returns false if it is not
 * allowed. */
static bool read_op(struct cfi_reader *r, uint64_t offset, struct dwarf_expr_op *ret_op)
{
	uint8_t atom = cfi_reader_u8(r);
	const char *kinds = operands[atom];

	if (!kinds)
		return false;
	*ret_op = (struct dwarf_expr_op){.atom = atom, .offset = offset};
	if (kinds[0])
		ret_op->number = read_operand(r, kinds[0]);
	if (kinds[0] && kinds[1])
		ret_op->number2 = read_operand(r, kinds[1]);
	return !r->failed;
}

int dwarf_expr_decode(const struct cfi_section *section, uint32_t at, enum dwarf_expr_use use,
		      struct dwarf_expr_op *ops, size_t *ret_count)
{
	struct cfi_reader r = cfi_reader_of(section->data, section->size), expr;
	const uint8_t *start;
	size_t n = 0;

	cfi_reader_block(&r, at);
	expr = cfi_reader_sub(&r, cfi_reader_uleb(&r));
	start = expr.at;
	if (r.failed || !cfi_reader_left(&expr) || cfi_reader_left(&expr) > DWARF_EXPR_MAX_BYTES)
		return -EINVAL;
	if (use != DWARF_EXPR_OF_CFA)
		ops[n++] =
			(struct dwarf_expr_op){.atom = DW_OP_call_frame_cfa, .offset = UINT64_MAX};
	while (cfi_reader_left(&expr)) {
		if (!read_op(&expr, (uint64_t)(expr.at - start), &ops[n++]))
			return -EINVAL;
	}
	if (use == DWARF_EXPR_OF_VALUE)
		ops[n++] = (struct dwarf_expr_op){.atom = DW_OP_stack_value,
						  .offset = (uint64_t)(expr.at - start)};
	*ret_count = n;
	return 0;
}
