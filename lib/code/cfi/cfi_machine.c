/* SPDX-License-Identifier: MIT */
/*
 * Runs call frame instructions; see cfi_machine.h.
 *
 * If an instruction cannot be run, the rest of its FDE is refused, from its row on; the rows before
 * are valid. If struct cfi_state cannot express a register's rule or a CFA, the state is only
 * marked, and only rows with that mark are refused.
 *
 * Locations never go back: DW_CFA_set_loc to a lower address is refused, so rows come sorted.
 */
#include "cfi/cfi_machine.h"

#include <dwarf.h>

#include "base/hash.h"
#include "cfi/cfi_expression.h"

#define OPERAND_MASK 0x3f /* of the three instructions that have an operand in the opcode */

#define DW_CFA_GNU_negative_offset_extended 0x2f /* missing in some dwarf.h */

static struct cfi_reg *reg_at(struct cfi_state *state, uint64_t reg)
{
	return reg < CFI_REG_COUNT ? &state->regs[reg] : NULL;
}

static void set_reg(struct cfi_machine *m, uint64_t reg, enum cfi_how how)
{
	struct cfi_reg *to = reg_at(&m->state, reg);

	if (to)
		*to = (struct cfi_reg){.how = how};
}

static void set_reg_offset(struct cfi_machine *m, uint64_t reg, enum cfi_how how, int64_t offset)
{
	struct cfi_reg *to = reg_at(&m->state, reg);

	if (!to)
		return;
	*to = (struct cfi_reg){.how = how, .offset = (int32_t)offset};
	if (offset != to->offset)
		to->how = CFI_RANGE;
}

/* Returns n times the CIE's data alignment factor; if that overflows, INT64_MAX, which does not fit
 * into any member. */
static int64_t factored(const struct cfi_machine *m, int64_t n)
{
	int64_t v;

	return __builtin_mul_overflow(n, m->cie->data_align, &v) ? INT64_MAX : v;
}

static int64_t factored_uleb(struct cfi_machine *m)
{
	uint64_t n = cfi_reader_uleb(&m->r);

	return n > INT64_MAX ? INT64_MAX : factored(m, (int64_t)n);
}

static int64_t negated(int64_t offset)
{
	return offset == INT64_MIN ? INT64_MAX : -offset;
}

/* Returns the offset of the next byte in the section. It fits into 31 bits, by the section's
 * limit. */
static uint32_t offset_in_section(const struct cfi_machine *m)
{
	return (uint32_t)(m->r.at - m->section->data);
}

static int64_t uleb_as_offset(struct cfi_machine *m)
{
	uint64_t n = cfi_reader_uleb(&m->r);

	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* --- the CFA ------------------------------------------------------------------------------- */

static void set_cfa_offset(struct cfi_machine *m, int64_t offset)
{
	struct cfi_state *s = &m->state;

	s->last_offset = offset;
	if (s->refused == CFI_ACCEPTED && s->cfa == STACKD_CFA_REG)
		s->cfa_offset = offset;
}

/* Sets the register even after an expression, which the standard forbids. Assembly writers do it,
 * and gcc's unwinder combines the register with the last offset that was given. */
static void set_cfa_register(struct cfi_machine *m, uint64_t reg)
{
	struct cfi_state *s = &m->state;

	if (s->refused == CFI_REFUSED_CFA_MISSING)
		return;
	s->refused = CFI_ACCEPTED;
	s->cfa = STACKD_CFA_REG;
	s->cfa_reg = reg < UINT8_MAX ? (uint8_t)reg : UINT8_MAX;
	s->cfa_offset = s->last_offset;
	s->cfa_add = 0;
}

static void set_cfa(struct cfi_machine *m, uint64_t reg, int64_t offset)
{
	m->state.refused = CFI_ACCEPTED;
	set_cfa_offset(m, offset);
	set_cfa_register(m, reg);
}

static void set_cfa_expression(struct cfi_machine *m)
{
	uint32_t at = offset_in_section(m);
	struct cfi_reader expr = cfi_reader_sub(&m->r, cfi_reader_uleb(&m->r));

	m->state.refused = cfi_expression_cfa(expr, &m->state);
	m->state.cfa_expression = at;
}

/* --- instructions -------------------------------------------------------------------------- */

static void refuse(struct cfi_machine *m, enum cfi_refusal why)
{
	m->refused = why;
}

static void advance(struct cfi_machine *m, uint64_t n)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(n, m->cie->code_align, &bytes) || bytes > m->end - m->loc)
		bytes = m->end - m->loc;
	m->loc += bytes;
}

