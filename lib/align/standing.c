/* SPDX-License-Identifier: MIT */
/*
 * What stood; see standing.h. Each pair of whole samples that follow each other is compared once,
 * if there are open ones between: linear in the frames of whole samples.
 *
 * A routine that nearly always calls one and the same other has that above it: the topmost frame
 * is followed along such calls. A routine that calls itself does so on the way to what it calls.
 */
#include "align/standing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/vec.h"

struct standing_path {
	struct align_frame *items;
	size_t count, cap;
};

struct standing_thread {
	struct standing_path last; /* of the whole sample before */
	VEC(uint32_t) open;	   /* samples since then */
	bool has_last;
};

struct standing_span {
	uint32_t first, count;
	uint32_t surely; /* frames above that are there by what the topmost one calls */
};

#define STANDING_STEPS	8u  /* along calls, at most */
#define STANDING_OFTEN	16u /* samples that make a habit */
#define STANDING_ALWAYS 97u /* percent of the calls that go to one routine */

/* What a routine calls. */
struct standing_habit {
	uint32_t total; /* calls seen */
	uint32_t most;	/* the one seen most often: its number in `calls` */
};

struct standing_call {
	uint32_t callee, count;
};

struct standing {
	const struct align *align;
	VEC(struct align_frame) frames;
	struct standing_span *spans; /* by sample */
	struct int_map callers;
	struct int_map edges;
	VEC(struct standing_habit) habits; /* by caller's number */
	VEC(struct standing_call) calls;   /* by edge's number */
	struct int_map stacks;
	VEC(struct standing_thread) threads; /* by number of stack */
	struct standing_path path;
};

void standing_free(struct standing *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->threads.count; i++) {
		free(s->threads.items[i].last.items);
		free(s->threads.items[i].open.items);
	}
	free(s->threads.items);
	free(s->frames.items);
	free(s->spans);
	free(s->path.items);
	free(s->habits.items);
	free(s->calls.items);
	int_map_fini(&s->callers);
	int_map_fini(&s->edges);
	int_map_fini(&s->stacks);
	free(s);
}

/* A whole sample's path, root first. */
static int standing_read(struct standing *s, const struct align_sample *sample)
{
	size_t n = (size_t)sample->n_lent + sample->n_frames;
	uint32_t link = sample->below;

	s->path.count = 0;
	if (VEC_RESERVE(&s->path, n) < 0)
		return -ENOMEM;
	s->path.count = n;
	for (uint32_t i = sample->n_lent; i-- > 0;) {
		s->path.items[i] = align_link(s->align, link)->frame;
		link = align_link(s->align, link)->below;
	}
	for (uint32_t i = 0; i < sample->n_frames; i++)
		s->path.items[sample->n_lent + i] = *align_frame(s->align, sample->first + i);
	return 0;
}

/* Counts a call, unless a routine calls itself. */
static int standing_call(struct standing *s, uint32_t caller, uint32_t callee)
{
	struct standing_habit *habit;
	uint32_t number, edge;

	if (caller == callee)
		return 0;
	if (VEC_RESERVE(&s->habits, 1) < 0 || VEC_RESERVE(&s->calls, 1) < 0 ||
	    int_map_enter(&s->callers, caller, (uint32_t)s->habits.count, &number) < 0 ||
	    int_map_enter(&s->edges, (uint64_t)number << 32 | callee, (uint32_t)s->calls.count,
			  &edge) < 0)
		return -ENOMEM;
	if (number == s->habits.count)
		s->habits.items[s->habits.count++] = (struct standing_habit){.most = edge};
	if (edge == s->calls.count)
		s->calls.items[s->calls.count++] = (struct standing_call){.callee = callee};
	habit = &s->habits.items[number];
	habit->total++;
	if (++s->calls.items[edge].count > s->calls.items[habit->most].count)
		habit->most = edge;
	return 0;
}

/* Learns from the frames that were seen together. */
static int standing_learn(struct standing *s, const struct align_sample *sample)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < sample->n_frames; i++)
		r = standing_call(s, align_frame(s->align, sample->first + i - 1)->symbol,
				  align_frame(s->align, sample->first + i)->symbol);
	return r;
}

/* The routine that one all but always calls; ALIGN_NONE: there is none. */
static uint32_t standing_habit(const struct standing *s, uint32_t symbol)
{
	uint32_t number = int_map_find(&s->callers, symbol);
	const struct standing_habit *habit;
	const struct standing_call *most;

	if (number == INT_MAP_NONE)
		return ALIGN_NONE;
	habit = &s->habits.items[number];
	most = &s->calls.items[habit->most];
	if (habit->total < STANDING_OFTEN ||
	    most->count < (uint64_t)habit->total * STANDING_ALWAYS / 100)
		return ALIGN_NONE;
	return most->callee;
}

