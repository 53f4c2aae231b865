/* SPDX-License-Identifier: MIT */
/* Merges layers of rules, and notes their provenance; see recipe_layer.h. */
#include "unwind/recipe_layer.h"

/* Gives `provenance` to the offsets at which `layer` has a rule and `upper` has none. */
static int note(struct recipe_table *table, const struct recipe_rows *upper,
		const struct recipe_rows *layer, enum provenance provenance)
{
	struct recipe_rows shown = {0};
	int err = recipe_rows_shown(upper, layer, (uint16_t)provenance, &shown);

	if (!err)
		err = recipe_rows_overlay(&shown, &table->provenance);
	if (err) {
		recipe_rows_free(&shown);
		return err;
	}
	recipe_rows_free(&table->provenance);
	table->provenance = shown;
	return 0;
}

int recipe_layer_below(struct recipe_table *table, struct recipe_rows *rows,
		       const struct recipe_rows *layer, enum provenance provenance)
{
	int err = note(table, rows, layer, provenance);

	return err ? err : recipe_rows_overlay(rows, layer);
}

int recipe_layer_above(struct recipe_table *table, struct recipe_rows *rows,
		       struct recipe_rows *layer, enum provenance provenance)
{
	const struct recipe_rows nothing = {0};
	int err = note(table, &nothing, layer, provenance);

	if (!err)
		err = recipe_rows_overlay(layer, rows);
	if (err)
		return err;
	recipe_rows_free(rows);
	*rows = *layer;
	*layer = nothing;
	return 0;
}