static void set_loc(struct cfi_machine *m)
{
	uint64_t to = cfi_entry_read_address(m->section, &m->r, m->cie->pointer_encoding);

	if (to < m->loc)
		refuse(m, CFI_REFUSED_INSTRUCTION);
	else
		m->loc = to < m->end ? to : m->end;
}

static void remember(struct cfi_machine *m)
{
	if (m->depth == CFI_MACHINE_DEPTH)
		refuse(m, CFI_REFUSED_STATE_DEPTH);
	else
		m->stack[m->depth++] = m->state;
}

static void restore_remembered(struct cfi_machine *m)
{
	if (!m->depth)
		refuse(m, CFI_REFUSED_INSTRUCTION);
	else
		m->state = m->stack[--m->depth];
}

static void restore_reg(struct cfi_machine *m, uint64_t reg)
{
	struct cfi_reg *to = reg_at(&m->state, reg);

	if (to)
		*to = m->cie->initial.regs[reg];
}

static void set_reg_expression(struct cfi_machine *m)
{
	struct cfi_reg *to = reg_at(&m->state, cfi_reader_uleb(&m->r));
	uint32_t at = offset_in_section(m);
	struct cfi_reader expr = cfi_reader_sub(&m->r, cfi_reader_uleb(&m->r));

	if (!to)
		return;
	*to = cfi_expression_slot(expr);
	if (to->how == CFI_EXPRESSION)
		to->offset = (int32_t)at;
}

static void set_reg_val_expression(struct cfi_machine *m)
{
	uint64_t reg = cfi_reader_uleb(&m->r);

	set_reg_offset(m, reg, CFI_VAL_EXPRESSION, offset_in_section(m));
	cfi_reader_block(&m->r, cfi_reader_uleb(&m->r));
}

/* If the value is in a register that cfi_state does not have, the rule gives no known value. */
static void set_reg_register(struct cfi_machine *m)
{
	uint64_t reg = cfi_reader_uleb(&m->r), from = cfi_reader_uleb(&m->r);
	struct cfi_reg *to = reg_at(&m->state, reg);

	if (to)
		*to = (struct cfi_reg){.how = from == reg ? CFI_SAME : CFI_IN_REG,
				       .reg = from < CFI_REG_COUNT ? (uint8_t)from : UINT8_MAX};
}

