/* SPDX-License-Identifier: MIT */
/*
 * Makes a table from the bytes of call frame sections: recipe_section_compile().
 *
 *   section ─► CIEs (cfi_cies.h)
 *          └─► FDEs ─► machine ─► rows ─► rule numbers
 *                         all FDEs in order of address ─► rows (rule from this offset on)
 *   rows of all sections, an earlier section's above a later one's, and other sources' ─► chunks
 *
 * If FDEs overlap, the common part belongs to the one with the lower start, or of those with the
 * same start to the first in the section; the rest of the other FDE stays. Overlaps are counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/code_form.h"
#include "base/vec.h"
#include "cfi/cfi_cies.h"
#include "cfi/cfi_machine.h"
#include "unwind/detour.h"
#include "unwind/eh_return.h"
#include "unwind/epilogue.h"
#include "unwind/fixed_rule.h"
#include "unwind/recipe_analysis.h"
#include "unwind/recipe_layer.h"
#include "unwind/recipe_runtime.h"
#include "unwind/recipe_table.h"
#include "unwind/stack_switch.h"
#include "unwind/stack_start.h"

struct fde_range {
	uint32_t start, end;		 /* file offsets */
	uint32_t first_word, word_count; /* of its rows in compiler.rows */
};

#define KNOWN_RULES 4096 /* a power of two */

struct compiler {
	const struct elf_file *file; /* NULL: code is not read */
	const struct cfi_section *section;
	const struct recipe_load *loads;
	size_t load_count;
	struct recipe_rules *rules;
	struct recipe_stats *stats;

	struct cfi_cies cies;
	const struct cfi_cie *last_cie; /* the last one that find_cie() found */
	VEC(struct fde_range) fdes;	/* in the section's order */
	struct recipe_rows rows;	/* of all FDEs, one after the other */
	struct recipe_rows thrown;	/* of functions that throw, for all sections */
	struct recipe_rows detours;	/* that have a wrong rule, for all sections */
	struct code_window code;	/* of the functions, in order */
	struct cfi_machine machine;
	struct stack_start_bytes starts; /* of functions */
	bool has_jumps;	    /* a function jumps to code that runs in its frame (jump_frame.h) */
	struct known_rule { /* rules of states that were met before, by their history */
		uint64_t history; /* 0: none */
		int number;
	} known[KNOWN_RULES];
};

static void refuse(struct compiler *c, enum recipe_refusal why)
{
	c->stats->refused[why]++;
}

static void refuse_cfi(struct compiler *c, enum cfi_refusal why)
{
	if (why != CFI_ACCEPTED)
		refuse(c, recipe_refusal_of_cfi(why));
}

static void free_section(struct compiler *c)
{
	cfi_cies_free(&c->cies);
	free(c->fdes.items);
	recipe_rows_free(&c->rows);
	c->fdes.items = NULL;
	c->fdes.count = c->fdes.cap = 0;
	c->last_cie = NULL;
	memset(c->known, 0, sizeof(c->known));
}

/* --- FDEs ---------------------------------------------------------------------------------- */

static const struct cfi_cie *find_cie(struct compiler *c, uint64_t at)
{
	if (!c->last_cie || c->last_cie->at != at)
		c->last_cie = cfi_cies_find(&c->cies, at);
	return c->last_cie;
}

/* Finds the file offsets of an FDE's addresses: the whole FDE must be in one program header. */
static enum recipe_refusal find_range(const struct compiler *c, const struct cfi_fde *fde,
				      struct fde_range *ret_range)
{
	for (size_t i = 0; i < c->load_count; i++) {
		const struct recipe_load *s = &c->loads[i];
		uint64_t from = fde->start - s->vaddr, len = fde->end - fde->start;

		if (fde->start < s->vaddr || from > s->size || len > s->size - from)
			continue;
		if (s->offset > RECIPE_MAX_OFFSET || from + len > RECIPE_MAX_OFFSET - s->offset)
			return RECIPE_REFUSED_FDE_OFFSET;
		*ret_range = (struct fde_range){
			.start = (uint32_t)(s->offset + from),
			.end = (uint32_t)(s->offset + from + len),
		};
		return RECIPE_ACCEPTED;
	}
	return RECIPE_REFUSED_FDE_PROGRAM_HEADER;
}

/* Returns the rule number of the machine's row; if it has no rule, DAEMON, and counts the reason.
 * Functions begin and end alike, so most states were met before, and their rule is found by the
 * instructions that made them. (A file whose histories collide spoils only its own recipes.) */
