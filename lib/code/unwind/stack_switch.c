/* SPDX-License-Identifier: MIT */
/*
 * Searches for the bytes of instructions that load the stack pointer (arch/code_form.h); see
 * stack_switch.h. Such bytes are hardly ever anything else: if the first ended another instruction,
 * the rest would load the lower half of the stack pointer, which no program does.
 */
#include "unwind/stack_switch.h"

#include <stdlib.h>
#include <string.h>

#include "arch/code_form.h"
#include "unwind/recipe_layer.h"

#define BEFORE 128 /* most bytes between the load and an offset at which the stack is new */
#define CHUNK  65536
#define MORE   8 /* bytes read behind a chunk, for an instruction that ends there */

/* Follows code from `at` to `end`, at most to a jump, call or return. Returns the offset behind
 * it. */
static size_t follow(const uint8_t *code, size_t at, size_t end, size_t len)
{
	struct insn_decoder decoder;
	struct insn insn;

	insn_decoder_init(&decoder);
	while (at < end) {
		if (!insn_decode(&decoder, code + at, len - at, at, &insn))
			return at;
		if (insn.flow == INSN_RETURN) /* to the address that was pushed */
			return at;
		at += insn.length;
		if (insn.flow != INSN_NEXT && insn.flow != INSN_BRANCH)
			return at;
	}
	return at;
}

static bool precedes(const struct elf_file *elf, uint64_t start, uint64_t offset,
		     size_t (*length)(const uint8_t *code))
{
	uint8_t code[BEFORE + INSN_MAX_BYTES] = {0};
	size_t before = offset - start < BEFORE ? (size_t)(offset - start) : BEFORE;

	if (elf_file_read(elf, offset - before, code, before) != (int64_t)before)
		return false;
	for (size_t i = 0; i + 3 <= before; i++) {
		size_t n = length(code + i);

		if (n && i + n <= before && follow(code, i + n, before, before) == before)
			return true;
	}
	return false;
}

bool stack_switch_precedes(const struct elf_file *elf, uint64_t start, uint64_t offset)
{
	return precedes(elf, start, offset, code_form_loads_stack);
}

bool stack_switch_may_precede(const struct elf_file *elf, uint64_t start, uint64_t offset)
{
	return stack_switch_precedes(elf, start, offset) ||
	       precedes(elf, start, offset, code_form_sets_stack);
}

/* Returns whether instructions from `at` on end at `end`, and have lowered the stack pointer by so
 * many bytes, without a jump or call in between. */
static bool lowers_stack(const uint8_t *code, size_t at, size_t end, size_t len, int64_t by)
{
	struct insn_decoder decoder;
	struct insn i;
	int64_t moved = 0;

	insn_decoder_init(&decoder);
	for (; at < end; at += i.length) {
		if (!insn_decode(&decoder, code + at, len - at, at, &i) ||
		    (i.flow != INSN_NEXT && i.flow != INSN_BRANCH))
			return false;
		if (i.op == INSN_PUSH || i.op == INSN_POP)
			moved += i.op == INSN_POP ? 8 : -8;
		else if (i.op == INSN_COPY && i.dst == INSN_SP && i.src == INSN_SP)
			moved += i.disp;
		else if (i.op == INSN_LEAVE || i.written >> INSN_SP & 1)
			return false;
	}
	return at == end && moved == -by;
}

bool stack_switch_target_precedes(const struct elf_file *elf, uint64_t offset, int64_t above)
{
	uint8_t code[BEFORE + INSN_MAX_BYTES] = {0};
	size_t before = offset < BEFORE ? (size_t)offset : BEFORE;

	if (elf_file_read(elf, offset - before, code, before) != (int64_t)before)
		return false;
	for (size_t i = 0; i + CODE_FORM_TARGET <= before; i++) {
		if (code_form_stores_target(code + i) &&
		    lowers_stack(code, i + CODE_FORM_TARGET, before, before, above))
			return true;
	}
	return false;
}

/* Returns whether instructions from `at` on end at `end`, and leave the frame pointer alone. */
static bool keeps_frame(const uint8_t *code, size_t at, size_t end, size_t len)
{
	struct insn_decoder decoder;
	struct insn i;

	insn_decoder_init(&decoder);
	for (; at < end; at += i.length) {
		if (!insn_decode(&decoder, code + at, len - at, at, &i) || i.op == INSN_LEAVE ||
		    i.written >> INSN_FP & 1 || (i.op != INSN_STORE && i.dst == INSN_FP) ||
		    i.flow == INSN_RETURN || i.flow == INSN_JUMP || i.flow == INSN_JUMP_INDIRECT ||
		    i.flow == INSN_STOP)
			return false;
	}
	return at == end;
}

bool stack_switch_frame_precedes(const struct elf_file *elf, uint64_t offset)
{
	uint8_t code[BEFORE + INSN_MAX_BYTES] = {0};
	size_t before = offset < BEFORE ? (size_t)offset : BEFORE;

	if (elf_file_read(elf, offset - before, code, before) != (int64_t)before)
		return false;
	for (size_t i = 0; i + CODE_FORM_FRAME <= before; i++) {
		if (code_form_makes_frame(code + i, before - i) &&
		    keeps_frame(code, i + CODE_FORM_FRAME, before, before))
			return true;
	}
	return false;
}

