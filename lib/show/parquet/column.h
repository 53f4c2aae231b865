/* SPDX-License-Identifier: MIT */
/* Collects the values of a column of a row group, and writes them as pages. */
#ifndef PARQUET_COLUMN_H
#define PARQUET_COLUMN_H

#include "base/buf.h"
#include "base/int_map.h"
#include "base/strings.h"
#include "base/vec.h"
#include "parquet/parquet.h"

#define COLUMN_NULL UINT32_MAX

struct pages; /* parquet/pages.h */

struct column {
	const struct parquet_column *info;
	/* by row: index of its value in the dictionary; COLUMN_NULL: no value */
	VEC(uint32_t) rows;
	VEC(uint64_t) numbers; /* the dictionary of a column of numbers */
	struct int_map by_number;
	struct strings *texts; /* the dictionary of a column of texts */
	size_t text_bytes;     /* bytes of all different texts */
	int err;	       /* the first error */
};

/* What the footer says about a column chunk. */
struct column_chunk {
	/* offsets in the file of the dictionary page and of the first data page; dictionary_at is 0
	 * if there is no dictionary */
	uint64_t dictionary_at, data_at;
	/* size of all pages with their headers, before compression and after it */
	uint64_t raw_bytes, bytes;
	uint64_t values; /* number of values, nulls included */
	uint64_t nulls;
	/* `least` and `largest` are valid: the column has numbers, and at least one value */
	bool has_range;
	uint64_t least, largest;
};

/* Return 0 or -ENOMEM. */
int column_new(const struct parquet_column *info, struct column *ret_column);
void column_free(struct column *column);

/* Append a value. A failure is kept in column->err. */
void column_number(struct column *column, uint64_t value);
void column_text(struct column *column, const char *value);
void column_null(struct column *column);

/* Writes the values as the pages of a column chunk, and leaves the column empty. *ret_chunk
 * receives the chunk's place and size. Returns 0, -ENOMEM or -EIO. */
int column_write(struct column *column, struct pages *pages, uint32_t page_rows,
		 struct column_chunk *ret_chunk);

#endif