static int row_rule(struct compiler *c)
{
	uint64_t history = c->machine.state.history;
	struct known_rule *known = &c->known[history >> 20 & (KNOWN_RULES - 1)];
	enum recipe_refusal refused;
	struct stackd_rule rule;
	int number;

	if (c->machine.refused == CFI_ACCEPTED && history && known->history == history)
		return known->number;
	refused = recipe_refusal_of_cfi(c->machine.refused);
	if (refused == RECIPE_ACCEPTED)
		refused =
			fixed_rule_make(&c->machine.state, c->machine.cie->is_signal_frame, &rule);
	c->has_jumps |= refused == RECIPE_REFUSED_RSP_RULE &&
			c->machine.state.cfa == STACKD_CFA_REG &&
			c->machine.state.cfa_reg == STACKD_REG_SP;
	if (refused == RECIPE_ACCEPTED) {
		number = recipe_rules_add(c->rules, &rule);
		if (number >= 0)
			*known = (struct known_rule){history, number};
		if (number != -ENOSPC)
			return number;
		refused = RECIPE_REFUSED_RULE_LIMIT;
	}
	refuse(c, refused);
	return STACKD_RULE_DAEMON;
}

/* Adds a part of a function that throws to c->thrown; `number` is that of the rule of call frame
 * information. 0, or -ENOMEM. */
static int add_thrown(struct compiler *c, const struct eh_return *e, enum eh_return_part part,
		      uint32_t offset, int number)
{
	struct stackd_rule rule;
	size_t count;

	if (number <= STACKD_RULE_DAEMON)
		return recipe_rows_add(&c->thrown, offset, STACKD_RULE_NONE);
	rule = recipe_rules_array(c->rules, &count)[number];
	eh_return_change(e, part, &rule);
	number = recipe_rules_add(c->rules, &rule);
	if (number == -ENOMEM)
		return number;
	return recipe_rows_add(&c->thrown, offset,
			       number < 0 ? STACKD_RULE_DAEMON : (uint16_t)number);
}

/* Notes the parts of a function that throws, if the machine's row, at an offset, is where it has
 * loaded all registers or a later one. `last` and `rule` are the numbers of the rules of the row
 * before and of this one. 0, or -ENOMEM. */
static int note_thrower(struct compiler *c, struct eh_return *e, uint32_t offset, int last,
			int rule)
{
	const struct cfi_state *state = &c->machine.state;
	bool is_known = e->is_such;
	int err = 0;

	if (!c->file)
		return 0;
	if (eh_return_add_row(e, c->file, offset, state) && e->parts[1] <= c->thrown.held.offset)
		*e = (struct eh_return){.start = 0};
	if (!e->is_such)
		return 0;
	for (int i = EH_RETURN_WRITTEN; !err && !is_known && i < EH_RETURN_LEFT; i++)
		err = add_thrown(c, e, (enum eh_return_part)i, (uint32_t)e->parts[i], last);
	if (!err)
		err = add_thrown(c, e, EH_RETURN_LEFT, offset,
				 state->cfa_reg == STACKD_REG_FP ? STACKD_RULE_NONE : rule);
	return err;
}

/* Runs an FDE, and appends its rows to c->rows. Returns 0, -ENOSPC if there are too many rows, or
 * -ENOMEM. */
static int run_fde(struct compiler *c, const struct cfi_cie *cie, const struct cfi_fde *fde,
		   struct fde_range *range)
{
	struct eh_return thrower = {.start = 0};
	uint64_t start, end;
	int last = -1;

	range->first_word = (uint32_t)c->rows.count;
	c->rows.last.offset = range->start;
	cfi_machine_start(&c->machine, c->section, cie, fde);
	while (cfi_machine_step(&c->machine, &start, &end)) {
		uint32_t offset = range->start + (uint32_t)(start - fde->start);
		int rule = row_rule(c);

		c->stats->cfi_rows++;
		if (note_thrower(c, &thrower, offset, last, rule))
			return -ENOMEM;
		if (rule == last)
			continue;
		if (rule < 0)
			return rule;
		if (c->rows.count >= RECIPE_MAX_ROWS)
			return -ENOSPC;
		if (recipe_rows_put(&c->rows, offset, (uint16_t)rule))
			return -ENOMEM;
		last = rule;
	}
	range->word_count = (uint32_t)c->rows.count - range->first_word;
	return thrower.is_such ? recipe_rows_add(&c->thrown, range->end, STACKD_RULE_NONE) : 0;
}