/* --- tables -------------------------------------------------------------------------------- */

struct lay {
	const struct elf_file *elf;
	const struct recipe_table *table;
	struct recipe_rows_reader rows;
	struct recipe_row row, next; /* the row with the present offset, and the next row */
	bool has_next;
	struct recipe_rows_reader provenances; /* read like the rows */
	struct recipe_row provenance, next_provenance;
	bool has_next_provenance;
	uint16_t rule;	  /* number of the rule SWITCH */
	uint64_t covered; /* file offset up to which the code is done */
	struct recipe_rows layer;
};

/* Moves to the row that covers an offset, which must not be lower than at the last call. Returns
 * whether there is one. */
static bool go_to(struct recipe_rows_reader *rows, struct recipe_row *row, struct recipe_row *next,
		  bool *has_next, uint64_t offset)
{
	while (*has_next && next->offset <= offset) {
		*row = *next;
		*has_next = recipe_rows_next(rows, next);
	}
	return row->offset <= offset;
}

/* Returns whether the rule at an offset is from a runtime's table: Go's has all switches of the
 * stack. */
static bool is_of_runtime(struct lay *l, uint64_t offset)
{
	return go_to(&l->provenances, &l->provenance, &l->next_provenance, &l->has_next_provenance,
		     offset) &&
	       l->provenance.rule == PROVENANCE_RUNTIME_TABLE;
}

/* Returns whether the rule at an offset computes the CFA from the stack pointer. */
static bool is_from_sp(struct lay *l, uint64_t offset)
{
	const struct stackd_rule *rule;
	size_t count;

	if (!go_to(&l->rows, &l->row, &l->next, &l->has_next, offset))
		return false;
	rule = &recipe_rules_array(l->table->rules, &count)[l->row.rule];
	return rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_SP;
}

static int lay_behind(struct lay *l, uint64_t offset)
{
	uint8_t code[BEFORE] = {0};
	int64_t len = elf_file_read(l->elf, offset, code, sizeof(code));
	size_t end = len > 0 ? follow(code, 0, (size_t)len, (size_t)len) : 0;
	int err;

	if (!end || is_of_runtime(l, offset) || !is_from_sp(l, offset))
		return 0;
	err = recipe_rows_add(&l->layer, (uint32_t)offset, l->rule);
	return err ? err : recipe_rows_add(&l->layer, (uint32_t)(offset + end), STACKD_RULE_NONE);
}

/* Adds SWITCH behind the loads that begin in a block of code at a file offset. */
static int lay_block(struct lay *l, const uint8_t *code, uint64_t offset)
{
	int err = 0;

	for (size_t i = 0; i < CODE_FORM_BLOCK && !err; i++) {
		size_t n = code_form_loads_stack(code + i);
		uint64_t behind = offset + i + n;

		if (!n || behind < l->covered)
			continue;
		l->covered = behind + BEFORE;
		err = lay_behind(l, behind);
	}
	return err;
}

static int lay_load(struct lay *l, const struct recipe_load *load, uint8_t *bytes)
{
	int err = 0;

	l->covered = 0;
	for (uint64_t at = 0; at < load->size && !err; at += CHUNK) {
		uint64_t want = load->size - at < CHUNK + MORE ? load->size - at : CHUNK + MORE;
		int64_t got = elf_file_read(l->elf, load->offset + at, bytes, want);

		if (got <= 0)
			break;
		memset(bytes + got, 0, (size_t)(CHUNK + MORE - got));
		for (int64_t b = 0; b < CHUNK && b < got && !err; b += CODE_FORM_BLOCK) {
			if (code_form_may_load_stack(bytes + b))
				err = lay_block(l, bytes + b, load->offset + at + (uint64_t)b);
		}
	}
	return err;
}

int stack_switch_lay(const struct elf_file *elf, const struct recipe_load *loads, size_t load_count,
		     struct recipe_table *table, struct recipe_rows *rows)
{
	const struct stackd_rule rule = {.cfa = STACKD_CFA_SWITCH};
	struct lay l = {
		.elf = elf,
		.table = table,
		.rows = recipe_rows_read(rows),
		.provenances = recipe_rows_read(&table->provenance),
	};
	uint8_t *bytes = malloc(CHUNK + MORE);
	int number = bytes ? recipe_rules_add(table->rules, &rule) : -ENOMEM, err = 0;

	if (number < 0) {
		free(bytes);
		return number == -ENOSPC ? 0 : number;
	}
	l.rule = (uint16_t)number;
	l.row.offset = l.provenance.offset = UINT32_MAX;
	l.has_next = recipe_rows_next(&l.rows, &l.next);
	l.has_next_provenance = recipe_rows_next(&l.provenances, &l.next_provenance);
	for (size_t i = 0; i < load_count && !err; i++)
		err = loads[i].offset + loads[i].size <= RECIPE_MAX_OFFSET
			      ? lay_load(&l, &loads[i], bytes)
			      : 0;
	if (!err && !recipe_rows_is_empty(&l.layer))
		err = recipe_layer_above(table, rows, &l.layer, PROVENANCE_ANALYSED);
	recipe_rows_free(&l.layer);
	free(bytes);
	return err;
}
