/* SPDX-License-Identifier: MIT */
/*
 * Lists of rows before they are cut into chunks: a row's rule holds from its file offset to the
 * next row's.
 *
 * A large library has a million rows, so they take four bytes each:
 *
 *   word     distance from the row before << 16 | rule
 *   words    FAR << 16 | rule, distance                      if the distance does not fit
 */
#ifndef UNWIND_RECIPE_ROWS_H
#define UNWIND_RECIPE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct recipe_row {
	uint32_t offset;
	uint16_t rule;
};

struct recipe_rows {	 /* zeroed is empty */
	uint32_t *words; /* owned */
	size_t count, cap;
	struct recipe_row last; /* the last row in `words` */
	struct recipe_row held; /* the last row added, which a row at the same offset may still
				 * replace */
	bool has_held;
};

/* Frees the words of a list and empties it. */
void recipe_rows_free(struct recipe_rows *rows);

#define RECIPE_ROWS_FAR 0xffffu /* a word with this distance is followed by the true one */

/* Appends a row without comparing it with the last. Returns 0, or -ENOMEM with the list as it
 * was. */
static inline int recipe_rows_put(struct recipe_rows *rows, uint32_t offset, uint16_t rule)
{
	uint32_t distance = offset - rows->last.offset;

	if (vec_reserve((void **)&rows->words, &rows->cap, rows->count + 2, sizeof(*rows->words)))
		return -ENOMEM;
	if (distance < RECIPE_ROWS_FAR) {
		rows->words[rows->count++] = distance << 16 | rule;
	} else {
		rows->words[rows->count++] = RECIPE_ROWS_FAR << 16 | rule;
		rows->words[rows->count++] = distance;
	}
	rows->last = (struct recipe_row){offset, rule};
	return 0;
}

/* Adds a row; offsets must not fall. A row at the offset of the last replaces it, and one with the
 * rule of the last is left out. Returns 0 or -ENOMEM. */
int recipe_rows_add(struct recipe_rows *rows, uint32_t offset, uint16_t rule);

/* Merges `lower` below `upper`, and replaces `upper` by the result: it has upper's rules, and
 * lower's where upper has NONE. Returns 0, or -ENOMEM with both as they were. */
int recipe_rows_overlay(struct recipe_rows *upper, const struct recipe_rows *lower);

/* Lists where `lower` has a rule and `upper` has none: rows with the rule `mark` there, and NONE
 * elsewhere. Returns 0 or -ENOMEM; the caller frees *ret_shown, untouched on failure, with
 * recipe_rows_free(). */
int recipe_rows_shown(const struct recipe_rows *upper, const struct recipe_rows *lower,
		      uint16_t mark, struct recipe_rows *ret_shown);

/* Lists the rows of `rows` where `rules` has a rule; where it has NONE, the row before goes on.
 * Returns as recipe_rows_shown(). */
int recipe_rows_joined(const struct recipe_rows *rows, const struct recipe_rows *rules,
		       struct recipe_rows *ret_joined);

/* Returns whether a list has no rows. */
bool recipe_rows_is_empty(const struct recipe_rows *rows);

/* Returns the last row of a list that is not empty. */
struct recipe_row recipe_rows_last(const struct recipe_rows *rows);

/* Reads rows in order; the list, which is borrowed, must not change meanwhile. */
struct recipe_rows_reader {
	const uint32_t *at, *end;
	uint32_t offset;
	const struct recipe_row *held; /* NULL: none, or already read */
};

/* Begins with the first row of a list. */
struct recipe_rows_reader recipe_rows_read(const struct recipe_rows *rows);

/* Begins with a part of a list: with the first row that recipe_rows_put() has written to the
 * `count` words from word `first` on. `offset` was the last row's offset before that. */
struct recipe_rows_reader recipe_rows_read_part(const struct recipe_rows *rows, size_t first,
						size_t count, uint32_t offset);

/* Gives the next row; false: there are no more. */
static inline bool recipe_rows_next(struct recipe_rows_reader *reader, struct recipe_row *ret_row)
{
	const struct recipe_row *held = reader->held;
	uint32_t word, distance;

	if (reader->at != reader->end) {
		word = *reader->at++;
		distance = word >> 16;
		if (distance == RECIPE_ROWS_FAR)
			distance = *reader->at++;
		reader->offset += distance;
		*ret_row = (struct recipe_row){reader->offset, (uint16_t)word};
		return true;
	}
	reader->held = NULL;
	if (held)
		*ret_row = *held;
	return held;
}

#endif
