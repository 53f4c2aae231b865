/* SPDX-License-Identifier: MIT */
/*
 * From libdw's frames to rules; see walk_rule.h.
 *
 * A frame is first taken apart into one place for the CFA and one for each register (draft), then
 * it is tried against the fixed form; only what fails keeps its operations.
 *
 * libdw's idea of what the ABI preserves cannot be used: its table for x86-64 says 0 where it
 * means rbx. So "undefined" and "same" mean unchanged for the registers that a callee saves, and
 * lost for the others, which is what the ABI says of code that says nothing.
 */
#include "unwind/walk_rule.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPS 4096 /* of one rule */

const uint8_t walk_sigcontext_slot[STACKD_REG_COUNT] = {13, 12, 14, 11, 9, 8, 10, 15, 0,
							1,  2,	3,  4,	5, 6, 7,  16};

static const uint8_t saved_registers[STACKD_SAVED_COUNT] = {
#define X(name, number) number,
	STACKD_SAVED_REGS(X)
#undef X
};

struct draft {
	struct walk_place cfa;
	struct walk_place reg[STACKD_REG_COUNT];
	int return_column;
	bool is_signal;
	Dwarf_Op *ops; /* owned */
	size_t count, capacity;
};

/* --- taking a frame apart ------------------------------------------------------------------ */

/* 0, -ENOMEM, or -EINVAL. */
static int keep_ops(struct draft *d, const Dwarf_Op *ops, size_t n, struct walk_place *place)
{
	if (n > MAX_OPS - d->count)
		return -EINVAL;
	if (d->count + n > d->capacity) {
		size_t capacity = (d->count + n) * 2;
		Dwarf_Op *more = realloc(d->ops, capacity * sizeof(*more));

		if (!more)
			return -ENOMEM;
		d->ops = more;
		d->capacity = capacity;
	}
	memcpy(d->ops + d->count, ops, n * sizeof(*ops));
	*place = (struct walk_place){
		.kind = WALK_PLACE_OPS, .first = (uint32_t)d->count, .count = (uint32_t)n};
	d->count += n;
	return 0;
}

/* libdw's form of DW_CFA_offset and DW_CFA_val_offset. */
static bool is_cfa_relative(const Dwarf_Op *ops, size_t n, struct walk_place *place)
{
	size_t i = 1;

	*place = (struct walk_place){.kind = WALK_PLACE_AT_CFA};
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (i < n && ops[i].atom == DW_OP_plus_uconst)
		place->offset = (int64_t)ops[i++].number;
	if (i < n && ops[i].atom == DW_OP_stack_value) {
		place->kind = WALK_PLACE_CFA;
		i++;
	}
	return i == n;
}

static int draft_register(struct draft *d, Dwarf_Frame *frame, int number)
{
	struct walk_place *place = &d->reg[number];
	Dwarf_Op memory[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, number, memory, &ops, &n))
		return -EINVAL;
	if (!n) {
		place->kind = ops ? WALK_PLACE_UNDEFINED : WALK_PLACE_SAME;
		return 0;
	}
	return is_cfa_relative(ops, n, place) ? 0 : keep_ops(d, ops, n, place);
}

static int draft_frame(struct draft *d, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t n;
	int r;

	d->return_column = dwarf_frame_info(frame, NULL, NULL, &d->is_signal);
	if (d->return_column < 0 || d->return_column >= STACKD_REG_COUNT)
		return -EINVAL;
	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return -EINVAL;
	r = keep_ops(d, ops, n, &d->cfa);
	for (int i = 0; !r && i < STACKD_REG_COUNT; i++)
		r = draft_register(d, frame, i);
	return r;
}

/* --- the fixed form ------------------------------------------------------------------------ */

