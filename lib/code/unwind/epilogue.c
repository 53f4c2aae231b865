/* SPDX-License-Identifier: MIT */
/*
 * Follows the stack pointer through the instructions before a return; see epilogue.h.
 *
 * Only code in which a return comes right behind the release of a frame is decoded, from the
 * beginning of its row on, since rows begin at instructions. Where compilers describe epilogues,
 * which is nearly everywhere, rows of frames have no such return.
 */
#include "unwind/epilogue.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/code_form.h"
#include "arch/insn.h"
#include "unwind/code_window.h"
#include "unwind/recipe_layer.h"

#define MOST_CODE  65536 /* bytes of a row that are read */
#define MOST_STEPS 24	 /* instructions of an epilogue that change the stack pointer */

/* Instructions that raise the stack pointer, one after the other; calls and branches that may be
 * between them leave it as it was. */
struct release {
	size_t count;
	uint32_t at[MOST_STEPS];      /* where each one ends */
	int32_t sum[MOST_STEPS];      /* bytes that were released before it */
	bool restores_fp[MOST_STEPS]; /* it loads the caller's frame pointer */
	int32_t released;	      /* bytes, in all */
};

bool epilogue_may_be_left_out(const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_REG && rule->ra_offset == ARCH_RETURN_SLOT &&
	       !STACKD_IS_OF_CODE(rule) && !rule->saved_via_reg &&
	       ((rule->reg == STACKD_REG_SP && rule->cfa_offset > ARCH_CALL_PUSHES) ||
		(rule->reg == STACKD_REG_FP && rule->cfa_offset == 2 * ARCH_CALL_PUSHES &&
		 rule->saved[0] == -2 * ARCH_CALL_PUSHES));
}

/* Returns whether nothing but a jump leads to the next instruction. */
static bool leaves(const struct insn *insn)
{
	return insn->flow == INSN_RETURN || insn->flow == INSN_JUMP ||
	       insn->flow == INSN_JUMP_INDIRECT;
}

/* Adds an instruction that ends at `end`. */
static void add(struct release *r, const struct insn *insn, uint32_t end)
{
	const uint32_t sp = 1u << INSN_SP;
	bool is_leave = insn->op == INSN_LEAVE;
	int32_t bytes = 0;

	if (leaves(insn) || insn->flow == INSN_STOP || r->count == MOST_STEPS) {
		*r = (struct release){0};
		return;
	}
	if (insn->op == INSN_POP)
		bytes = ARCH_CALL_PUSHES;
	else if (insn->op == INSN_COPY && insn->dst == INSN_SP && insn->src == INSN_SP)
		bytes = insn->disp;
	else if (!is_leave && !(insn->written & sp) && insn->op != INSN_PUSH)
		return;
	if (is_leave || bytes <= 0)
		*r = (struct release){0};
	if (!is_leave && bytes <= 0)
		return;
	r->at[r->count] = end;
	r->sum[r->count] = r->released;
	r->restores_fp[r->count++] = is_leave || (insn->op == INSN_POP && insn->dst == INSN_FP);
	r->released += bytes;
}

/* Returns the number of the instruction behind which the rule is wrong, if the function is left;
 * -1: it is right, or is of another frame. */
static int wrong_from(const struct release *r, const struct stackd_rule *rule)
{
	for (size_t i = 0; i < r->count; i++) {
		int32_t left = r->released - r->sum[i];

		if (rule->reg == STACKD_REG_SP && left + ARCH_CALL_PUSHES == rule->cfa_offset)
			return (int)i;
		if (rule->reg == STACKD_REG_FP && r->restores_fp[i] && i + 1 == r->count)
			return (int)i;
	}
	return -1;
}

/* Returns the CFA's distance from the stack pointer behind instruction `i`. */
static int32_t distance_behind(const struct release *r, size_t i)
{
	int32_t released = i + 1 < r->count ? r->sum[i + 1] : r->released;

	return r->released - released + ARCH_CALL_PUSHES;
}