/* Adds the frames above a span that are there by habit. */
static int standing_follow(struct standing *s, struct standing_span *span)
{
	while (span->count && span->surely < STANDING_STEPS) {
		const struct align_frame *top = &s->frames.items[s->frames.count - 1];
		uint32_t symbol = standing_habit(s, top->symbol);

		if (symbol == ALIGN_NONE)
			break;
		if (VEC_RESERVE(&s->frames, 1) < 0)
			return -ENOMEM;
		s->frames.items[s->frames.count++] = (struct align_frame){.symbol = symbol};
		span->surely++;
	}
	return 0;
}

/* How many frames two paths share. */
static size_t standing_shared(const struct standing_path *a, const struct standing_path *b)
{
	size_t n = a->count < b->count ? a->count : b->count, i = 0;

	for (; i < n && a->items[i].symbol == b->items[i].symbol &&
	       a->items[i].height == b->items[i].height;
	     i++)
		if (a->items[i].id != b->items[i].id)
			return i + 1;
	return i;
}

/* The path that was read is the next whole one of its thread. */
static int standing_close(struct standing *s, struct standing_thread *thread)
{
	struct standing_path swap = thread->last;
	struct standing_span span = {.first = (uint32_t)s->frames.count};

	if (thread->has_last && thread->open.count) {
		span.count = (uint32_t)standing_shared(&thread->last, &s->path);
		if (VEC_RESERVE(&s->frames, span.count) < 0)
			return -ENOMEM;
		memcpy(s->frames.items + span.first, s->path.items,
		       span.count * sizeof(*s->path.items));
		s->frames.count += span.count;
		if (standing_follow(s, &span) < 0)
			return -ENOMEM;
		for (size_t i = 0; i < thread->open.count; i++)
			s->spans[thread->open.items[i]] = span;
	}
	thread->open.count = 0;
	thread->has_last = true;
	thread->last = s->path;
	s->path = swap;
	return 0;
}

static int standing_thread(struct standing *s, uint32_t stack, struct standing_thread **ret_thread)
{
	uint32_t number;
	int r = int_map_enter(&s->stacks, stack, (uint32_t)s->threads.count, &number);

	if (r == 0 && number == s->threads.count) {
		r = VEC_RESERVE(&s->threads, 1);
		if (r == 0)
			s->threads.items[s->threads.count++] = (struct standing_thread){0};
	}
	if (r == 0)
		*ret_thread = &s->threads.items[number];
	return r;
}

static int standing_add(struct standing *s, uint32_t number)
{
	const struct align_sample *sample = align_sample(s->align, number);
	struct standing_thread *thread = NULL;
	int r = standing_thread(s, align_stack(s->align, number), &thread);

	if (r < 0)
		return r;
	if (sample->is_whole) {
		r = standing_read(s, sample);
		return r < 0 ? r : standing_close(s, thread);
	}
	if (VEC_RESERVE(&thread->open, 1) < 0)
		return -ENOMEM;
	thread->open.items[thread->open.count++] = number;
	return 0;
}

int standing_new(const struct align *align, struct standing **ret_standing)
{
	struct standing *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->align = align;
	s->spans = calloc((size_t)align_count(align) + 1, sizeof(*s->spans));
	if (!s->spans)
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < align_count(align); i++)
		r = standing_learn(s, align_sample(align, i));
	for (uint32_t i = 0; r == 0 && i < align_count(align); i++)
		r = standing_add(s, align_ordered(align, i));
	if (r < 0) {
		standing_free(s);
		return r;
	}
	*ret_standing = s;
	return 0;
}

uint32_t standing_of(const struct standing *s, uint32_t number,
		     const struct align_frame **ret_frames)
{
	const struct align_sample *sample = align_sample(s->align, number);
	struct standing_span span = s->spans[number];
	uint32_t height = align_frame(s->align, sample->first)->height, link = sample->below;

	for (uint32_t i = 0; i < sample->n_lent; i++) {
		height = align_link(s->align, link)->frame.height;
		link = align_link(s->align, link)->below;
	}
	*ret_frames = s->frames.items + span.first;
	/* What the sample has itself is not below it. */
	while (height && span.count && (*ret_frames)[span.count - 1].height >= height) {
		span.count--;
		span.surely = 0;
	}
	return span.count + span.surely;
}