/* reg + offset, as one operation. */
static bool is_register_plus(const Dwarf_Op *op, uint8_t *ret_reg, int64_t *ret_offset)
{
	uint64_t reg = op->number;
	int64_t offset = (int64_t)op->number2;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		reg = op->atom - DW_OP_breg0;
		offset = (int64_t)op->number;
	} else if (op->atom != DW_OP_bregx) {
		return false;
	}
	if (reg >= STACKD_REG_COUNT)
		return false;
	*ret_reg = (uint8_t)reg;
	*ret_offset = offset;
	return true;
}

static bool is_literal(const Dwarf_Op *op, unsigned *ret_value)
{
	*ret_value = (unsigned)op->atom - DW_OP_lit0;
	return op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31;
}

/* rsp + offset + (((rip & 15) >= limit) << 3): lazy PLT entries push halfway through. */
static bool fit_plt(const Dwarf_Op *ops, size_t n, struct stackd_rule *rule)
{
	static const uint8_t rest[] = {DW_OP_and, 0, DW_OP_ge, 0, DW_OP_shl, DW_OP_plus};
	unsigned mask, limit, shift;
	int64_t offset;
	uint8_t reg;

	if (n != 9 || !is_register_plus(&ops[1], &reg, &offset) || reg != STACKD_REG_RIP || offset)
		return false;
	for (size_t i = 0; i < sizeof(rest); i++) {
		if (rest[i] && ops[3 + i].atom != rest[i])
			return false;
	}
	if (!is_literal(&ops[2], &mask) || mask != 15 || !is_literal(&ops[4], &limit) ||
	    !is_literal(&ops[6], &shift) || shift != 3 || rule->reg != STACKD_REG_RSP)
		return false;
	rule->cfa = STACKD_CFA_PLT;
	rule->cfa_add = (int16_t)limit;
	return true;
}

static bool fit_cfa(const Dwarf_Op *ops, size_t n, struct stackd_rule *rule)
{
	int64_t offset;

	if (!is_register_plus(&ops[0], &rule->reg, &offset) || offset != (int32_t)offset)
		return false;
	rule->cfa_offset = (int32_t)offset;
	rule->cfa = STACKD_CFA_REG;
	if (n == 1)
		return true;
	rule->cfa = STACKD_CFA_DEREF;
	if (ops[1].atom == DW_OP_deref && n == 2)
		return true;
	if (ops[1].atom == DW_OP_deref && n == 3 && ops[2].atom == DW_OP_plus_uconst &&
	    ops[2].number <= INT16_MAX) {
		rule->cfa_add = (int16_t)ops[2].number;
		return true;
	}
	return fit_plt(ops, n, rule);
}

static bool is_unchanged(const struct walk_place *place)
{
	return place->kind == WALK_PLACE_SAME || place->kind == WALK_PLACE_UNDEFINED;
}

static bool fit_slot(const struct walk_place *place, int16_t *ret_offset)
{
	*ret_offset = (int16_t)place->offset;
	return place->kind == WALK_PLACE_AT_CFA && place->offset == *ret_offset && *ret_offset;
}

/* A callee that saves more than it has to (assembly code) saves what its caller holds for lost:
 * only an interrupted caller can ask for it. */
static bool fit_others(const struct draft *d)
{
	uint32_t others = ~WALK_RULE_PRESERVED & ((1u << STACKD_REG_COUNT) - 1);

	for (int i = 0; d->is_signal && i < STACKD_REG_COUNT; i++) {
		if (others >> i & 1 && !is_unchanged(&d->reg[i]))
			return false;
	}
	return true;
}

static bool fit_registers(const struct draft *d, struct stackd_rule *rule)
{
	if (d->return_column != STACKD_REG_RIP ||
	    !fit_slot(&d->reg[STACKD_REG_RIP], &rule->ra_offset))
		return false;
	if (d->reg[STACKD_REG_RSP].kind != WALK_PLACE_CFA || d->reg[STACKD_REG_RSP].offset)
		return false;
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		const struct walk_place *place = &d->reg[saved_registers[i]];

		if (!is_unchanged(place) && !fit_slot(place, &rule->saved[i]))
			return false;
		if (is_unchanged(place))
			rule->saved[i] = 0;
	}
	return fit_others(d);
}

