/* SPDX-License-Identifier: MIT */
/* The measured weights; see weigh.h. */
#include "align/weigh.h"

/* A caller that changes now and then, as a program goes on to the next part of its work, and not
 * to and fro: what stood between two that agree nearly always agreed with them. */
static bool weigh_is_steady(const struct weigh_signs *s)
{
	return s->between >= WEIGH_STEADY && s->odd * WEIGH_ODDLY <= s->between;
}

/* The sightings agree, and neither is near. */
static uint32_t weigh_far(const struct weigh_signs *s)
{
	bool is_middle = s->gap <= WEIGH_MIDDLE;

	if (s->is_standing)
		return s->standing == 1 ? 9990 : is_middle ? 9700 : 9300;
	if (s->standing)
		return 5000;
	if (s->has_changed && (weigh_is_steady(s) || (!s->odd && s->gap <= WEIGH_FAR)))
		return 9000;
	if (s->has_changed)
		return is_middle ? 8900 : 8800;
	if (s->places <= 1)
		return 9980;
	return is_middle ? 9900 : s->gap <= WEIGH_FAR ? 9700 : 9500;
}

/* Of the few places that a routine is called from, one was seen time and again at this height. */
static bool weigh_is_habit(const struct weigh_signs *s)
{
	return s->places <= WEIGH_FEW &&
	       (s->seen >= WEIGH_OFTEN || (s->seen > 1 && s->gap <= WEIGH_MIDDLE));
}

/* There is one sighting. */
static uint32_t weigh_one(const struct weigh_signs *s)
{
	if (s->is_standing)
		return s->standing == 1 ? 9980 : 9300;
	if (s->standing)
		return 5000;
	if (!s->has_changed && s->places <= 1)
		return s->seen >= WEIGH_OFTEN ? 9995 : 9950;
	return s->gap <= WEIGH_NEXT || (!s->has_changed && weigh_is_habit(s)) ? 9000 : 7000;
}

uint32_t weigh(const struct weigh_signs *s)
{
	if (s->agree && s->gap <= WEIGH_NEAR)
		return s->has_changed ? 9970 : 9998;
	if (s->agree)
		return weigh_far(s);
	if (s->both)
		return s->is_standing && s->standing == 1 ? 9980 : 0;
	return s->seen ? weigh_one(s) : 0;
}
