/* SPDX-License-Identifier: MIT */
/*
 * Recognises expressions by their shape; see cfi_expression.h. Real files have:
 *
 *   realigned stack (gcc)      breg6 -8; deref
 *   assembly (OpenSSL)         breg7 N; deref; plus_uconst 8
 *   slots (assembly in glibc)  drop; breg7 N
 *   signal frame (glibc)       breg7 160; deref, and breg7 N for each register
 *   PLT (binutils, lld, mold)  breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
 *
 * The last expression says that a PLT entry of 16 bytes has pushed 8 bytes from its byte 11 on (10
 * with IBT).
 */
#include "cfi/cfi_expression.h"

#include <dwarf.h>

/* Reads `bregN offset`. Returns false if it is another operation. */
static bool read_breg(struct cfi_reader *r, uint8_t *ret_reg, int64_t *ret_offset)
{
	uint8_t op = cfi_reader_u8(r);
	uint64_t reg;

	if (op == DW_OP_bregx)
		reg = cfi_reader_uleb(r);
	else if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		reg = op - DW_OP_breg0;
	else
		return false;
	*ret_offset = cfi_reader_sleb(r);
	*ret_reg = (uint8_t)reg;
	return !r->failed && reg < STACKD_REG_PC;
}

/* Reads the rest of the PLT's expression, after `breg7 N`. Gives the byte of a PLT entry from which
 * on 8 more bytes are on the stack. */
static bool read_plt_tail(struct cfi_reader *r, int64_t *ret_from)
{
	static const uint8_t head[] = {DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
	static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	const uint8_t *p;

	if (cfi_reader_left(r) != sizeof(head) + 1 + sizeof(tail))
		return false;
	p = cfi_reader_block(r, cfi_reader_left(r));
	*ret_from = p[sizeof(head)] - DW_OP_lit0;
	return !memcmp(p, head, sizeof(head)) && *ret_from >= 0 && *ret_from <= 15 &&
	       !memcmp(p + sizeof(head) + 1, tail, sizeof(tail));
}

/* Reads the rest of an expression after `bregN offset`: nothing, `deref`, or `deref; plus_uconst
 * N`. */
static bool read_deref_tail(struct cfi_reader *r, enum stackd_cfa *ret_cfa, int64_t *ret_add)
{
	uint64_t add = 0;

	*ret_cfa = STACKD_CFA_REG;
	*ret_add = 0;
	if (!cfi_reader_left(r))
		return true;
	if (cfi_reader_u8(r) != DW_OP_deref)
		return false;
	if (cfi_reader_left(r)) {
		if (cfi_reader_u8(r) != DW_OP_plus_uconst)
			return false;
		add = cfi_reader_uleb(r);
	}
	*ret_cfa = STACKD_CFA_DEREF;
	*ret_add = (int64_t)add;
	return !r->failed && !cfi_reader_left(r) && add <= INT64_MAX;
}

enum cfi_refusal cfi_expression_cfa(struct cfi_reader expression, struct cfi_state *state)
{
	struct cfi_reader r = expression, rest;
	enum stackd_cfa cfa;
	uint8_t reg;
	int64_t offset, add;

	if (!read_breg(&r, &reg, &offset))
		return CFI_REFUSED_CFA_EXPRESSION;
	rest = r;
	if (reg == STACKD_REG_SP && read_plt_tail(&rest, &add))
		cfa = STACKD_CFA_PLT;
	else if (!read_deref_tail(&r, &cfa, &add))
		return CFI_REFUSED_CFA_EXPRESSION;
	state->cfa = cfa;
	state->cfa_reg = reg;
	state->cfa_offset = offset;
	state->cfa_add = add;
	return CFI_ACCEPTED;
}

struct cfi_reg cfi_expression_slot(struct cfi_reader expression)
{
	struct cfi_reg slot = {.how = CFI_AT_REG};
	int64_t offset;

	/* The CFA is pushed before the expression is evaluated, which matters only if the
	 * expression uses it. */
	if (cfi_reader_left(&expression) && *expression.at == DW_OP_drop)
		expression.at++;
	if (!read_breg(&expression, &slot.reg, &offset) || cfi_reader_left(&expression))
		return (struct cfi_reg){.how = CFI_EXPRESSION};
	slot.offset = (int32_t)offset;
	if (slot.offset != offset)
		return (struct cfi_reg){.how = CFI_RANGE};
	return slot;
}
