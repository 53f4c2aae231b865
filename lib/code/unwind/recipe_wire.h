/* SPDX-License-Identifier: MIT */
/*
 * A compiled table as bytes, sent by the process that compiles it to the one that loads it. The
 * reader trusts nothing: files that the writer has read may have subverted it.
 */
#ifndef UNWIND_RECIPE_WIRE_H
#define UNWIND_RECIPE_WIRE_H

#include "base/buf.h"
#include "unwind/recipe.h"

/* Writes a table, and takes its map of provenances from it. */
void recipe_wire_put(struct recipe_table *table, struct buf *bytes);

/* Reads a table, and checks that every number in it is in the table's range, rows are in order, and
 * rules name existing registers. Returns 0, -EBADMSG or -ENOMEM; the caller frees *ret_table,
 * untouched on failure, with recipe_table_free(). */
int recipe_wire_get(struct buf_reader *bytes, struct recipe_table **ret_table);

/* As recipe_wire_get(), but takes all bytes of a buffer: the table owns its memory, and the rows
 * stay there (22 MiB for a large library). The buffer is empty then; on failure it is as it was,
 * except that the bytes of its rows may have changed. */
int recipe_wire_take(struct buf *bytes, struct recipe_table **ret_table);

#endif
