/* SPDX-License-Identifier: MIT */
/* Writes the footer of a Parquet file, which describes its columns and tells where their values
 * are. */
#ifndef PARQUET_FOOTER_H
#define PARQUET_FOOTER_H

#include "base/buf.h"
#include "parquet/column.h"
#include "parquet/parquet.h"

struct footer_group {
	uint64_t rows;
	struct column_chunk *chunks; /* one for each column */
};

/* The file's key-value metadata. */
struct footer_note {
	char *key, *value;
};

struct footer_notes {
	VEC(struct footer_note) all;
};

/* Appends the footer, without its length. If memory is short, sets b->failed. */
void footer_put(struct buf *b, const struct parquet_options *options,
		const struct footer_group *groups, size_t n_groups,
		const struct footer_notes *notes);

#endif
