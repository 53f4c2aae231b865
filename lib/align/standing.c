/* SPDX-License-Identifier: MIT */
/* What stood; see standing.h. Each pair of whole samples that follow each other is compared once,
 * if there are open ones between: linear in the frames of whole samples. */
#include "align/standing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/triples.h"

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
};

struct standing {
	const struct align *align;
	VEC(struct align_frame) frames;
	struct standing_span *spans; /* by sample */
	struct triples stacks;
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
	triples_fini(&s->stacks);
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
	int r = triples_intern(&s->stacks, stack, 0, 0, &number);

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
	while (height && span.count && (*ret_frames)[span.count - 1].height >= height)
		span.count--;
	return span.count;
}
