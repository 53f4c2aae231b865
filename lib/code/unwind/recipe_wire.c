/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads tables; see recipe_wire.h.
 *
 *   struct head, struct recipe_stats, struct stackd_interpreter
 *   chunks (and an end entry), rows, rules, start and provenance of each range, then the layout
 */
#include "unwind/recipe_wire.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "runtime/runtime.h"
#include "unwind/provenance_map.h"
#include "unwind/recipe_table.h"

#define FIXED_RULES (STACKD_RULE_DAEMON + 1)
#define MAX_CHUNKS  (1u << 16)

struct head {
	uint32_t first_chunk, n_chunks, n_rows, n_rules, n_ranges;
	uint32_t layout_bytes; /* 0: there is none */
};

/* --- writing --------------------------------------------------------------------------------- */

static void put_provenances(const struct provenance_map *map, struct buf *bytes)
{
	size_t n = provenance_map_count(map);

	for (size_t i = 0; i < n; i++) {
		uint32_t start;
		uint8_t provenance;

		provenance_map_range(map, i, &start, &provenance);
		BUF_PUT(bytes, start);
		BUF_PUT(bytes, provenance);
	}
}

void recipe_wire_put(struct recipe_table *table, struct buf *bytes)
{
	struct provenance_map *map = recipe_table_take_provenance(table);
	size_t n_chunks, n_rows, n_rules;
	struct head head = {.n_ranges = (uint32_t)provenance_map_count(map)};
	const uint32_t *chunks = recipe_table_chunks(table, &head.first_chunk, &n_chunks);
	const struct stackd_row *rows = recipe_table_rows(table, &n_rows);
	const struct stackd_rule *rules = recipe_table_rules(table, &n_rules);

	head.n_chunks = (uint32_t)n_chunks;
	head.n_rows = (uint32_t)n_rows;
	head.n_rules = (uint32_t)n_rules;
	head.layout_bytes = table->layout ? table->layout->len : 0;
	BUF_PUT(bytes, head);
	buf_put(bytes, recipe_table_stats(table), sizeof(struct recipe_stats));
	BUF_PUT(bytes, table->interpreter);
	if (n_chunks)
		buf_put(bytes, chunks, (n_chunks + 1) * sizeof(*chunks));
	buf_put(bytes, rows, n_rows * sizeof(*rows));
	buf_put(bytes, rules, n_rules * sizeof(*rules));
	put_provenances(map, bytes);
	if (head.layout_bytes)
		buf_put(bytes, table->layout->bytes, head.layout_bytes);
	provenance_map_free(map);
}

/* --- reading --------------------------------------------------------------------------------- */

static bool head_is_sane(const struct head *h, size_t left)
{
	return h->n_chunks <= MAX_CHUNKS && h->first_chunk <= MAX_CHUNKS - h->n_chunks &&
	       h->n_rows <= RECIPE_MAX_ROWS && h->n_rules <= RECIPE_MAX_RULES &&
	       h->n_rules >= FIXED_RULES && h->n_ranges <= PROVENANCE_MAP_MAX &&
	       h->layout_bytes <= RUNTIME_LAYOUT_BYTES && !h->n_chunks == !h->n_rows &&
	       left >= (uint64_t)h->n_rows * sizeof(struct stackd_row) +
			       h->n_rules * sizeof(struct stackd_rule);
}

/* Returns whether each chunk has its rows in order of offset, and the first row is at its start. */
static bool rows_are_sane(const struct recipe_table *t, size_t n_rules)
{
	if (t->chunk_count && (t->chunks[0] || t->chunks[t->chunk_count] != t->row_count))
		return false;
	for (size_t c = 0; c < t->chunk_count; c++) {
		uint32_t first = t->chunks[c], end = t->chunks[c + 1];

		if (first >= end || end > t->row_count || t->rows[first].low)
			return false;
		for (uint32_t i = first + 1; i < end; i++)
			if (t->rows[i].low <= t->rows[i - 1].low)
				return false;
	}
	for (size_t i = 0; i < t->row_count; i++)
		if (t->rows[i].rule >= n_rules)
			return false;
	return true;
}

/* Copies the rows, or leaves them in place in the table's bytes, where they are aligned: all fields
 * before them have a multiple of four bytes. */
static int place_rows(struct buf_reader *r, struct recipe_table *t)
{
	size_t size = t->row_count * sizeof(*t->rows);

	if (t->bytes) {
		if (buf_left(r) < size)
			return -EBADMSG;
		t->rows = (void *)(t->bytes + (r->at - t->bytes));
		r->at += size;
		return 0;
	}
	t->rows = calloc(t->row_count + 1, sizeof(*t->rows));
	if (!t->rows)
		return -ENOMEM;
	buf_get(r, t->rows, size);
	return 0;
}

