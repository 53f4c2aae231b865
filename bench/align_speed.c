/* SPDX-License-Identifier: MIT */
/*
 * Measures the time that alignment takes, by the number of samples:
 *
 *   align_speed [quick|full]      exit status 1: a target is missed
 *
 * Segments of three frames of generated histories, with the anchors of stackd --depth: of a program
 * with the call tree of NAS BT, and of one that is like a compiler: 300 routines, stacks of 8 to 40
 * frames of which a third changes from one sample to the next. Beside it the paper's algorithm, in
 * our linear form (tests/unit/servat.h) and literally: each gap is inserted into each earlier
 * sample.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "align/align.h"
#include "servat.h"
#include "base/hash.h"
#include "stackd_abi.h"

#define DEPTH	 40u
#define SEGMENT	 3u
#define TARGET_S 1.0

struct history {
	struct align_frame stack[DEPTH];
	uint32_t depth;
	bool is_tree;
	uint64_t seed, sample;
};

static uint32_t draw(struct history *h, uint32_t below)
{
	h->seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash_mix64(h->seed) % below);
}

static void push(struct history *h, uint32_t symbol, uint32_t site)
{
	uint32_t below = h->depth ? h->stack[h->depth - 1].height : 0;

	h->stack[h->depth++] = (struct align_frame){symbol * 8 + site, symbol,
						    h->depth ? below + 32 + 16 * (symbol % 7) : 0};
}

/* main > adi > rhs | add | {x,y,z}_solve [> cell | backsubstitute], for some samples each. */
static void step_tree(struct history *h)
{
	static const uint8_t parts[][3] = {{7, 0, 12},	{1, 10, 1},  {1, 11, 12}, {1, 12, 1},
					   {2, 20, 1},	{2, 21, 12}, {2, 22, 1},  {3, 30, 1},
					   {3, 31, 14}, {3, 32, 1},  {8, 0, 1}};
	uint64_t at = h->sample % 57;
	unsigned part = 0;

	while (at >= parts[part][2])
		at -= parts[part++][2];
	h->depth = 0;
	push(h, 50, 0);
	push(h, 51, 0);
	push(h, parts[part][0], 0);
	if (parts[part][1])
		push(h, parts[part][1], 0);
	push(h, 60, part);
}

static void step_compiler(struct history *h)
{
	uint32_t keep = h->depth - (h->depth > 8 ? draw(h, h->depth / 2 + 1) : 0);
	uint32_t want = 8 + draw(h, DEPTH - 8);

	h->depth = keep < want ? keep : want;
	while (h->depth < want) {
		uint32_t caller = h->depth ? h->stack[h->depth - 1].symbol : 0;

		/* A routine calls eight others, from one call site each. */
		uint32_t site = draw(h, 8);

		push(h, (uint32_t)(hash_mix64(caller * 8 + site) % 300), site);
	}
}

static void step(struct history *h)
{
	if (h->is_tree)
		step_tree(h);
	else
		step_compiler(h);
	h->sample++;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The frames of all samples, root first, with where each begins. */
struct segments {
	struct align_frame *frames;
	uint32_t *symbols, *first;
	bool *is_whole;
	uint32_t n;
};

static struct segments segments_make(uint32_t n, bool is_tree)
{
	struct history h = {.is_tree = is_tree, .seed = n};
	struct segments s = {.n = n};

	s.frames = calloc((size_t)n * 4 + (size_t)DEPTH * (n / STACKD_ANCHOR_EVERY + 40),
			  sizeof(*s.frames));
	s.symbols = calloc((size_t)n * 4 + (size_t)DEPTH * (n / STACKD_ANCHOR_EVERY + 40),
			   sizeof(*s.symbols));
	s.first = calloc((size_t)n + 1, sizeof(*s.first));
	s.is_whole = calloc(n, sizeof(*s.is_whole));
	if (!s.frames || !s.symbols || !s.first || !s.is_whole)
		exit(1);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t keep, number = i + 1;

		step(&h);
		s.is_whole[i] = number % STACKD_ANCHOR_EVERY == 0 ||
				(number < STACKD_ANCHOR_EVERY && !(number & (number - 1)));
		keep = s.is_whole[i] ? h.depth : SEGMENT;
		memcpy(s.frames + s.first[i], h.stack + h.depth - keep, keep * sizeof(*s.frames));
		for (uint32_t k = 0; k < keep; k++)
			s.symbols[s.first[i] + k] = s.frames[s.first[i] + k].symbol;
		s.first[i + 1] = s.first[i] + keep;
	}
	return s;
}

static void segments_free(struct segments *s)
{
	free(s->frames);
	free(s->symbols);
	free(s->first);
	free(s->is_whole);
}