/* Returns whether a function ends as gcc's thunk for returns does (-mfunction-return=thunk): it
 * drops a word from the stack before it returns, which its call frame information does not say. */
static bool ends_in_thunk(const struct compiler *c, const struct fde_range *range)
{
	const struct stackd_rule *rule;
	uint8_t code[CODE_FORM_THUNK_END];
	size_t count;

	if (!c->file || !range->word_count || range->end - range->start < sizeof(code) ||
	    c->rows.last.offset >= range->end - 1)
		return false;
	rule = &recipe_rules_array(c->rules, &count)[c->rows.last.rule];
	return rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_SP &&
	       rule->cfa_offset == 16 && rule->ra_offset == -8 &&
	       elf_file_read_whole(c->file, range->end - sizeof(code), code, sizeof(code)) &&
	       code_form_is_thunk_end(code);
}

/* Adds the rule of such a thunk's last instruction. */
static int mend_thunk(struct compiler *c, struct fde_range *range)
{
	const struct stackd_rule rule = {
		.cfa = STACKD_CFA_REG, .reg = STACKD_REG_SP, .cfa_offset = 8, .ra_offset = -8};
	int number = ends_in_thunk(c, range) ? recipe_rules_add(c->rules, &rule) : -ENOSPC;

	if (number < 0 || c->rows.count >= RECIPE_MAX_ROWS)
		return number == -ENOMEM ? number : 0;
	if (recipe_rows_put(&c->rows, range->end - 1, (uint16_t)number))
		return -ENOMEM;
	range->word_count = (uint32_t)c->rows.count - range->first_word;
	return 0;
}

static int add_fde(struct compiler *c, const struct cfi_cie *cie, const struct cfi_fde *fde)
{
	struct fde_range range;
	enum recipe_refusal refused = find_range(c, fde, &range);
	int err;

	if (refused == RECIPE_ACCEPTED && c->fdes.count == RECIPE_MAX_FDES)
		refused = RECIPE_REFUSED_FDE_LIMIT;
	if (refused == RECIPE_ACCEPTED && c->rows.count >= RECIPE_MAX_ROWS)
		refused = RECIPE_REFUSED_ROW_LIMIT;
	if (refused != RECIPE_ACCEPTED) {
		refuse(c, refused);
		return 0;
	}
	err = run_fde(c, cie, fde, &range);
	if (err == -ENOSPC) {
		refuse(c, RECIPE_REFUSED_ROW_LIMIT);
		c->rows.count = range.first_word;
		return 0;
	}
	if (!err)
		err = mend_thunk(c, &range);
	if (err || VEC_RESERVE(&c->fdes, 1))
		return -ENOMEM;
	c->fdes.items[c->fdes.count++] = range;
	c->stats->fdes++;
	return 0;
}

static int read_fdes(struct compiler *c)
{
	struct cfi_entry entry;
	struct cfi_fde fde;
	enum cfi_refusal refused;
	uint64_t at = 0;

	while (cfi_entry_next(c->section, &at, &entry, &refused)) {
		const struct cfi_cie *cie;
		enum cfi_refusal why = CFI_REFUSED_FDE_CIE;

		if (entry.is_cie)
			continue;
		cie = find_cie(c, entry.cie_at);
		if (cie)
			why = cfi_entry_read_fde(c->section, &entry, cie, &fde);
		if (why != CFI_ACCEPTED)
			refuse_cfi(c, why);
		else if (add_fde(c, cie, &fde))
			return -ENOMEM;
	}
	refuse_cfi(c, refused);
	return 0;
}

/* --- in order of address ------------------------------------------------------------------- */

/* Does one pass of a radix sort, by the byte at `shift`; the pass is stable. */
static void sort_pass(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
	size_t at[257] = {0};

	for (size_t i = 0; i < count; i++)
		at[(from[i] >> shift & 0xff) + 1]++;
	for (int i = 0; i < 256; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; i < count; i++)
		to[at[from[i] >> shift & 0xff]++] = from[i];
}

/* Sorts the FDEs by start; their numbers are the low halves of *ret_order, which the caller frees.
 * Takes linear time, since the file chooses the order. */