int32_t epilogue_cfa(const struct elf_file *elf, uint64_t start, uint64_t end, uint64_t offset,
		     const struct stackd_rule *rule)
{
	size_t size = end - start < MOST_CODE ? (size_t)(end - start) : MOST_CODE;
	uint8_t *code =
		epilogue_may_be_left_out(rule) && offset - start < size ? malloc(size) : NULL;
	int64_t len = code ? elf_file_read(elf, start, code, size) : 0;
	struct insn_decoder decoder;
	struct release r = {0};
	struct insn insn;
	int32_t distance = -1;
	int from;

	insn_decoder_init(&decoder);
	for (size_t at = 0; len > 0 && at < (size_t)len; at += insn.length) {
		if (!insn_decode(&decoder, code + at, (size_t)len - at, at, &insn))
			break;
		if (start + at >= offset && leaves(&insn)) {
			from = wrong_from(&r, rule);
			for (size_t i = (size_t)from; from >= 0 && i < r.count; i++)
				if (start + r.at[i] <= offset)
					distance = distance_behind(&r, i);
			break;
		}
		add(&r, &insn, (uint32_t)(at + insn.length));
	}
	free(code);
	return distance;
}

/* --- tables -------------------------------------------------------------------------------- */

struct lay {
	struct code_window window;
	struct recipe_table *table;
	struct recipe_rows layer;
	struct insn_decoder decoder;
};

static int lay_row(struct lay *l, uint64_t offset, const struct stackd_rule *rule, int32_t distance)
{
	struct stackd_rule mended = *rule;
	int number;

	mended.reg = STACKD_REG_SP;
	mended.cfa_offset = distance;
	number = recipe_rules_add(l->table->rules, &mended);
	if (number == -ENOSPC) {
		l->table->stats.refused[RECIPE_REFUSED_RULE_LIMIT]++;
		number = STACKD_RULE_DAEMON;
	}
	return number < 0 ? number : recipe_rows_add(&l->layer, (uint32_t)offset, (uint16_t)number);
}

/* Lays the rules of an epilogue whose return or jump ends at file offset `end`. */
static int lay_epilogue(struct lay *l, const struct release *r, uint64_t offset, uint64_t end,
			const struct stackd_rule *given)
{
	const struct stackd_rule rule = *given; /* a rule that is added can move it */
	int from = wrong_from(r, &rule), err = 0;

	for (size_t i = (size_t)from; from >= 0 && i < r->count && !err; i++)
		err = lay_row(l, offset + r->at[i], &rule, distance_behind(r, i));
	return err || from < 0 ? err : recipe_rows_add(&l->layer, (uint32_t)end, STACKD_RULE_NONE);
}

/* Decodes a row's code, and lays rules over each of its epilogues. */
static int decode_row(struct lay *l, const uint8_t *code, uint64_t offset, size_t len,
		      const struct stackd_rule *given)
{
	const struct stackd_rule rule = *given;
	struct release r = {0};
	struct insn insn;
	int err = 0;

	for (size_t at = 0; at < len && !err; at += insn.length) {
		if (!insn_decode(&l->decoder, code + at, len - at, at, &insn))
			break;
		if (leaves(&insn))
			err = lay_epilogue(l, &r, offset, offset + at + insn.length, &rule);
		add(&r, &insn, (uint32_t)(at + insn.length));
	}
	return err;
}

static int look_at_row(struct lay *l, const struct recipe_row *row, uint32_t end)
{
	size_t count, len = end - row->offset < MOST_CODE ? end - row->offset : MOST_CODE;
	const struct stackd_rule *rule = &recipe_rules_array(l->table->rules, &count)[row->rule];
	const uint8_t *code;

	if (!epilogue_may_be_left_out(rule))
		return 0;
	code = code_window_at(&l->window, row->offset, len, &len);
	len = code_form_last_release(code, len, rule->reg == STACKD_REG_FP);
	return len ? decode_row(l, code, row->offset, len, rule) : 0;
}

int epilogue_lay(const struct elf_file *elf, struct recipe_table *table, struct recipe_rows *rows)
{
	struct lay l = {.table = table};
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	struct recipe_row row, next;
	bool has_row = recipe_rows_next(&reader, &row);
	int err = code_window_init(&l.window, elf);

	insn_decoder_init(&l.decoder);
	while (has_row && !err) {
		has_row = recipe_rows_next(&reader, &next);
		if (has_row)
			err = look_at_row(&l, &row, next.offset);
		row = next;
	}
	if (!err && !recipe_rows_is_empty(&l.layer))
		err = recipe_layer_above(table, rows, &l.layer, PROVENANCE_ANALYSED);
	recipe_rows_free(&l.layer);
	code_window_fini(&l.window);
	return err;
}