/* Runs an instruction that gives a register's rule. Returns false if it is another instruction. */
static bool run_register(struct cfi_machine *m, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = cfi_reader_uleb(&m->r);
		set_reg_offset(m, reg, CFI_AT_CFA, factored_uleb(m));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cfi_reader_uleb(&m->r);
		set_reg_offset(m, reg, CFI_AT_CFA, factored(m, cfi_reader_sleb(&m->r)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_reader_uleb(&m->r);
		set_reg_offset(m, reg, CFI_AT_CFA, negated(factored_uleb(m)));
		return true;
	case DW_CFA_val_offset:
		reg = cfi_reader_uleb(&m->r);
		set_reg_offset(m, reg, CFI_IS_CFA, factored_uleb(m));
		return true;
	case DW_CFA_val_offset_sf:
		reg = cfi_reader_uleb(&m->r);
		set_reg_offset(m, reg, CFI_IS_CFA, factored(m, cfi_reader_sleb(&m->r)));
		return true;
	case DW_CFA_restore_extended:
		restore_reg(m, cfi_reader_uleb(&m->r));
		return true;
	case DW_CFA_undefined:
		set_reg(m, cfi_reader_uleb(&m->r), CFI_UNDEFINED);
		return true;
	case DW_CFA_same_value:
		set_reg(m, cfi_reader_uleb(&m->r), CFI_SAME);
		return true;
	case DW_CFA_register:
		set_reg_register(m);
		return true;
	case DW_CFA_expression:
		set_reg_expression(m);
		return true;
	case DW_CFA_val_expression:
		set_reg_val_expression(m);
		return true;
	}
	return false;
}

static bool run_cfa(struct cfi_machine *m, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cfi_reader_uleb(&m->r);
		set_cfa(m, reg, uleb_as_offset(m));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cfi_reader_uleb(&m->r);
		set_cfa(m, reg, factored(m, cfi_reader_sleb(&m->r)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa_register(m, cfi_reader_uleb(&m->r));
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa_offset(m, uleb_as_offset(m));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_offset(m, factored(m, cfi_reader_sleb(&m->r)));
		return true;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(m);
		return true;
	}
	return false;
}

static void run_other(struct cfi_machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
		return;
	case DW_CFA_set_loc:
		set_loc(m);
		return;
	case DW_CFA_advance_loc1:
		advance(m, cfi_reader_u8(&m->r));
		return;
	case DW_CFA_advance_loc2:
		advance(m, cfi_reader_u16(&m->r));
		return;
	case DW_CFA_advance_loc4:
		advance(m, cfi_reader_u32(&m->r));
		return;
	case DW_CFA_MIPS_advance_loc8:
		advance(m, cfi_reader_u64(&m->r));
		return;
	case DW_CFA_remember_state:
		remember(m);
		return;
	case DW_CFA_restore_state:
		restore_remembered(m);
		return;
	case DW_CFA_GNU_args_size:
		cfi_reader_uleb(&m->r);
		return;
	}
	if (!run_register(m, op) && !run_cfa(m, op) && op != ARCH_CFI_NO_EFFECT)
		refuse(m, CFI_REFUSED_OPCODE);
}

/* Adds an instruction to the hash of the state's history. DW_CFA_restore_state also restores the
 * history. */
static void note(struct cfi_machine *m, const uint8_t *from)
{
	uint64_t h = m->state.history;

	for (; from < m->r.at; from++)
		h = (h ^ *from) * UINT64_C(0x9e3779b97f4a7c15);
	m->state.history = (h ^ h >> 29) | 1;
}

static bool changes_state(uint8_t op)
{
	switch (op & ~OPERAND_MASK ? op & ~OPERAND_MASK : op) {
	case DW_CFA_advance_loc:
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
	case DW_CFA_nop:
		return false;
	}
	return true;
}

static void run_one(struct cfi_machine *m)
{
	const uint8_t *from = m->r.at;
	uint8_t op = cfi_reader_u8(&m->r), operand = op & OPERAND_MASK;

	switch (op & ~OPERAND_MASK) {
	case DW_CFA_advance_loc:
		advance(m, operand);
		break;
	case DW_CFA_offset:
		set_reg_offset(m, operand, CFI_AT_CFA, factored_uleb(m));
		break;
	case DW_CFA_restore:
		restore_reg(m, operand);
		break;
	default:
		run_other(m, op);
	}
	if (changes_state(op))
		note(m, from);
	if (m->r.failed && m->refused == CFI_ACCEPTED)
		refuse(m, CFI_REFUSED_INSTRUCTION);
}

/* --- running ------------------------------------------------------------------------------- */

enum cfi_refusal cfi_machine_run_cie(const struct cfi_section *section, struct cfi_cie *cie,
				     struct cfi_reader instructions)
{
	struct cfi_machine m;

	m.section = section;
	m.cie = cie;
	m.r = instructions;
	m.loc = 0;
	m.end = 1; /* so that an advance, which must not occur in a CIE, is noticed */
	m.state = cie->initial;
	m.refused = CFI_ACCEPTED;
	m.depth = 0;
	while (m.r.at != m.r.end && m.refused == CFI_ACCEPTED && !m.loc)
		run_one(&m);
	if (m.loc)
		refuse(&m, CFI_REFUSED_INSTRUCTION);
	cie->initial = m.state;
	cie->initial.history = hash_mix64(cie->at + 1) | 1;
	return m.refused;
}

void cfi_machine_start(struct cfi_machine *m, const struct cfi_section *section,
		       const struct cfi_cie *cie, const struct cfi_fde *fde)
{
	m->section = section;
	m->cie = cie;
	m->r = fde->instructions;
	m->loc = fde->start;
	m->end = fde->end;
	m->state = cie->initial;
	m->refused = cie->rows;
	m->done = false;
	m->depth = 0;
}

bool cfi_machine_step(struct cfi_machine *m, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = m->loc;

	if (m->done || start == m->end)
		return false;
	while (m->r.at != m->r.end && m->refused == CFI_ACCEPTED && m->loc == start)
		run_one(m);
	m->done = m->refused != CFI_ACCEPTED || m->loc == start;
	*ret_start = start;
	*ret_end = m->done ? m->end : m->loc;
	return true;
}
