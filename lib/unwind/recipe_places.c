/* SPDX-License-Identifier: MIT */
/* Places in words; see recipe_places.h. */
#include "unwind/recipe_places.h"

#include <errno.h>
#include <stdlib.h>

#include "stackd_abi.h"

void recipe_places_free(struct recipe_places *places)
{
	free(places->words);
	*places = (struct recipe_places){0};
}

int recipe_places_add(struct recipe_places *places, uint32_t offset, uint16_t rule)
{
	if (places->has_held && places->held.offset == offset)
		places->has_held = false;
	if (!recipe_places_is_empty(places) && recipe_places_last(places).rule == rule)
		return 0;
	if (places->has_held && recipe_places_put(places, places->held.offset, places->held.rule))
		return -ENOMEM;
	places->held = (struct recipe_place){offset, rule};
	places->has_held = true;
	return 0;
}

bool recipe_places_is_empty(const struct recipe_places *places)
{
	return !places->count && !places->has_held;
}

struct recipe_place recipe_places_last(const struct recipe_places *places)
{
	return places->has_held ? places->held : places->last;
}

/* --- reading ------------------------------------------------------------------------------- */

struct recipe_places_reader recipe_places_read(const struct recipe_places *places)
{
	struct recipe_places_reader reader = recipe_places_read_part(places, 0, places->count, 0);

	reader.held = places->has_held ? &places->held : NULL;
	return reader;
}

struct recipe_places_reader recipe_places_read_part(const struct recipe_places *places,
						    size_t first, size_t count, uint32_t offset)
{
	const uint32_t *at = count ? places->words + first : NULL;

	return (struct recipe_places_reader){
		.at = at, .end = count ? at + count : NULL, .offset = offset};
}

/* --- one over the other -------------------------------------------------------------------- */

struct layer {
	struct recipe_places_reader reader;
	struct recipe_place next;
	bool has_next;
	uint16_t rule; /* in force */
};

static struct layer layer_of(const struct recipe_places *places)
{
	struct layer layer = {.reader = recipe_places_read(places), .rule = STACKD_RULE_NONE};

	layer.has_next = recipe_places_next(&layer.reader, &layer.next);
	return layer;
}

static uint32_t step(struct layer *layer)
{
	uint32_t offset = layer->next.offset;

	layer->rule = layer->next.rule;
	layer->has_next = recipe_places_next(&layer->reader, &layer->next);
	return offset;
}

int recipe_places_overlay(struct recipe_places *upper, const struct recipe_places *lower)
{
	struct recipe_places both = {0};
	struct layer up = layer_of(upper), low = layer_of(lower);

	while (up.has_next || low.has_next) {
		bool lower_first =
			!up.has_next || (low.has_next && low.next.offset < up.next.offset);
		uint32_t offset = step(lower_first ? &low : &up);

		if (recipe_places_add(&both, offset,
				      up.rule == STACKD_RULE_NONE ? low.rule : up.rule)) {
			recipe_places_free(&both);
			return -ENOMEM;
		}
	}
	recipe_places_free(upper);
	*upper = both;
	return 0;
}