static double time_ours(const struct segments *s, double *ret_whole)
{
	double start = now_s();
	struct align *align;
	uint32_t whole = 0;

	if (align_new(&align) < 0)
		exit(1);
	for (uint32_t i = 0; i < s->n; i++)
		if (align_add(align, 1, 1, i, s->frames + s->first[i],
			      s->first[i + 1] - s->first[i], s->is_whole[i]) < 0)
			exit(1);
	if (align_run(align) < 0)
		exit(1);
	start = now_s() - start;
	for (uint32_t i = 0; i < s->n; i++)
		whole += align_sample(align, i)->is_complete;
	*ret_whole = 100.0 * whole / s->n;
	align_free(align);
	return start;
}

static double time_paper(const struct segments *s)
{
	double start = now_s();
	struct servat *paper;

	if (servat_align(s->symbols, s->first, s->n, &paper) < 0)
		exit(1);
	start = now_s() - start;
	servat_free(paper);
	return start;
}

/* --- the paper's, literally ----------------------------------------------------------------- */

struct literal {
	uint32_t *path;
	uint32_t n, room;
};

static void literal_insert(struct literal *s, const uint32_t *frames, uint32_t n)
{
	if (s->n + n > s->room) {
		s->room = (s->n + n) * 2;
		s->path = realloc(s->path, s->room * sizeof(*s->path));
		if (!s->path)
			exit(1);
	}
	memmove(s->path + n, s->path, s->n * sizeof(*s->path));
	memcpy(s->path, frames, n * sizeof(*frames));
	s->n += n;
}

static uint32_t literal_index(const struct segments *s, uint32_t i, uint32_t symbol)
{
	for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
		if (s->symbols[k] == symbol)
			return k - s->first[i];
	return UINT32_MAX;
}

/* Step one, with the pivot that servat_align() finds. */
static double time_literal(const struct segments *s)
{
	struct literal *all = calloc(s->n, sizeof(*all));
	uint32_t before = UINT32_MAX, pivot;
	double start, seconds;
	struct servat *paper;

	if (!all || servat_align(s->symbols, s->first, s->n, &paper) < 0)
		exit(1);
	pivot = servat_pivot(paper);
	servat_free(paper);
	start = now_s();
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t at = literal_index(s, i, pivot), n = s->first[i + 1] - s->first[i], depth;

		if (at == UINT32_MAX)
			continue;
		literal_insert(&all[i], s->symbols + s->first[i], n);
		if (before != UINT32_MAX) {
			depth = all[before].n - (s->first[before + 1] - s->first[before]) +
				literal_index(s, before, pivot);
			if (at < depth)
				literal_insert(&all[i], all[before].path, depth - at);
			for (uint32_t k = 0; at > depth && k < i; k++)
				if (all[k].n)
					literal_insert(&all[k], s->symbols + s->first[i],
						       at - depth);
		}
		before = i;
	}
	/* Step two: each other segment is searched for routines of aligned ones. */
	for (uint32_t i = 0; i < s->n; i++) {
		bool found = all[i].n > 0;

		for (uint32_t k = s->n; !found && k-- > 0;)
			for (uint32_t f = s->first[i]; all[k].n && !found && f < s->first[i + 1];
			     f++)
				found = literal_index(s, k, s->symbols[f]) != UINT32_MAX;
		if (found && !all[i].n)
			literal_insert(&all[i], s->symbols + s->first[i],
				       s->first[i + 1] - s->first[i]);
	}
	seconds = now_s() - start;
	for (uint32_t i = 0; i < s->n; i++)
		free(all[i].path);
	free(all);
	return seconds;
}

static int bench(uint32_t n, bool is_tree)
{
	struct segments s = segments_make(n, is_tree);
	double whole, ours = time_ours(&s, &whole), paper = time_paper(&s);
	bool is_judged = n == 1000000;
	double literal = n <= 20000 ? time_literal(&s) : -1;

	printf("%-10s %8u %9.3f %9.0f %8.1f%% %9.3f %9.0f", is_tree ? "BT-like" : "compiler", n,
	       ours, ours / n * 1e9, whole, paper, paper / n * 1e9);
	if (literal >= 0)
		printf(" %9.3f %9.0f", literal, literal / n * 1e9);
	if (is_judged)
		printf("   target %.1f s%s", TARGET_S, ours <= TARGET_S ? "" : " MISSED");
	printf("\n");
	fflush(stdout);
	segments_free(&s);
	return is_judged && ours > TARGET_S;
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {5000, 10000, 20000, 100000, 1000000};
	bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
	int missed = 0;

	printf("\nsegments of 2+1 frames aligned: CPU seconds, ns a sample\n%-10s %8s %9s %9s %9s "
	       "%9s %9s %9s %9s\n",
	       "history", "samples", "ours s", "ns", "whole", "paper s", "ns", "literal s", "ns");
	for (unsigned tree = 2; tree-- > 0;)
		for (unsigned i = quick ? 1 : 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			missed |= bench(sizes[i], tree);
	return missed;
}