static int sort_fdes(const struct compiler *c, uint64_t **ret_order)
{
	size_t n = c->fdes.count;
	uint64_t *order = calloc(n + 1, sizeof(*order)), *other = calloc(n + 1, sizeof(*other));
	bool is_sorted = true;

	if (!order || !other) {
		free(order);
		free(other);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		order[i] = (uint64_t)c->fdes.items[i].start << 32 | i;
		is_sorted &= !i || order[i - 1] <= order[i];
	}
	for (unsigned shift = 32; shift < 64 && !is_sorted; shift += 16) {
		sort_pass(order, other, n, shift);
		sort_pass(other, order, n, shift + 8);
	}
	free(other);
	*ret_order = order;
	return 0;
}

/* Adds an FDE's rows from offset `from` on. */
static int merge_fde(const struct compiler *c, const struct fde_range *fde, uint32_t from,
		     struct recipe_rows *rows)
{
	struct recipe_rows_reader reader =
		recipe_rows_read_part(&c->rows, fde->first_word, fde->word_count, fde->start);
	struct recipe_row row, next;
	bool has_row = recipe_rows_next(&reader, &row);
	int err = 0;

	while (has_row && !err) {
		bool has_next = recipe_rows_next(&reader, &next);

		if (!has_next || next.offset > from)
			err = recipe_rows_add(rows, row.offset > from ? row.offset : from,
					      row.rule);
		row = next;
		has_row = has_next;
	}
	return err;
}

/* Adds the rows of the gap before a function. A return address is looked up one byte below: if the
 * function begins a stack, the last byte of the padding gets the rule END. */
static int add_gap(struct compiler *c, uint32_t covered, const struct fde_range *fde,
		   struct recipe_rows *rows)
{
	int err = 0;

	if (!recipe_rows_is_empty(rows))
		err = recipe_rows_add(rows, covered, STACKD_RULE_NONE);
	if (!err && c->file && fde->word_count == 1 &&
	    stack_start_is_function(c->file, &c->starts, fde->start, fde->end))
		err = recipe_rows_add(rows, fde->start - 1, STACKD_RULE_END);
	return err;
}

static int merge_fdes(struct compiler *c, struct recipe_rows *rows)
{
	uint64_t *order;
	uint32_t covered = 0; /* file offset up to which rows are final */
	int err = sort_fdes(c, &order);

	if (err)
		return err;
	for (size_t i = 0; i < c->fdes.count && !err; i++) {
		const struct fde_range *fde = &c->fdes.items[(uint32_t)order[i]];
		uint32_t from = fde->start > covered ? fde->start : covered;

		if (fde->start < covered)
			refuse(c, RECIPE_REFUSED_FDE_OVERLAP);
		else if (fde->start > covered)
			err = add_gap(c, covered, fde, rows);
		if (err || fde->end <= covered)
			continue;
		err = merge_fde(c, fde, from, rows);
		if (!err && c->file && from == fde->start)
			err = detour_find(&c->code, c->rules,
					  recipe_rows_read_part(&c->rows, fde->first_word,
								fde->word_count, fde->start),
					  fde->start, fde->end, &c->detours);
		covered = fde->end;
	}
	if (!err && !recipe_rows_is_empty(rows))
		err = recipe_rows_add(rows, covered, STACKD_RULE_NONE);
	free(order);
	return err;
}

/* --- all sections -------------------------------------------------------------------------- */

/* Adds a section's rows to an empty list. `bytes` is NULL, or has the memory to free when the
 * section has been read. */
static int compile_section(struct compiler *c, const struct cfi_section *section, uint8_t **bytes,
			   struct recipe_rows *rows)
{
	enum cfi_refusal refused;
	int err;

	c->section = section;
	if (section->size > CFI_SECTION_MAX_BYTES) {
		refuse(c, RECIPE_REFUSED_SECTION_SIZE);
		return 0;
	}
	err = cfi_cies_read(section, &c->cies, &refused);
	if (!err) {
		refuse_cfi(c, refused);
		err = read_fdes(c);
	}
	if (bytes) {
		free(*bytes);
		*bytes = NULL;
	}
	if (!err)
		err = merge_fdes(c, rows);
	free_section(c);
	return err;
}

static int compile_all(struct compiler *c, const struct cfi_section *sections, uint8_t **bytes,
		       size_t count, struct recipe_rows *rows)
{
	for (size_t i = 0; i < count; i++) {
		struct recipe_rows own = {0};
		int err =
			compile_section(c, &sections[i], bytes ? &bytes[i] : NULL, i ? &own : rows);

		if (!err && !recipe_rows_is_empty(&own))
			err = recipe_rows_overlay(rows, &own);
		recipe_rows_free(&own);
		if (err)
			return err;
	}
	return 0;
}

