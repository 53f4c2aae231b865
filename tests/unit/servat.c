/* SPDX-License-Identifier: MIT */
/*
 * The published alignment in linear time; see servat.h.
 *
 * Positions are relative to the pivot: a frame that is `d` frames nearer to the root has distance
 * d. `caller` holds, for each segment, the frame that its first frame continues on. While segments
 * are aligned, `last` is the path of the previous segment by distance. All paths reach equally far
 * towards the root; the segments whose own first frame is the farthest are `outermost`, and a
 * segment that reaches farther becomes their continuation.
 */
#include "servat.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "base/vec.h"

/* A function that occurs in segments. */
struct servat_function {
	uint32_t symbol;
	uint32_t n_segments; /* that contain it */
	uint32_t last;	     /* the last of these */
	uint32_t newest;     /* its frame in the segment that was aligned last */
};

struct servat {
	const uint32_t *symbols, *first;
	uint32_t n;
	uint32_t pivot;
	uint32_t *owner;   /* by frame: its segment */
	uint32_t *caller;  /* by segment: a frame, or SERVAT_NONE */
	int64_t *distance; /* by segment: of its first frame from the pivot */
	bool *is_aligned;  /* by segment */
	uint32_t *last;	   /* by distance */
	int64_t farthest;  /* the greatest distance that any path has */
	VEC(uint32_t) outermost;
	struct int_map numbers; /* from symbol to number */
	VEC(struct servat_function) functions;
};

void servat_free(struct servat *s)
{
	if (!s)
		return;
	free(s->owner);
	free(s->caller);
	free(s->distance);
	free(s->is_aligned);
	free(s->last);
	free(s->outermost.items);
	free(s->functions.items);
	int_map_fini(&s->numbers);
	free(s);
}

/* --- the pivot ------------------------------------------------------------------------------ */

/* Counts a function as contained in a segment. */
static int servat_count(struct servat *s, uint32_t symbol, uint32_t segment)
{
	struct servat_function *function;
	uint32_t next = (uint32_t)s->functions.count, number;

	if (VEC_RESERVE(&s->functions, 1) < 0 ||
	    int_map_enter(&s->numbers, symbol, next, &number) < 0)
		return -ENOMEM;
	if (number == next)
		s->functions.items[s->functions.count++] = (struct servat_function){
			.symbol = symbol, .last = SERVAT_NONE, .newest = SERVAT_NONE};
	function = &s->functions.items[number];
	function->n_segments += function->last != segment;
	function->last = segment;
	return 0;
}

static int servat_find_pivot(struct servat *s)
{
	const struct servat_function *best = NULL;
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < s->first[s->n]; i++)
		err = servat_count(s, s->symbols[i], s->owner[i]);
	for (size_t i = 0; i < s->functions.count; i++)
		if (!best || s->functions.items[i].n_segments > best->n_segments)
			best = &s->functions.items[i];
	s->pivot = best ? best->symbol : SERVAT_NONE;
	return err;
}

/* The frame of a symbol in the segment that was aligned last of those that contain it. */
static uint32_t *servat_newest(const struct servat *s, uint32_t symbol)
{
	return &s->functions.items[int_map_find(&s->numbers, symbol)].newest;
}

/* --- aligning ------------------------------------------------------------------------------- */

/* Returns the caller of a frame on the path of its segment. */
static uint32_t servat_caller(const struct servat *s, uint32_t frame)
{
	uint32_t segment = s->owner[frame];

	return frame > s->first[segment] ? frame - 1 : s->caller[segment];
}

/* Enters a segment whose first frame is as far as any. If it is farther, it becomes the
 * continuation of those that were the outermost. */
static int servat_reach(struct servat *s, uint32_t segment)
{
	int64_t distance = s->distance[segment];

	if (distance > s->farthest) {
		for (size_t i = 0; i < s->outermost.count; i++)
			s->caller[s->outermost.items[i]] =
				s->first[segment] + (uint32_t)(distance - s->farthest - 1);
		s->outermost.count = 0;
		s->farthest = distance;
	}
	if (VEC_RESERVE(&s->outermost, 1) < 0)
		return -ENOMEM;
	s->outermost.items[s->outermost.count++] = segment;
	return 0;
}

static uint32_t servat_find(const struct servat *s, uint32_t segment, uint32_t symbol)
{
	for (uint32_t i = s->first[segment]; i < s->first[segment + 1]; i++)
		if (s->symbols[i] == symbol)
			return i;
	return SERVAT_NONE;
}

