/* SPDX-License-Identifier: MIT */
/*
 * A compiled table as bytes, sent by the process that compiles it (a worker without rights) to the
 * process that loads it. The reader trusts nothing, since a hostile file may have subverted the
 * worker.
 */
#ifndef UNWIND_RECIPE_WIRE_H
#define UNWIND_RECIPE_WIRE_H

#include "base/buf.h"
#include "unwind/recipe.h"

/* Appends a table to `bytes`, and its map of provenances, which it takes from the table. */
void recipe_wire_put(struct recipe_table *table, struct buf *bytes);

/* Reads a table, and checks that every number in it is in the table's range, that rows are in
 * order, and that rules name existing registers. Returns 0, -EBADMSG or -ENOMEM; the caller frees
 * *ret_table, which is unchanged on failure, with recipe_table_free(). */
int recipe_wire_get(struct buf_reader *bytes, struct recipe_table **ret_table);

/* Like recipe_wire_get(), but takes all bytes of a buffer: the table owns its memory, and the rows
 * stay in it (22 MiB for a large library). The buffer is then empty. On failure it is unchanged,
 * except that the bytes of its rows may have changed. */
int recipe_wire_take(struct buf *bytes, struct recipe_table **ret_table);

#endif