/* Every register stands in the sigcontext, by expressions over rsp (libdw pushes the CFA first),
 * and the CFA is the interrupted rsp. */
static bool fit_signal(const struct draft *d, struct stackd_rule *rule)
{
	int64_t base = (int64_t)rule->cfa_offset - 8 * walk_sigcontext_slot[STACKD_REG_RSP];

	if (!d->is_signal || rule->cfa != STACKD_CFA_DEREF || rule->cfa_add ||
	    rule->reg != STACKD_REG_RSP || d->return_column != STACKD_REG_RIP ||
	    base != (int32_t)base)
		return false;
	for (int i = 0; i < STACKD_REG_COUNT; i++) {
		const struct walk_place *place = &d->reg[i];
		const Dwarf_Op *ops = d->ops + place->first;
		int64_t offset;
		uint8_t reg;

		if (place->kind != WALK_PLACE_OPS || place->count != 2 ||
		    ops[0].atom != DW_OP_call_frame_cfa ||
		    !is_register_plus(&ops[1], &reg, &offset) || reg != STACKD_REG_RSP ||
		    offset != base + 8 * walk_sigcontext_slot[i])
			return false;
	}
	rule->cfa = STACKD_CFA_SIGNAL;
	rule->cfa_offset = (int32_t)base;
	return true;
}

static bool fit(const struct draft *d, struct stackd_rule *rule)
{
	struct stackd_rule r = {0};

	if (!fit_cfa(d->ops + d->cfa.first, d->cfa.count, &r))
		return false;
	if (!fit_registers(d, &r)) {
		r.ra_offset = 0;
		memset(r.saved, 0, sizeof(r.saved));
		if (!fit_signal(d, &r))
			return false;
	}
	*rule = r;
	return true;
}

/* --- compiling ----------------------------------------------------------------------------- */

static int make_slow(const struct draft *d, struct slow_rule **ret_slow)
{
	size_t bytes = sizeof(struct slow_rule) + d->count * sizeof(Dwarf_Op);
	struct slow_rule *slow = malloc(bytes);

	if (!slow)
		return -ENOMEM;
	slow->cfa = d->cfa;
	memcpy(slow->reg, d->reg, sizeof(slow->reg));
	slow->return_column = (uint8_t)d->return_column;
	slow->bytes = bytes;
	memcpy(slow->ops, d->ops, d->count * sizeof(Dwarf_Op));
	*ret_slow = slow;
	return 0;
}

/* 0, -EINVAL or -ENOMEM. */
static int compile_frame(Dwarf_Frame *frame, struct draft *d, struct walk_rule *rule)
{
	int r = draft_frame(d, frame);

	if (r)
		return r;
	rule->is_signal = d->is_signal;
	if (d->reg[d->return_column].kind == WALK_PLACE_UNDEFINED)
		rule->fast.cfa = STACKD_CFA_END;
	else if (d->reg[d->return_column].kind == WALK_PLACE_SAME)
		return -EINVAL;
	else if (!fit(d, &rule->fast))
		r = make_slow(d, &rule->slow);
	return r;
}

int walk_rule_compile(const struct cfi_image *image, uint64_t vaddr, struct walk_rule *ret_rule)
{
	struct walk_rule rule = {.fast.cfa = STACKD_CFA_DAEMON};
	struct draft d = {0};
	Dwarf_Frame *frame = NULL;
	uint64_t start, end;
	int r = 0;

	if (!cfi_image_find(image, vaddr, &start, &end))
		rule.fast.cfa = STACKD_CFA_NONE;
	else if (!dwarf_cfi_addrframe(cfi_image_libdw(image), vaddr, &frame))
		r = compile_frame(frame, &d, &rule);
	free(frame);
	free(d.ops);
	if (r == -ENOMEM)
		return r;
	*ret_rule = rule;
	return 0;
}

void walk_rule_free(struct walk_rule *rule)
{
	free(rule->slow);
	rule->slow = NULL;
}
