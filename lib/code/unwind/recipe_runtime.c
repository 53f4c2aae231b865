/* SPDX-License-Identifier: MIT */
/* Merges a runtime's rules into a file's recipes; see recipe_runtime.h. */
#include "unwind/recipe_runtime.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/runtime.h"
#include "unwind/recipe_layer.h"

struct layers {
	struct recipe_table *table;
	struct recipe_rows special; /* above call frame information; NONE elsewhere */
	struct recipe_rows usual;   /* below call frame information */
};

static int number_of(struct recipe_table *table, const struct stackd_rule *rule)
{
	int number = recipe_rules_add(table->rules, rule);

	if (number != -ENOSPC)
		return number;
	table->stats.refused[RECIPE_REFUSED_RULE_LIMIT]++;
	return STACKD_RULE_DAEMON;
}

/* Appends a row to its layer, and NONE to the other layer. */
static int take_row(void *arg, const struct runtime_rule *row)
{
	struct layers *l = arg;
	int number = number_of(l->table, &row->rule), err;
	uint32_t offset = (uint32_t)row->offset;

	if (number < 0)
		return number;
	if (row->offset >= RECIPE_MAX_OFFSET || l->usual.count >= RECIPE_MAX_ROWS ||
	    l->special.count >= RECIPE_MAX_ROWS)
		return -ENOSPC;
	l->table->stats.runtime_rows++;
	err = recipe_rows_add(&l->usual, offset,
			      row->is_special ? STACKD_RULE_NONE : (uint16_t)number);
	if (err)
		return err;
	return recipe_rows_add(&l->special, offset,
			       row->is_special ? (uint16_t)number : STACKD_RULE_NONE);
}

static void refuse(struct recipe_table *table, enum recipe_refusal why)
{
	table->stats.refused[why]++;
}

/* Merges special rows above those of call frame information, and usual rows below. */
static int lay(struct layers *l, struct recipe_rows *rows)
{
	int err;

	if (recipe_rows_is_empty(&l->usual))
		return 0;
	err = recipe_layer_below(l->table, rows, &l->usual, PROVENANCE_RUNTIME_TABLE);
	return err ? err
		   : recipe_layer_above(l->table, rows, &l->special, PROVENANCE_RUNTIME_TABLE);
}

int recipe_runtime_lay(const struct elf_file *file, struct recipe_table *table,
		       struct recipe_rows *rows)
{
	struct layers layers = {.table = table};
	struct runtime_tables tables;
	int err = runtime_tables_read(file, &tables);

	if (err == -EINVAL)
		refuse(table, RECIPE_REFUSED_RUNTIME_TABLE);
	if (err)
		return err == -ENOENT || err == -EINVAL ? 0 : err;
	err = tables.files->each_rule(tables.tables, file, take_row, &layers);
	runtime_tables_free(&tables);
	if (err == -ENOSPC) {
		refuse(table, RECIPE_REFUSED_ROW_LIMIT);
		err = 0;
	} else if (!err) {
		err = lay(&layers, rows);
	}
	recipe_rows_free(&layers.special);
	recipe_rows_free(&layers.usual);
	return err;
}

/* --- interpreters ----------------------------------------------------------------------------- */

/* Returns the number of a rule within evals[i], or -ENOMEM. */
static int number_in_eval(struct recipe_table *table, const struct runtime_interpreter *is,
			  size_t i, uint16_t number)
{
	size_t count;
	struct stackd_rule rule = recipe_rules_array(table->rules, &count)[number];
	int marked;

	if (rule.cfa != STACKD_CFA_REG)
		return number;
	rule.cfa = is->is_copied			       ? STACKD_CFA_COPIED
		   : is->facts.form >= STACKD_INTERPRETER_RUBY ? STACKD_CFA_EVAL_REGS
							       : STACKD_CFA_EVAL;
	for (size_t r = 0; r < STACKD_SAVED_COUNT; r++) {
		if (!rule.saved[r] && !(rule.saved_via_reg >> r & 1))
			rule.saved[r] = is->evals[i].saved[r];
	}
	marked = recipe_rules_add(table->rules, &rule);
	return marked == -ENOSPC ? number : marked;
}

/* Adds a row that holds up to `end`, cut where functions that run bytecode begin and end. */
static int add_cut(struct recipe_table *table, const struct runtime_interpreter *is,
		   struct recipe_row row, uint64_t end, struct recipe_rows *to)
{
	uint64_t at = row.offset;
	int err = 0;

	while (at < end && !err) {
		uint64_t next = end;
		int number = row.rule;

		for (size_t i = 0; i < is->n_evals; i++) {
			bool is_in = at >= is->evals[i].start && at < is->evals[i].end;
			uint64_t edge =
				at < is->evals[i].start ? is->evals[i].start : is->evals[i].end;

			if (is_in)
				number = number_in_eval(table, is, i, row.rule);
			if (edge > at && edge < next)
				next = edge;
		}
		err = number < 0 ? number : recipe_rows_add(to, (uint32_t)at, (uint16_t)number);
		at = next;
	}
	return err;
}

int recipe_runtime_mark(const struct elf_file *file, struct recipe_table *table,
			struct recipe_rows *rows)
{
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	struct recipe_rows marked = {0};
	struct runtime_interpreter is = {0};
	struct recipe_row row, next;
	bool has_row = recipe_rows_next(&reader, &row);
	int err = 0;

	if (!has_row || !runtime_find_interpreter(file, &is))
		return 0;
	table->interpreter = is.facts;
	if (is.layout.len) {
		free(table->layout);
		table->layout = malloc(sizeof(*table->layout));
		if (!table->layout)
			return -ENOMEM;
		*table->layout = is.layout;
	}
	while (has_row && is.n_evals && !err) {
		bool has_next = recipe_rows_next(&reader, &next);

		err = add_cut(table, &is, row, has_next ? next.offset : RECIPE_MAX_OFFSET, &marked);
		row = next;
		has_row = has_next;
	}
	if (err || !is.n_evals) {
		recipe_rows_free(&marked);
		return err;
	}
	recipe_rows_free(rows);
	*rows = marked;
	return 0;
}