/* Step one: aligns the segments that contain the pivot. */
static int servat_align_pivots(struct servat *s)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < s->n; i++) {
		uint32_t pivot = servat_find(s, i, s->pivot), first = s->first[i];

		if (pivot == SERVAT_NONE)
			continue;
		s->is_aligned[i] = true;
		s->distance[i] = pivot - first;
		if (s->distance[i] >= s->farthest)
			err = servat_reach(s, i);
		else
			s->caller[i] = s->last[s->distance[i] + 1];
		for (uint32_t f = first; f < pivot; f++)
			s->last[pivot - f] = f;
	}
	return err;
}

static void servat_note_newest(struct servat *s, uint32_t segment)
{
	for (uint32_t i = s->first[segment]; i < s->first[segment + 1]; i++)
		*servat_newest(s, s->symbols[i]) = i;
}

/* Aligns a segment without the pivot, if it shares a function with an aligned one. */
static int servat_align_other(struct servat *s, uint32_t segment)
{
	uint32_t frame = SERVAT_NONE, at = s->first[segment + 1];

	while (frame == SERVAT_NONE && at > s->first[segment])
		frame = *servat_newest(s, s->symbols[--at]);
	if (frame == SERVAT_NONE)
		return 0;
	s->is_aligned[segment] = true;
	s->distance[segment] = s->distance[s->owner[frame]] - (frame - s->first[s->owner[frame]]) +
			       (at - s->first[segment]);
	servat_note_newest(s, segment);
	if (s->distance[segment] >= s->farthest)
		return servat_reach(s, segment);
	for (uint32_t i = s->first[segment]; i <= at; i++)
		frame = servat_caller(s, frame);
	s->caller[segment] = frame;
	return 0;
}

/* Step two: aligns the other segments. */
static int servat_align_others(struct servat *s)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->is_aligned[i])
			servat_note_newest(s, i);
	for (uint32_t i = 0; err == 0 && i < s->n; i++)
		if (!s->is_aligned[i])
			err = servat_align_other(s, i);
	return err;
}

static int servat_prepare(struct servat *s)
{
	size_t frames = s->first[s->n], longest = 0;

	s->owner = calloc(frames + 1, sizeof(*s->owner));
	s->caller = calloc((size_t)s->n + 1, sizeof(*s->caller));
	s->distance = calloc((size_t)s->n + 1, sizeof(*s->distance));
	s->is_aligned = calloc((size_t)s->n + 1, sizeof(*s->is_aligned));
	if (!s->owner || !s->caller || !s->distance || !s->is_aligned)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++) {
		size_t n = s->first[i + 1] - s->first[i];

		if (s->first[i + 1] <= s->first[i])
			return -EINVAL;
		for (uint32_t f = s->first[i]; f < s->first[i + 1]; f++)
			s->owner[f] = i;
		longest = n > longest ? n : longest;
		s->caller[i] = SERVAT_NONE;
	}
	s->last = calloc(longest + 1, sizeof(*s->last));
	return s->last ? 0 : -ENOMEM;
}

int servat_align(const uint32_t *symbols, const uint32_t *first, uint32_t n_segments,
		 struct servat **ret_servat)
{
	struct servat *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	*s = (struct servat){.symbols = symbols, .first = first, .n = n_segments, .farthest = -1};
	err = servat_prepare(s);
	if (err == 0)
		err = servat_find_pivot(s);
	if (err == 0)
		err = servat_align_pivots(s);
	if (err == 0)
		err = servat_align_others(s);
	if (err < 0) {
		servat_free(s);
		return err;
	}
	*ret_servat = s;
	return 0;
}

uint32_t servat_pivot(const struct servat *s)
{
	return s->pivot;
}

size_t servat_path(const struct servat *s, uint32_t segment, uint32_t *ret_symbols, size_t max)
{
	uint32_t leaf = s->first[segment + 1] - 1;
	size_t n = 0;

	if (!s->is_aligned[segment])
		return 0;
	for (uint32_t f = leaf; f != SERVAT_NONE; f = servat_caller(s, f))
		n++;
	for (uint32_t f = leaf, at = (uint32_t)n; f != SERVAT_NONE; f = servat_caller(s, f))
		if (--at < max)
			ret_symbols[at] = s->symbols[f];
	return n;
}
