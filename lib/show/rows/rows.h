/* SPDX-License-Identifier: MIT */
/*
 * Turns recordings into rows of four tables (rows/rows_schema.h, docs/TABLES.md): samples, the
 * samples' paths, the paths' locations, and the labels of the samples' threads.
 *
 * Recordings are added one after the other. A path or location that is in several recordings has
 * one row. A row comes after the rows to which it refers. Samples that differ only in thread and
 * time are added up in one row, and the rows of samples of a metric are in the order of their tags.
 */
#ifndef ROWS_ROWS_H
#define ROWS_ROWS_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/profile.h"
#include "rows/rows_schema.h"

/* Receives a row, with a value for each column. Returns 0, or -errno, which ends rows_add() and is
 * returned by it. */
struct rows_sink {
	int (*row)(void *arg, enum rows_table table, const struct rows_value *values);
	void *arg;
	/* A location whose names are better than those that were sent gets new rows; else the first
	 * ones count. */
	bool takes_better_names;
	/* Of each metric of a recording so many paths are kept, and rare ones are left out
	 * (rows/rare.h); 0: all. */
	size_t most_paths;
};

struct rows;

/* Makes an empty set of tables. The sink is copied. Returns 0 or -ENOMEM. */
int rows_new(const struct rows_sink *sink, struct rows **ret_rows);
void rows_free(struct rows *rows); /* NULL is fine */

/* Returns a number for the column "window" that identifies a recording among all of its host; it is
 * the same in every copy of the store. */
uint64_t rows_window(const struct store_recording *recording);

/* Adds a recording: all metrics that it has, except for those that add up others (wall); or if the
 * filter names a metric, only that one. Returns 0; -ENOMEM; -EOVERFLOW: there are over 2^32 - 2
 * paths; an error of profile_new(); or an error of the sink. */
int rows_add(struct rows *rows, struct profile *profile);

/* Add a path or a location that the receiver of the rows (a database) has already, with its
 * alternative there, so that no row is made for it. Return 0, -ENOMEM or -EOVERFLOW. */
int rows_know_path(struct rows *rows, uint64_t tag, uint32_t alt, uint64_t parent,
		   uint32_t parent_alt, uint64_t location, uint32_t location_alt);
int rows_know_location(struct rows *rows, uint64_t id, uint32_t alt, const char *kind,
		       uint64_t file_id, uint64_t offset, enum rows_named named);

/* The same of a set of labels. */
int rows_know_labels(struct rows *rows, uint64_t id);

/* Returns whether this set already has the path, location or labels of a row, which can be a row of
 * another set. */
bool rows_has(const struct rows *rows, enum rows_table table, const struct rows_value *values);

/* Returns the number of paths and locations that are kept in memory; each takes about 50 bytes. */
size_t rows_known(const struct rows *rows);

/* Returns a text, escaped for rows as in docs/TAGS.md. It replaces the content of `b`, which owns
 * it. NULL if `text` is NULL, or if memory is short (b->failed). */
const char *rows_text(struct buf *b, const char *text);

struct rows_counts {
	uint64_t rows[ROWS_TABLES];
	uint64_t collisions; /* paths and locations whose id belongs to an earlier one */
	uint64_t rare;	     /* records whose paths were left out */
};

/* Returns the counts so far. */
struct rows_counts rows_counts(const struct rows *rows);

#endif
