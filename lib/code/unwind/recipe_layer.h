/* SPDX-License-Identifier: MIT */
/*
 * Merges rules from other sources with the rows of call frame information, and keeps their
 * provenance. All such rules enter a table through these functions.
 *
 *   recipe_section_compile() ─► rows ─► recipe_layer_below(), _above() ─► recipe_table_build()
 *                                                └─► provenance of the table (provenance_map.h)
 */
#ifndef UNWIND_RECIPE_LAYER_H
#define UNWIND_RECIPE_LAYER_H

#include "stack/provenance.h"
#include "unwind/recipe_table.h"

/* Merges `layer` below `rows`: its rules hold where `rows` has NONE. `provenance` is noted for them
 * in table->provenance. Returns 0, or -ENOMEM with `rows` unchanged. */
int recipe_layer_below(struct recipe_table *table, struct recipe_rows *rows,
		       const struct recipe_rows *layer, enum provenance provenance);

/* Merges `layer` above `rows`: its rules hold wherever they are not NONE. `provenance` is noted for
 * them in table->provenance. `layer` is empty afterwards. Returns 0, or -ENOMEM with `rows`
 * unchanged. */
int recipe_layer_above(struct recipe_table *table, struct recipe_rows *rows,
		       struct recipe_rows *layer, enum provenance provenance);

#endif
