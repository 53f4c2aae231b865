/* SPDX-License-Identifier: MIT */
/*
 * Writes a table as a Parquet file (https://parquet.apache.org/docs/file-format): flat columns of
 * numbers, times and text, some of which may have no value. There is no reader here.
 *
 *   "PAR1"  row group ... row group  footer  its length  "PAR1"
 *   row group:     one chunk for each column
 *   column chunk:  a page with the dictionary, where that is smaller, then pages of values
 *
 * Rows are kept until their group is full, as numbers into a dictionary that each column has of
 * its own: then it is known whether a dictionary is worth it. Pages are compressed by zstd and have
 * a checksum. Chunks have their least and largest number, so readers can skip groups.
 *
 * No library was taken: the one for C and C++ (Arrow's) is not packaged in Debian 12.
 */
#ifndef PARQUET_PARQUET_H
#define PARQUET_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum parquet_type {
	PARQUET_U64,
	PARQUET_U32,
	PARQUET_TIME, /* ns since 1970, UTC; below 2^63 */
	PARQUET_TEXT, /* UTF-8 */
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
	bool is_nullable;
};

struct parquet_options {
	const struct parquet_column *columns; /* borrowed until parquet_free() */
	size_t n_columns;
	uint32_t group_rows; /* 0: PARQUET_GROUP_ROWS */
	uint32_t page_rows;  /* 0: PARQUET_PAGE_ROWS */
	const char *creator; /* the program and its version; borrowed */
};

#define PARQUET_GROUP_ROWS  (1u << 17)
#define PARQUET_PAGE_ROWS   (1u << 14)
#define PARQUET_GROUP_BYTES (64u << 20) /* of distinct text: a group with more ends early */
#define PARQUET_MAX_TEXT    (1u << 20)	/* bytes of a text; longer ones are refused */

struct parquet;

/* Begins a file; `out` is borrowed. 0, -ENOMEM, -EIO. */
int parquet_new(FILE *out, const struct parquet_options *options, struct parquet **ret_parquet);
void parquet_free(struct parquet *parquet); /* without finishing the file; NULL is fine */

/* Adds a key and its value to what the file says of itself; copied. 0 or -ENOMEM. */
int parquet_note(struct parquet *parquet, const char *key, const char *value);

/* Gives the value of a column in the row at hand. Each column is given one, in any order, before
 * parquet_end_row(). A failure is kept for parquet_end_row() to return. */
void parquet_number(struct parquet *parquet, size_t column, uint64_t value);
void parquet_text(struct parquet *parquet, size_t column, const char *value);
void parquet_null(struct parquet *parquet, size_t column);

/* Ends a row, and writes the group if it is full. 0, -ENOMEM, -EIO, -EINVAL: a column was given no
 * value, or two, or none where it must have one; -EOVERFLOW: a text was too long. */
int parquet_end_row(struct parquet *parquet);

/* Writes the rest and the footer. Errors as above. */
int parquet_finish(struct parquet *parquet);

#endif