static int get_rows(struct buf_reader *r, const struct head *h, struct recipe_table *t)
{
	int err;

	t->chunk_count = h->n_chunks;
	t->first_chunk = h->first_chunk;
	t->row_count = h->n_rows;
	t->chunks = calloc(t->chunk_count + 1, sizeof(*t->chunks));
	if (!t->chunks)
		return -ENOMEM;
	if (t->chunk_count)
		buf_get(r, t->chunks, (t->chunk_count + 1) * sizeof(*t->chunks));
	err = place_rows(r, t);
	if (err)
		return err;
	return r->failed || !rows_are_sane(t, h->n_rules) ? -EBADMSG : 0;
}

static bool rule_is_sane(const struct stackd_rule *rule)
{
	return rule->cfa <= STACKD_CFA_COPIED && rule->reg < STACKD_REG_COUNT &&
	       rule->saved_via_reg < 1u << STACKD_SAVED_COUNT;
}

/* Adds the rules to the set, and gives the numbers that they have there, which differ if the
 * writer's set had a rule twice. */
static int get_rules(struct buf_reader *r, const struct head *h, struct recipe_table *t,
		     uint16_t *numbers)
{
	struct stackd_rule rule;

	for (uint32_t i = 0; i < h->n_rules; i++) {
		int number;

		if (!BUF_GET(r, rule) || !rule_is_sane(&rule))
			return -EBADMSG;
		number = recipe_rules_add(t->rules, &rule);
		if (number == -ENOMEM)
			return -ENOMEM;
		if (i < FIXED_RULES && number != (int)i)
			return -EBADMSG;
		numbers[i] = number < 0 ? STACKD_RULE_DAEMON : (uint16_t)number;
	}
	for (size_t i = 0; i < t->row_count; i++)
		t->rows[i].rule = numbers[t->rows[i].rule];
	return 0;
}

/* Reads the ranges into a list of rows, and makes the map from it. */
static int get_provenances(struct buf_reader *r, const struct head *h, struct recipe_table *t)
{
	struct recipe_rows rows = {0};
	uint32_t last = 0;
	int err = 0;

	for (uint32_t i = 0; i < h->n_ranges && !err; i++) {
		uint32_t start;
		uint8_t provenance;

		BUF_GET(r, start);
		BUF_GET(r, provenance);
		if (r->failed || (i && start <= last) || provenance >= PROVENANCE_COUNT)
			err = -EBADMSG;
		else
			err = recipe_rows_put(&rows, start,
					      provenance == PROVENANCE_CFI ? PROVENANCE_NONE
									   : provenance);
		last = start;
	}
	if (!err)
		err = provenance_map_new(&rows, &t->map);
	recipe_rows_free(&rows);
	return err;
}

/* The runtime itself checks the bytes. */
static int get_layout(struct buf_reader *r, const struct head *h, struct recipe_table *t)
{
	if (!h->layout_bytes)
		return 0;
	t->layout = calloc(1, sizeof(*t->layout));
	if (!t->layout)
		return -ENOMEM;
	t->layout->len = h->layout_bytes;
	return buf_get(r, t->layout->bytes, h->layout_bytes) ? 0 : -EBADMSG;
}

static int get_table(struct buf_reader *r, struct recipe_table *t)
{
	struct head head;
	uint16_t *numbers;
	int err;

	BUF_GET(r, head);
	BUF_GET(r, t->stats);
	BUF_GET(r, t->interpreter);
	if (r->failed || !head_is_sane(&head, buf_left(r)))
		return -EBADMSG;
	err = recipe_rules_new(&t->rules);
	numbers = calloc(head.n_rules, sizeof(*numbers));
	if (!err && !numbers)
		err = -ENOMEM;
	if (!err)
		err = get_rows(r, &head, t);
	if (!err)
		err = get_rules(r, &head, t, numbers);
	if (!err)
		err = get_provenances(r, &head, t);
	if (!err)
		err = get_layout(r, &head, t);
	free(numbers);
	return !err && buf_left(r) ? -EBADMSG : err;
}

int recipe_wire_get(struct buf_reader *bytes, struct recipe_table **ret_table)
{
	struct recipe_table *table = calloc(1, sizeof(*table));
	int err = table ? get_table(bytes, table) : -ENOMEM;

	if (err) {
		recipe_table_free(table);
		return err;
	}
	*ret_table = table;
	return 0;
}

int recipe_wire_take(struct buf *bytes, struct recipe_table **ret_table)
{
	struct recipe_table *table = calloc(1, sizeof(*table));
	struct buf_reader reader = buf_reader(bytes->data, bytes->len);
	int err = -ENOMEM;

	if (table) {
		table->bytes = bytes->data;
		err = get_table(&reader, table);
	}
	if (err && table) {
		table->rows = NULL;
		table->bytes = NULL;
	}
	if (err) {
		recipe_table_free(table);
		return err;
	}
	*bytes = (struct buf){0};
	*ret_table = table;
	return 0;
}
