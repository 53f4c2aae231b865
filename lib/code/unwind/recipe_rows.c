/* SPDX-License-Identifier: MIT */
/* Rows packed into words; see recipe_rows.h. */
#include "unwind/recipe_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "stackd_abi.h"

void recipe_rows_free(struct recipe_rows *rows)
{
	free(rows->words);
	*rows = (struct recipe_rows){0};
}

int recipe_rows_add(struct recipe_rows *rows, uint32_t offset, uint16_t rule)
{
	if (rows->has_held && rows->held.offset == offset)
		rows->has_held = false;
	if (!recipe_rows_is_empty(rows) && recipe_rows_last(rows).rule == rule)
		return 0;
	if (rows->has_held && recipe_rows_put(rows, rows->held.offset, rows->held.rule))
		return -ENOMEM;
	rows->held = (struct recipe_row){offset, rule};
	rows->has_held = true;
	return 0;
}

bool recipe_rows_is_empty(const struct recipe_rows *rows)
{
	return !rows->count && !rows->has_held;
}

struct recipe_row recipe_rows_last(const struct recipe_rows *rows)
{
	return rows->has_held ? rows->held : rows->last;
}

/* --- reading ------------------------------------------------------------------------------- */

struct recipe_rows_reader recipe_rows_read(const struct recipe_rows *rows)
{
	struct recipe_rows_reader reader = recipe_rows_read_part(rows, 0, rows->count, 0);

	reader.held = rows->has_held ? &rows->held : NULL;
	return reader;
}

struct recipe_rows_reader recipe_rows_read_part(const struct recipe_rows *rows, size_t first,
						size_t count, uint32_t offset)
{
	const uint32_t *at = count ? rows->words + first : NULL;

	return (struct recipe_rows_reader){
		.at = at, .end = count ? at + count : NULL, .offset = offset};
}

/* --- merging ------------------------------------------------------------------------------- */

struct layer {
	struct recipe_rows_reader reader;
	struct recipe_row next;
	bool has_next;
	uint16_t rule; /* at the present offset */
};

static struct layer layer_of(const struct recipe_rows *rows)
{
	struct layer layer = {.reader = recipe_rows_read(rows), .rule = STACKD_RULE_NONE};

	layer.has_next = recipe_rows_next(&layer.reader, &layer.next);
	return layer;
}

static void step(struct layer *layer)
{
	layer->rule = layer->next.rule;
	layer->has_next = recipe_rows_next(&layer->reader, &layer->next);
}

/* Steps to the next offset at which either list has a row, and returns it. */
static uint32_t step_both(struct layer *up, struct layer *low)
{
	uint32_t offset = up->has_next && (!low->has_next || up->next.offset <= low->next.offset)
				  ? up->next.offset
				  : low->next.offset;

	if (up->has_next && up->next.offset == offset)
		step(up);
	if (low->has_next && low->next.offset == offset)
		step(low);
	return offset;
}

int recipe_rows_overlay(struct recipe_rows *upper, const struct recipe_rows *lower)
{
	struct recipe_rows both = {0};
	struct layer up = layer_of(upper), low = layer_of(lower);

	while (up.has_next || low.has_next) {
		uint32_t offset = step_both(&up, &low);

		if (recipe_rows_add(&both, offset,
				    up.rule == STACKD_RULE_NONE ? low.rule : up.rule)) {
			recipe_rows_free(&both);
			return -ENOMEM;
		}
	}
	recipe_rows_free(upper);
	*upper = both;
	return 0;
}

int recipe_rows_shown(const struct recipe_rows *upper, const struct recipe_rows *lower,
		      uint16_t mark, struct recipe_rows *ret_shown)
{
	struct recipe_rows shown = {0};
	struct layer up = layer_of(upper), low = layer_of(lower);

	while (up.has_next || low.has_next) {
		uint32_t offset = step_both(&up, &low);
		bool is_shown = up.rule == STACKD_RULE_NONE && low.rule != STACKD_RULE_NONE;

		if (recipe_rows_add(&shown, offset, is_shown ? mark : STACKD_RULE_NONE)) {
			recipe_rows_free(&shown);
			return -ENOMEM;
		}
	}
	*ret_shown = shown;
	return 0;
}

int recipe_rows_joined(const struct recipe_rows *rows, const struct recipe_rows *rules,
		       struct recipe_rows *ret_joined)
{
	struct recipe_rows joined = {0};
	struct layer row = layer_of(rows), rule = layer_of(rules);

	while (row.has_next || rule.has_next) {
		uint32_t offset = step_both(&row, &rule);

		if (rule.rule != STACKD_RULE_NONE && recipe_rows_add(&joined, offset, row.rule)) {
			recipe_rows_free(&joined);
			return -ENOMEM;
		}
	}
	*ret_joined = joined;
	return 0;
}
