/* SPDX-License-Identifier: MIT */
/*
 * Recordings as rows of three tables (rows/rows_schema.h, docs/TABLES.md): samples, the paths that
 * they have, and the locations that these have.
 *
 * Recordings are added one after the other, and a path or location that several have is one row. A
 * row comes after those that it refers to. Samples are added up by everything but their thread and
 * time, and come in order of their tags within a metric.
 */
#ifndef ROWS_ROWS_H
#define ROWS_ROWS_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/profile.h"
#include "rows/rows_schema.h"

/* Takes a row: a value for each column. Returns 0, or -errno, which stops and is passed on. */
struct rows_sink {
	int (*row)(void *arg, enum rows_table table, const struct rows_value *values);
	void *arg;
};

struct rows;

/* Makes an empty set of tables. The sink is copied. 0 or -ENOMEM. */
int rows_new(const struct rows_sink *sink, struct rows **ret_rows);
void rows_free(struct rows *rows); /* NULL is fine */

/* Returns the number of a recording by which its samples are told from those of others: the same
 * for the same recording in every copy of its store, and another for any other of its host. */
uint64_t rows_window(const struct store_recording *recording);

/* Adds a recording: its samples and all other metrics that it has, but for sums of both (wall), or
 * the filter's metric alone. 0, -ENOMEM, -EOVERFLOW (over 2^32 - 2 paths), an error of
 * profile_new(), or of the sink. */
int rows_add(struct rows *rows, struct profile *profile);

/* Enters a path or location that the sink's side has already, under this alternative, so that it
 * becomes no row again. 0, -ENOMEM or -EOVERFLOW. */
int rows_know_path(struct rows *rows, uint64_t tag, uint32_t alt, uint64_t parent,
		   uint32_t parent_alt, uint64_t location, uint32_t location_alt);
int rows_know_location(struct rows *rows, uint64_t id, uint32_t alt, const char *kind,
		       uint64_t file_id, uint64_t offset);

/* Returns whether the path or location of another set's row is in this one, too. */
bool rows_has(const struct rows *rows, enum rows_table table, const struct rows_value *values);

/* Returns how many paths and locations there are, about 50 bytes of memory each. */
size_t rows_known(const struct rows *rows);

/* Returns text as rows have it, escaped as in docs/TAGS.md: in the buffer, which it replaces. NULL
 * for NULL, or without memory (b->failed). */
const char *rows_text(struct buf *b, const char *text);

struct rows_counts {
	uint64_t rows[ROWS_TABLES];
	uint64_t collisions; /* paths and locations with an id that an earlier one had */
};

/* Returns what there was so far. */
struct rows_counts rows_counts(const struct rows *rows);

#endif