static struct compiler *new_compiler(struct recipe_table *table, const struct recipe_load *loads,
				     size_t load_count)
{
	struct compiler *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->loads = loads;
	c->load_count = load_count;
	c->rules = table->rules;
	c->stats = &table->stats;
	if (load_count > RECIPE_MAX_LOADS) {
		c->load_count = RECIPE_MAX_LOADS;
		refuse(c, RECIPE_REFUSED_PROGRAM_HEADERS);
	}
	return c;
}

/* Puts the right rules of detours in place of the wrong ones. They are the information's own,
 * stated for the code to which the detours go. */
static int lay_detours(struct compiler *c, struct recipe_rows *rows)
{
	int err = recipe_rows_overlay(&c->detours, rows);

	if (err)
		return err;
	recipe_rows_free(rows);
	*rows = c->detours;
	c->detours = (struct recipe_rows){0};
	return 0;
}

/* Merges the rules of the other sources (functions that throw, detours, epilogues, a runtime's
 * table, starts of stacks, analysed code, loads of the stack pointer), and cuts the rows into
 * chunks. */
static int finish(struct compiler *c, const struct recipe_others *others,
		  struct recipe_table *table, struct recipe_rows *rows)
{
	bool is_long = false;
	int err = others->file && others->is_quick
			  ? recipe_analysis_is_long(others, c->loads, c->load_count, rows, &is_long)
			  : 0;
	bool has_rest = others->file && !is_long;

	table->stats.is_partial = is_long;
	if (!err && !recipe_rows_is_empty(&c->thrown))
		err = recipe_layer_above(table, rows, &c->thrown, PROVENANCE_ANALYSED);
	if (!err && !recipe_rows_is_empty(&c->detours))
		err = lay_detours(c, rows);
	if (!err && others->file)
		err = epilogue_lay(others->file, table, rows);
	if (!err && has_rest)
		err = recipe_runtime_lay(others->file, table, rows);
	if (!err && others->file)
		err = stack_start_lay(others->file, c->loads, c->load_count, table, rows);
	if (!err && has_rest && !c->has_jumps) /* else functions have no separate frames */
		err = recipe_analysis_lay(others, c->loads, c->load_count, table, rows);
	if (!err && others->file)
		err = stack_switch_lay(others->file, c->loads, c->load_count, table, rows);
	if (!err && others->file)
		err = recipe_runtime_mark(others->file, table, rows);
	return err ? err : recipe_table_build(table, rows);
}

/* Does recipe_section_compile(). `bytes` is NULL, or has the memory of each section, to be
 * freed. */
static int compile(const struct recipe_others *others, const struct cfi_section *sections,
		   uint8_t **bytes, size_t section_count, const struct recipe_load *loads,
		   size_t load_count, struct recipe_table **ret_table)
{
	struct recipe_table *table = calloc(1, sizeof(*table));
	struct recipe_rows rows = {0};
	struct compiler *c = NULL;
	int err = table ? recipe_rules_new(&table->rules) : -ENOMEM;

	if (!err) {
		c = new_compiler(table, loads, load_count);
		if (c)
			c->file = others->file;
		if (c && others->file)
			err = code_window_init(&c->code, others->file);
		if (!err)
			err = c ? compile_all(c, sections, bytes, section_count, &rows) : -ENOMEM;
	}
	if (!err)
		err = finish(c, others, table, &rows);
	recipe_rows_free(&rows);
	if (c) {
		recipe_rows_free(&c->thrown);
		recipe_rows_free(&c->detours);
		code_window_fini(&c->code);
	}
	free(c);
	if (err)
		recipe_table_free(table);
	else
		*ret_table = table;
	return err;
}

int recipe_section_compile(const struct cfi_section *sections, size_t section_count,
			   const struct recipe_load *loads, size_t load_count,
			   struct recipe_table **ret_table)
{
	static const struct recipe_others none;

	return compile(&none, sections, NULL, section_count, loads, load_count, ret_table);
}

int recipe_section_compile_owned(const struct recipe_others *others, struct cfi_sections *sections,
				 const struct recipe_load *loads, size_t load_count,
				 struct recipe_table **ret_table)
{
	int err = compile(others, sections->items, sections->bytes, sections->count, loads,
			  load_count, ret_table);

	for (int i = 0; !err && i < CFI_REFUSED_COUNT; i++)
		(*ret_table)->stats.refused[recipe_refusal_of_cfi(i)] += sections->refused[i];
	return err;
}
