/* SPDX-License-Identifier: MIT */
/*
 * Turns recordings into rows of three tables (rows/rows_schema.h, docs/TABLES.md): samples, the
 * samples' paths, and the paths' locations.
 *
 * Recordings are added one after the other. A path or location that several recordings have is one
 * row. A row comes after the rows that it refers to. Samples that differ only in thread and time
 * are one row, and rows of samples are in the order of their tags within a metric.
 */
#ifndef ROWS_ROWS_H
#define ROWS_ROWS_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/profile.h"
#include "rows/rows_schema.h"

/* Receives a row: a value for each column. Returns 0, or -errno, which ends rows_add() and becomes
 * its result. */
struct rows_sink {
	int (*row)(void *arg, enum rows_table table, const struct rows_value *values);
	void *arg;
};

struct rows;

/* Makes an empty set of tables. The sink is copied. 0 or -ENOMEM. */
int rows_new(const struct rows_sink *sink, struct rows **ret_rows);
void rows_free(struct rows *rows); /* NULL is fine */

/* Returns the number that identifies a recording among those of its host, for the column "window":
 * the same in every copy of the store. */
uint64_t rows_window(const struct store_recording *recording);

/* Adds a recording: all metrics that it has, except those that add up others (wall), or only the
 * filter's metric. Returns 0, -ENOMEM, -EOVERFLOW (over 2^32 - 2 paths), an error of profile_new(),
 * or one of the sink. */
int rows_add(struct rows *rows, struct profile *profile);

/* Enter a path or a location that the receiver (a database) has already, under this alternative, so
 * that no row is made for it. Return 0, -ENOMEM or -EOVERFLOW. */
int rows_know_path(struct rows *rows, uint64_t tag, uint32_t alt, uint64_t parent,
		   uint32_t parent_alt, uint64_t location, uint32_t location_alt);
int rows_know_location(struct rows *rows, uint64_t id, uint32_t alt, const char *kind,
		       uint64_t file_id, uint64_t offset);

/* Returns whether this set has the path or location of a row of another set. */
bool rows_has(const struct rows *rows, enum rows_table table, const struct rows_value *values);

/* Returns the number of paths and locations in memory, which take about 50 bytes each. */
size_t rows_known(const struct rows *rows);

/* Returns a text escaped for rows, as in docs/TAGS.md. The buffer's content is replaced and holds
 * the result. Returns NULL for NULL, or for lack of memory (b->failed). */
const char *rows_text(struct buf *b, const char *text);

struct rows_counts {
	uint64_t rows[ROWS_TABLES];
	uint64_t collisions; /* paths and locations whose id belongs to an earlier one */
};

/* Returns the counts so far. */
struct rows_counts rows_counts(const struct rows *rows);

#endif
