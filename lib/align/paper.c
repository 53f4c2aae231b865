/* SPDX-License-Identifier: MIT */
/*
 * The paper's alignment in linear time; see paper.h.
 *
 * Heights are told from the pivot: a frame `d` below it is at depth d. `below` holds, for each
 * sample, the frame under its first one. While samples are aligned, `last` is the path of the
 * sample before, by depth; all paths reach down to the same depth, and those samples whose own
 * first frame is there are `open`: a sample that reaches deeper puts its frames under them.
 */
#include "align/paper.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "align/triples.h"

struct paper {
	const uint32_t *symbols, *first;
	uint32_t n;
	uint32_t pivot;
	uint32_t *owner;  /* by frame */
	uint32_t *below;  /* by sample: a frame, or PAPER_NONE */
	int64_t *depth;	  /* by sample: of its first frame below the pivot */
	bool *is_aligned; /* by sample */
	uint32_t *last;	  /* by depth */
	int64_t deepest;  /* that any path reaches */
	VEC(uint32_t) open;
	struct triples routines; /* (symbol, 0, 0) */
	uint32_t *newest;	 /* by routine: its frame in the sample that was aligned last */
};

void paper_free(struct paper *p)
{
	if (!p)
		return;
	free(p->owner);
	free(p->below);
	free(p->depth);
	free(p->is_aligned);
	free(p->last);
	free(p->open.items);
	free(p->newest);
	triples_fini(&p->routines);
	free(p);
}

/* --- the pivot ------------------------------------------------------------------------------ */

static int paper_find_pivot(struct paper *p)
{
	VEC(uint32_t) samples = {0}; /* by routine: how many contain it */
	VEC(uint32_t) seen = {0};    /* by routine: the last one that did, + 1 */
	uint32_t best = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->first[p->n]; i++) {
		uint32_t routine;

		r = triples_intern(&p->routines, p->symbols[i], 0, 0, &routine);
		if (r == 0 && routine == samples.count) {
			if (VEC_RESERVE(&samples, 1) < 0 || VEC_RESERVE(&seen, 1) < 0) {
				r = -ENOMEM;
				break;
			}
			samples.items[samples.count++] = 0;
			seen.items[seen.count++] = 0;
		}
		if (r < 0 || seen.items[routine] == p->owner[i] + 1)
			continue;
		seen.items[routine] = p->owner[i] + 1;
		samples.items[routine]++;
	}
	for (uint32_t i = 1; r == 0 && i < samples.count; i++)
		if (samples.items[i] > samples.items[best])
			best = i;
	p->pivot = samples.count ? p->routines.items.items[best].a : PAPER_NONE;
	free(samples.items);
	free(seen.items);
	return r;
}

/* --- aligning ------------------------------------------------------------------------------- */

/* The frame under another on its sample's path. */
static uint32_t paper_under(const struct paper *p, uint32_t frame)
{
	uint32_t sample = p->owner[frame];

	return frame > p->first[sample] ? frame - 1 : p->below[sample];
}

/* A sample whose first frame is as deep as any: it waits for one that reaches deeper. Deeper than
 * all, it goes under those that wait. */
static int paper_reach(struct paper *p, uint32_t sample)
{
	int64_t depth = p->depth[sample];

	if (depth > p->deepest) {
		for (size_t i = 0; i < p->open.count; i++)
			p->below[p->open.items[i]] =
				p->first[sample] + (uint32_t)(depth - p->deepest - 1);
		p->open.count = 0;
		p->deepest = depth;
	}
	if (VEC_RESERVE(&p->open, 1) < 0)
		return -ENOMEM;
	p->open.items[p->open.count++] = sample;
	return 0;
}

static uint32_t paper_find(const struct paper *p, uint32_t sample, uint32_t symbol)
{
	for (uint32_t i = p->first[sample]; i < p->first[sample + 1]; i++)
		if (p->symbols[i] == symbol)
			return i;
	return PAPER_NONE;
}

