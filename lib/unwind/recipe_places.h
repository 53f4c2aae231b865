/* SPDX-License-Identifier: MIT */
/*
 * Lists of places, before they are cut into chunks: a rule holds from its offset to the next's.
 *
 * A large library has a million of them, so they take four bytes each:
 *
 *   word     distance from the place before << 16 | rule
 *   words    FAR << 16 | rule, distance                      if the distance does not fit
 */
#ifndef UNWIND_RECIPE_PLACES_H
#define UNWIND_RECIPE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct recipe_place {
	uint32_t offset;
	uint16_t rule;
};

struct recipe_places { /* zeroed is empty */
	uint32_t *words;
	size_t count, cap;
	struct recipe_place last; /* of those in words */
	struct recipe_place held; /* recipe_places_add()'s last, which may still be taken back */
	bool has_held;
};

void recipe_places_free(struct recipe_places *places);

#define RECIPE_PLACES_FAR 0xffffu /* a word with this distance is followed by the true one */

/* Appends a place as it is. 0 or -ENOMEM. */
static inline int recipe_places_put(struct recipe_places *places, uint32_t offset, uint16_t rule)
{
	uint32_t distance = offset - places->last.offset;

	if (vec_reserve((void **)&places->words, &places->cap, places->count + 2,
			sizeof(*places->words)))
		return -ENOMEM;
	if (distance < RECIPE_PLACES_FAR) {
		places->words[places->count++] = distance << 16 | rule;
	} else {
		places->words[places->count++] = RECIPE_PLACES_FAR << 16 | rule;
		places->words[places->count++] = distance;
	}
	places->last = (struct recipe_place){offset, rule};
	return 0;
}

/* Adds a place; offsets must not fall. A place at the offset of the last replaces it, and one
 * with the rule of the last is left out. 0 or -ENOMEM. */
int recipe_places_add(struct recipe_places *places, uint32_t offset, uint16_t rule);

/* Replaces `upper` by what results where it lies over `lower`: its rules, and lower's where it
 * has NONE. 0 or -ENOMEM. */
int recipe_places_overlay(struct recipe_places *upper, const struct recipe_places *lower);

bool recipe_places_is_empty(const struct recipe_places *places);
struct recipe_place recipe_places_last(const struct recipe_places *places); /* of those there are */

/* Reading them in their order; the list must not change meanwhile. */
struct recipe_places_reader {
	const uint32_t *at, *end;
	uint32_t offset;
	const struct recipe_place *held; /* NULL: none, or read */
};

struct recipe_places_reader recipe_places_read(const struct recipe_places *places);
/* Those that recipe_places_put() has put into `count` words from word `first` on, when the offset
 * of the last was `offset`. */
struct recipe_places_reader recipe_places_read_part(const struct recipe_places *places,
						    size_t first, size_t count, uint32_t offset);
static inline bool recipe_places_next(struct recipe_places_reader *reader,
				      struct recipe_place *ret_place)
{
	const struct recipe_place *held = reader->held;
	uint32_t word, distance;

	if (reader->at != reader->end) {
		word = *reader->at++;
		distance = word >> 16;
		if (distance == RECIPE_PLACES_FAR)
			distance = *reader->at++;
		reader->offset += distance;
		*ret_place = (struct recipe_place){reader->offset, (uint16_t)word};
		return true;
	}
	reader->held = NULL;
	if (held)
		*ret_place = *held;
	return held;
}

#endif
