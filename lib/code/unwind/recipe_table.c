/* SPDX-License-Identifier: MIT */
/*
 * The table, and how a list of rows is cut into chunks; see recipe_table.h and recipe.h.
 */
#include "unwind/recipe_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

#define CHUNK_BYTES    (1u << STACKD_CHUNK_SHIFT)
#define FUNCTION_ALIGN 16 /* what compilers align functions to */

/* --- cutting into chunks ------------------------------------------------------------------- */

struct cutter {
	struct recipe_table *table;
	uint32_t next_chunk; /* the first chunk that has not begun */
	uint16_t rule;	     /* in force at the end of the rows */
};

/* Returns whether the rule in force is one of instructions: these show none up to the end of their
 * function where they have no rule, so no padding follows them. */
static bool is_of_code(const struct cutter *c)
{
	size_t count;
	const struct stackd_rule *rules = recipe_rules_array(c->table->rules, &count);

	return c->rule < count && STACKD_IS_OF_CODE(&rules[c->rule]);
}

/* Returns whether the row `p`, which `next` follows, is padding between two functions: see
 * recipe.h. */
static bool is_padding(const struct cutter *c, const struct recipe_row *p,
		       const struct recipe_row *next)
{
	return p->rule == STACKD_RULE_NONE && next->offset % FUNCTION_ALIGN == 0 &&
	       next->offset - p->offset < FUNCTION_ALIGN && !is_of_code(c);
}

/* Begins all chunks up to the one of `offset`, each with the rule that holds at its start. */
static void begin_chunks(struct cutter *c, uint32_t offset, uint16_t rule)
{
	struct recipe_table *t = c->table;
	uint32_t last = offset >> STACKD_CHUNK_SHIFT;

	for (; c->next_chunk <= last; c->next_chunk++) {
		bool is_here = c->next_chunk == last && offset % CHUNK_BYTES == 0;

		t->chunks[c->next_chunk - t->first_chunk] = (uint32_t)t->row_count;
		t->rows[t->row_count++] = (struct stackd_row){0, is_here ? rule : c->rule};
	}
}

static void cut_row(struct cutter *c, const struct recipe_row *p)
{
	struct recipe_table *t = c->table;

	begin_chunks(c, p->offset, p->rule);
	if (p->rule != c->rule && p->offset % CHUNK_BYTES)
		t->rows[t->row_count++] = (struct stackd_row){(uint16_t)p->offset, p->rule};
	c->rule = p->rule;
}

/* Cuts all rows. They begin with the first code, and end with a NONE behind the last. */
static void cut(struct recipe_table *t, const struct recipe_rows *rows)
{
	struct cutter c = {.table = t, .next_chunk = t->first_chunk, .rule = STACKD_RULE_NONE};
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	struct recipe_row row, next;
	bool is_first = true;

	if (!recipe_rows_next(&reader, &row))
		return;
	while (recipe_rows_next(&reader, &next)) {
		if (is_first || !is_padding(&c, &row, &next))
			cut_row(&c, &row);
		is_first = false;
		row = next;
	}
	/* The row at the end needs no chunk. */
	begin_chunks(&c, row.offset - 1, c.rule);
	if (row.offset % CHUNK_BYTES)
		cut_row(&c, &row);
	t->chunks[t->chunk_count] = (uint32_t)t->row_count;
}

static uint32_t first_offset(const struct recipe_rows *rows)
{
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	struct recipe_row first = {0};

	recipe_rows_next(&reader, &first);
	return first.offset;
}

/* Makes the map of provenances; it is NULL if all rules come from call frame information, as
 * usual. */
static int build_provenances(struct recipe_table *table, const struct recipe_rows *rows)
{
	struct recipe_rows joined = {0};
	int err = recipe_rows_is_empty(&table->provenance)
			  ? 0
			  : recipe_rows_joined(&table->provenance, rows, &joined);

	if (!err)
		err = provenance_map_new(&joined, &table->map);
	recipe_rows_free(&joined);
	recipe_rows_free(&table->provenance);
	return err;
}

int recipe_table_build(struct recipe_table *table, const struct recipe_rows *rows)
{
	struct stackd_row *fitted;

	table->chunk_count = 0;
	if (!recipe_rows_is_empty(rows)) {
		uint32_t end = recipe_rows_last(rows).offset;

		table->first_chunk = first_offset(rows) >> STACKD_CHUNK_SHIFT;
		table->chunk_count = ((end - 1) >> STACKD_CHUNK_SHIFT) - table->first_chunk + 1;
	}
	table->chunks = calloc(table->chunk_count + 1, sizeof(*table->chunks));
	table->rows = calloc(rows->count + table->chunk_count + 2, sizeof(*table->rows));
	if (!table->chunks || !table->rows)
		return -ENOMEM;
	if (table->chunk_count)
		cut(table, rows);
	fitted = vec_resize(table->rows, table->row_count + 1, sizeof(*fitted));
	if (fitted)
		table->rows = fitted;
	return build_provenances(table, rows);
}

/* --- the table ----------------------------------------------------------------------------- */

void recipe_table_free(struct recipe_table *table)
{
	if (!table)
		return;
	free(table->bytes ? (void *)table->bytes : table->rows);
	free(table->chunks);
	recipe_rules_free(table->rules);
	recipe_rows_free(&table->provenance);
	provenance_map_free(table->map);
	free(table->layout);
	free(table);
}

const struct stackd_row *recipe_table_rows(const struct recipe_table *table, size_t *ret_count)
{
	*ret_count = table->row_count;
	return table->rows;
}

const struct stackd_rule *recipe_table_rules(const struct recipe_table *table, size_t *ret_count)
{
	return recipe_rules_array(table->rules, ret_count);
}

const uint32_t *recipe_table_chunks(const struct recipe_table *table, uint32_t *ret_first_chunk,
				    size_t *ret_count)
{
	*ret_first_chunk = table->first_chunk;
	*ret_count = table->chunk_count;
	return table->chunks;
}

const struct stackd_interpreter *recipe_table_interpreter(const struct recipe_table *table)
{
	return table->interpreter.version ? &table->interpreter : NULL;
}

struct runtime_layout *recipe_table_take_layout(struct recipe_table *table)
{
	struct runtime_layout *layout = table->layout;

	table->layout = NULL;
	return layout;
}

const struct recipe_stats *recipe_table_stats(const struct recipe_table *table)
{
	return &table->stats;
}

struct provenance_map *recipe_table_take_provenance(struct recipe_table *table)
{
	struct provenance_map *map = table->map;

	table->map = NULL;
	return map;
}

const struct stackd_rule *recipe_lookup(const struct recipe_table *table, uint64_t offset)
{
	size_t unused;
	const struct stackd_rule *rules = recipe_rules_array(table->rules, &unused);
	uint64_t chunk = (offset >> STACKD_CHUNK_SHIFT) - table->first_chunk;
	uint32_t low = (uint16_t)offset, first, end;

	if (chunk >= table->chunk_count)
		return &rules[STACKD_RULE_NONE];
	first = table->chunks[chunk];
	end = table->chunks[chunk + 1];
	while (end - first > 1) {
		uint32_t middle = first + (end - first) / 2;

		if (table->rows[middle].low <= low)
			first = middle;
		else
			end = middle;
	}
	return &rules[table->rows[first].rule];
}