/* The first step: the samples that contain the pivot. */
static int paper_align_pivots(struct paper *p)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->n; i++) {
		uint32_t pivot = paper_find(p, i, p->pivot), first = p->first[i];

		if (pivot == PAPER_NONE)
			continue;
		p->is_aligned[i] = true;
		p->depth[i] = pivot - first;
		if (p->depth[i] >= p->deepest)
			r = paper_reach(p, i);
		else
			p->below[i] = p->last[p->depth[i] + 1];
		for (uint32_t f = first; f < pivot; f++)
			p->last[pivot - f] = f;
	}
	return r;
}

static void paper_show(struct paper *p, uint32_t sample)
{
	for (uint32_t i = p->first[sample]; i < p->first[sample + 1]; i++)
		p->newest[triples_find(&p->routines, p->symbols[i], 0, 0)] = i;
}

/* Aligns a sample without the pivot, if it shares a routine with an aligned one. */
static int paper_align_other(struct paper *p, uint32_t sample)
{
	uint32_t frame = PAPER_NONE, at = p->first[sample + 1];

	while (frame == PAPER_NONE && at > p->first[sample])
		frame = p->newest[triples_find(&p->routines, p->symbols[--at], 0, 0)];
	if (frame == PAPER_NONE)
		return 0;
	p->is_aligned[sample] = true;
	p->depth[sample] = p->depth[p->owner[frame]] - (frame - p->first[p->owner[frame]]) +
			   (at - p->first[sample]);
	paper_show(p, sample);
	if (p->depth[sample] >= p->deepest)
		return paper_reach(p, sample);
	for (uint32_t i = p->first[sample]; i <= at; i++)
		frame = paper_under(p, frame);
	p->below[sample] = frame;
	return 0;
}

static int paper_align_others(struct paper *p)
{
	int r = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->is_aligned[i])
			paper_show(p, i);
	for (uint32_t i = 0; r == 0 && i < p->n; i++)
		if (!p->is_aligned[i])
			r = paper_align_other(p, i);
	return r;
}

static int paper_prepare(struct paper *p)
{
	size_t frames = p->first[p->n], longest = 0;

	p->owner = calloc(frames + 1, sizeof(*p->owner));
	p->below = calloc((size_t)p->n + 1, sizeof(*p->below));
	p->depth = calloc((size_t)p->n + 1, sizeof(*p->depth));
	p->is_aligned = calloc((size_t)p->n + 1, sizeof(*p->is_aligned));
	if (!p->owner || !p->below || !p->depth || !p->is_aligned)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n; i++) {
		size_t n = p->first[i + 1] - p->first[i];

		if (p->first[i + 1] <= p->first[i])
			return -EINVAL;
		for (uint32_t f = p->first[i]; f < p->first[i + 1]; f++)
			p->owner[f] = i;
		longest = n > longest ? n : longest;
		p->below[i] = PAPER_NONE;
	}
	p->last = calloc(longest + 1, sizeof(*p->last));
	return p->last ? 0 : -ENOMEM;
}

int paper_align(const uint32_t *symbols, const uint32_t *first, uint32_t n_samples,
		struct paper **ret_paper)
{
	struct paper *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	*p = (struct paper){.symbols = symbols, .first = first, .n = n_samples, .deepest = -1};
	r = paper_prepare(p);
	if (r == 0)
		r = paper_find_pivot(p);
	if (r == 0) {
		p->newest = reallocarray(NULL, p->routines.items.count + 1, sizeof(*p->newest));
		r = p->newest ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < p->routines.items.count; i++)
		p->newest[i] = PAPER_NONE;
	if (r == 0)
		r = paper_align_pivots(p);
	if (r == 0)
		r = paper_align_others(p);
	if (r < 0) {
		paper_free(p);
		return r;
	}
	*ret_paper = p;
	return 0;
}

uint32_t paper_pivot(const struct paper *p)
{
	return p->pivot;
}

size_t paper_path(const struct paper *p, uint32_t sample, uint32_t *ret_symbols, size_t max)
{
	uint32_t leaf = p->first[sample + 1] - 1;
	size_t n = 0;

	if (!p->is_aligned[sample])
		return 0;
	for (uint32_t f = leaf; f != PAPER_NONE; f = paper_under(p, f))
		n++;
	for (uint32_t f = leaf, at = (uint32_t)n; f != PAPER_NONE; f = paper_under(p, f))
		if (--at < max)
			ret_symbols[at] = p->symbols[f];
	return n;
}
