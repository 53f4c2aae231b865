/* SPDX-License-Identifier: MIT */
/*
 * Makes a rule from a row of the call frame table; see walk_rule.h.
 *
 * A row is first converted to the fixed form, by the code that makes the kernel half's tables. If
 * that fails, the row's rules are kept, with decoded expressions.
 */
#include "unwind/walk_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cfi/dwarf_expr_decode.h"
#include "unwind/fixed_rule.h"

/* A slow rule that is being made. */
struct draft {
	const struct cfi_row *row;
	VEC(struct dwarf_expr_op) ops;
	struct slow_rule rule; /* without the operations */
};

/* Returns 0, -EINVAL if the expression is invalid, or -ENOMEM. */
static int draft_ops(struct draft *d, uint32_t at, enum dwarf_expr_use use,
		     struct walk_ops *ret_ops)
{
	size_t count;
	int err;

	if (VEC_RESERVE(&d->ops, DWARF_EXPR_MAX_OPS))
		return -ENOMEM;
	err = dwarf_expr_decode(d->row->section, at, use, d->ops.items + d->ops.count, &count);
	if (err)
		return err;
	*ret_ops = (struct walk_ops){(uint32_t)d->ops.count, (uint32_t)count};
	d->ops.count += count;
	return 0;
}

static int draft_cfa(struct draft *d)
{
	const struct cfi_state *state = &d->row->state;

	if (fixed_rule_make_cfa(state, &d->rule.cfa) == RECIPE_ACCEPTED)
		return 0;
	if (state->refused != CFI_REFUSED_CFA_EXPRESSION)
		return -EINVAL;
	d->rule.cfa.cfa = STACKD_CFA_DAEMON;
	return draft_ops(d, state->cfa_expression, DWARF_EXPR_OF_CFA, &d->rule.cfa_ops);
}

/* A register with an invalid expression counts as lost, like one whose offset does not fit. */
static int draft_register(struct draft *d, int i)
{
	struct walk_register *reg = &d->rule.reg[i];
	int err = 0;

	reg->rule = d->row->state.regs[i];
	if (reg->rule.how == CFI_EXPRESSION)
		err = draft_ops(d, (uint32_t)reg->rule.offset, DWARF_EXPR_OF_SLOT, &reg->ops);
	else if (reg->rule.how == CFI_VAL_EXPRESSION)
		err = draft_ops(d, (uint32_t)reg->rule.offset, DWARF_EXPR_OF_VALUE, &reg->ops);
	if (err == -EINVAL)
		reg->rule.how = CFI_RANGE;
	return err == -EINVAL ? 0 : err;
}

static int finish(const struct draft *d, struct slow_rule **ret_slow)
{
	size_t ops_bytes = d->ops.count * sizeof(*d->ops.items);
	struct slow_rule *slow = malloc(sizeof(*slow) + ops_bytes);

	if (!slow)
		return -ENOMEM;
	*slow = d->rule;
	slow->bytes = sizeof(*slow) + ops_bytes;
	if (ops_bytes)
		memcpy(slow->ops, d->ops.items, ops_bytes);
	*ret_slow = slow;
	return 0;
}

/* Returns 0, -EINVAL if the row is invalid, or -ENOMEM. */
static int make_slow(const struct cfi_row *row, struct slow_rule **ret_slow)
{
	struct draft d = {.row = row};
	int err;

	switch (row->state.regs[ARCH_CFI_RETURN].how) {
	case CFI_UNSET:
	case CFI_SAME:
		return -EINVAL;
	}
	err = draft_cfa(&d);
	for (int i = 0; !err && i < STACKD_REG_COUNT; i++)
		err = draft_register(&d, i);
	if (!err)
		err = finish(&d, ret_slow);
	free(d.ops.items);
	return err;
}

int walk_rule_compile(const struct cfi_index *index, uint64_t vaddr, struct walk_rule *ret_rule)
{
	struct walk_rule rule = {.fast.cfa = STACKD_CFA_DAEMON, .provenance = PROVENANCE_CFI};
	struct cfi_row row;

	if (!cfi_index_row(index, vaddr, &row)) {
		rule.fast.cfa = STACKD_CFA_NONE;
		rule.provenance = PROVENANCE_NONE;
	} else if (row.refused == CFI_ACCEPTED) {
		rule.is_signal = row.is_signal_frame;
		if (fixed_rule_make(&row.state, row.is_signal_frame, &rule.fast) !=
			    RECIPE_ACCEPTED &&
		    make_slow(&row, &rule.slow) == -ENOMEM)
			return -ENOMEM;
	}
	*ret_rule = rule;
	return 0;
}

/* Rows that follow one another and have the same rule. */
struct stretch {
	uint64_t vaddr; /* an address that the last stretch is to cover */
	uint64_t start, end;
	bool is_fixed;
	struct stackd_rule rule;
};

/* Adds a row to a stretch, or begins another one. Returns false behind the stretch that covers the
 * address. */
static bool take_row(void *arg, const struct cfi_row *row)
{
	struct stretch *s = arg;
	struct stackd_rule rule;
	bool is_fixed =
		row->refused == CFI_ACCEPTED &&
		fixed_rule_make(&row->state, row->is_signal_frame, &rule) == RECIPE_ACCEPTED;

	if (!is_fixed || !s->is_fixed || memcmp(&rule, &s->rule, sizeof(rule))) {
		if (row->start > s->vaddr)
			return false;
		s->start = row->start;
		s->is_fixed = is_fixed;
		if (is_fixed)
			s->rule = rule;
	}
	s->end = row->end;
	return true;
}

bool walk_rule_stretch(const struct cfi_index *index, uint64_t vaddr, uint64_t *ret_start,
		       uint64_t *ret_end)
{
	struct stretch s = {.vaddr = vaddr};

	cfi_index_rows(index, vaddr, take_row, &s);
	if (!s.is_fixed)
		return false;
	*ret_start = s.start;
	*ret_end = s.end;
	return true;
}

void walk_rule_free(struct walk_rule *rule)
{
	free(rule->slow);
	rule->slow = NULL;
}
