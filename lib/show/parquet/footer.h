/* SPDX-License-Identifier: MIT */
/* The footer of a Parquet file: what its columns are, and where their values. */
#ifndef PARQUET_FOOTER_H
#define PARQUET_FOOTER_H

#include "base/buf.h"
#include "parquet/column.h"
#include "parquet/parquet.h"

struct footer_group {
	uint64_t rows;
	struct column_chunk *chunks; /* one for each column */
};

/* What a file says of itself. */
struct footer_note {
	char *key, *value;
};

struct footer_notes {
	VEC(struct footer_note) all;
};

/* Appends the footer, without its length. b->failed tells of a lack of memory. */
void footer_put(struct buf *b, const struct parquet_options *options,
		const struct footer_group *groups, size_t n_groups,
		const struct footer_notes *notes);

#endif
