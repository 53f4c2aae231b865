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
	struct recipe_row held; /* the row that was added last; a row at the same offset may
				 * still replace it */
	bool has_held;
};

/* Frees the words of a list and empties it. */
void recipe_rows_free(struct recipe_rows *rows);

/* a word with this distance is followed by a word with the true distance */
#define RECIPE_ROWS_FAR 0xffffu

/* Appends a row without comparing it with the row before. Returns 0, or -ENOMEM with the list
 * unchanged. */
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

/* Adds a row; offsets must not fall. If the last row has the same offset, the new row replaces it;
 * if it has the same rule, the new row is left out. Returns 0 or -ENOMEM. */
int recipe_rows_add(struct recipe_rows *rows, uint32_t offset, uint16_t rule);

/* Merges `lower` below `upper`, and replaces `upper` by the result: it has upper's rules, and
 * lower's where upper has NONE. Returns 0, or -ENOMEM with both lists unchanged. */
int recipe_rows_overlay(struct recipe_rows *upper, const struct recipe_rows *lower);

/* Makes a list that shows where `lower` has a rule and `upper` has none: rows with the rule `mark`
 * there, and NONE elsewhere. Returns 0 or -ENOMEM; the caller frees *ret_shown, which is unchanged
 * on failure, with recipe_rows_free(). */
int recipe_rows_shown(const struct recipe_rows *upper, const struct recipe_rows *lower,
		      uint16_t mark, struct recipe_rows *ret_shown);

/* Makes a list that has the rows of `rows` where `rules` has a rule; where `rules` has NONE, the
 * row before continues. Returns as recipe_rows_shown(). */
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
	const struct recipe_row *held; /* the list's `held` row; NULL: there is none, or it was
					* read */
};

/* Begins with the first row of a list. */
struct recipe_rows_reader recipe_rows_read(const struct recipe_rows *rows);

/* Begins with the first row that recipe_rows_put() has written to the `count` words from word
 * `first` on, and reads only these. `offset` is that of the row before them. */
struct recipe_rows_reader recipe_rows_read_part(const struct recipe_rows *rows, size_t first,
						size_t count, uint32_t offset);

/* Gives the next row. Returns false if there are no more. */
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
