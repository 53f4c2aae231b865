/* SPDX-License-Identifier: MIT */
/*
 * Writes a table as a Parquet file (https://parquet.apache.org/docs/file-format): flat columns of
 * numbers, times and text, some of which may have no value. There is no reader here.
 *
 *   "PAR1"  row group ... row group  footer  its length  "PAR1"
 *   row group:     one chunk for each column
 *   column chunk:  a page with the dictionary, where that is smaller, then pages of values
 *
 * Rows are kept in memory until their group is full, as indexes into a dictionary for each column,
 * because only then is it known whether the dictionary saves space. Pages are compressed by zstd
 * and have a checksum. Column chunks state their least and largest number, so readers can skip
 * groups.
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

#define PARQUET_GROUP_ROWS (1u << 17)
#define PARQUET_PAGE_ROWS  (1u << 14)
/* limit for the bytes of the distinct texts of a group; a group with more of them ends early */
#define PARQUET_GROUP_BYTES (64u << 20)
#define PARQUET_MAX_TEXT    (1u << 20) /* most bytes of one text; longer texts are refused */

struct parquet;

/* Begins a file; `out` is borrowed. Returns 0, -ENOMEM or -EIO. */
int parquet_new(FILE *out, const struct parquet_options *options, struct parquet **ret_parquet);
/* Frees the writer without finishing the file. NULL is fine. */
void parquet_free(struct parquet *parquet);

/* Adds a key and its value, which are copied, to the file's metadata. Returns 0 or -ENOMEM. */
int parquet_note(struct parquet *parquet, const char *key, const char *value);

/* Set the value of a column in the current row; parquet_null() makes it a null. Each column must be
 * set once before parquet_end_row(), in any order. parquet_end_row() also returns any failure of
 * these functions. */
void parquet_number(struct parquet *parquet, size_t column, uint64_t value);
void parquet_text(struct parquet *parquet, size_t column, const char *value);
void parquet_null(struct parquet *parquet, size_t column);

/* Ends the row, and writes the group if it is full. Returns 0; -ENOMEM; -EIO; -EINVAL: a column was
 * not set, was set twice, or is null without being nullable; -EOVERFLOW: a text was too long. */
int parquet_end_row(struct parquet *parquet);

/* Writes the remaining rows and the footer. Errors are those of parquet_end_row(). */
int parquet_finish(struct parquet *parquet);

#endif
