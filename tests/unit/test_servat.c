/* SPDX-License-Identifier: MIT */
/*
 * The paper's alignment: its worked example, and generated cases against a slow version that
 * follows the text literally: gaps are inserted into arrays, sample by sample.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/frame_runs.h"
#include "servat.h"
#include "base/hash.h"

#define MAX_SAMPLES 60
#define MAX_PATH    2000

/* --- the literal version -------------------------------------------------------------------- */

struct literal_sample {
	uint32_t own[16], n_own;
	uint32_t path[MAX_PATH], n; /* aligned so far; n 0: not yet */
};

static bool literal_contains(const struct literal_sample *s, uint32_t symbol)
{
	for (uint32_t i = 0; i < s->n_own; i++)
		if (s->own[i] == symbol)
			return true;
	return false;
}

static uint32_t literal_pivot(const struct literal_sample *s, uint32_t n)
{
	uint32_t best = UINT32_MAX, most = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < s[i].n_own; k++) {
			uint32_t count = 0;

			for (uint32_t j = 0; j < n; j++)
				count += literal_contains(&s[j], s[i].own[k]);
			if (count > most) {
				most = count;
				best = s[i].own[k];
			}
		}
	return best;
}

/* Inserts frames at the root side. */
static void literal_insert(struct literal_sample *s, const uint32_t *frames, uint32_t n)
{
	assert_true(s->n + n <= MAX_PATH);
	memmove(s->path + n, s->path, s->n * sizeof(*s->path));
	memcpy(s->path, frames, n * sizeof(*frames));
	s->n += n;
}

/* Aligns `own[at]` of a sample with the depth `depth` of `other`'s path. */
static void literal_join(struct literal_sample *all, uint32_t n, struct literal_sample *s,
			 uint32_t at, const struct literal_sample *other, uint32_t depth)
{
	memcpy(s->path, s->own, s->n_own * sizeof(*s->own));
	if (at < depth) { /* lower: it gets gaps, filled with the other's frames */
		s->n = s->n_own;
		literal_insert(s, other->path, depth - at);
		return;
	}
	for (uint32_t i = 0; i < n; i++) /* higher: all that are aligned get them */
		if (all[i].n)
			literal_insert(&all[i], s->own, at - depth);
	s->n = s->n_own;
}

static uint32_t literal_own_index(const struct literal_sample *s, uint32_t symbol)
{
	for (uint32_t i = 0; i < s->n_own; i++)
		if (s->own[i] == symbol)
			return i;
	return UINT32_MAX;
}

/* The current depth of a sample's own frame. */
static uint32_t literal_depth(const struct literal_sample *s, uint32_t own)
{
	return s->n - s->n_own + own;
}

static void literal_align(struct literal_sample *s, uint32_t n)
{
	uint32_t pivot = literal_pivot(s, n), order[MAX_SAMPLES], n_order = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = literal_own_index(&s[i], pivot);

		if (at == UINT32_MAX)
			continue;
		if (n_order) {
			struct literal_sample *before = &s[order[n_order - 1]];

			literal_join(s, n, &s[i], at, before,
				     literal_depth(before, literal_own_index(before, pivot)));
		} else {
			memcpy(s[i].path, s[i].own, sizeof(s[i].own));
			s[i].n = s[i].n_own;
		}
		order[n_order++] = i;
	}
	for (uint32_t i = 0; i < n; i++) {
		bool done = s[i].n > 0;

		for (uint32_t at = s[i].n_own; !done && at-- > 0;)
			for (uint32_t o = n_order; !done && o-- > 0;) {
				struct literal_sample *other = &s[order[o]];

				for (uint32_t k = other->n_own; !done && k-- > 0;) {
					if (other->own[k] != s[i].own[at])
						continue;
					literal_join(s, n, &s[i], at, other,
						     literal_depth(other, k));
					order[n_order++] = i;
					done = true;
				}
			}
	}
}

/* --- tests ---------------------------------------------------------------------------------- */

enum { MAIN = 1, A, B, C, D, E, F };

static const uint32_t example[] = {B, C, D, C, D, E, A, B, C, MAIN, A, B, C, D, F, C, D, E};
static const uint32_t example_first[] = {0, 3, 6, 9, 12, 15, 18};
static const uint32_t expected[6][6] = {{MAIN, A, B, C, D},    {MAIN, A, B, C, D, E},
					{MAIN, A, B, C},       {MAIN, A, B},
					{MAIN, A, B, C, D, F}, {MAIN, A, B, C, D, E}};

static void servat_worked_example(void **state)
{
	static const size_t lengths[] = {5, 6, 4, 3, 6, 6};
	struct servat *p;
	uint32_t path[8];

	(void)state;
	assert_int_equal(servat_align(example, example_first, 6, &p), 0);
	assert_int_equal(servat_pivot(p), C);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(servat_path(p, i, path, 8), lengths[i]);
		assert_memory_equal(path, expected[i], lengths[i] * sizeof(*path));
	}
	assert_int_equal(servat_path(p, 1, path, 2), 6); /* at most the capacity */
	assert_int_equal(path[1], A);
	servat_free(p);
	servat_free(NULL);
}

struct runs {
	char text[2000];
};

static int note_run(void *arg, const struct frame_run *run)
{
	struct runs *runs = arg;
	size_t n = strlen(runs->text);

	snprintf(runs->text + n, sizeof(runs->text) - n, "%u:%u s%llu-s%llu\n", run->depth,
		 run->symbol, (unsigned long long)run->first + 1,
		 (unsigned long long)run->last + 1);
	return 0;
}

static void servat_selection(void **state)
{
	const struct frame_runs_options options = {.samples = 2};
	struct runs runs = {""};
	struct frame_runs *c;
	struct servat *p;

	(void)state;
	assert_int_equal(servat_align(example, example_first, 6, &p), 0);
	assert_int_equal(frame_runs_new(&options, note_run, &runs, &c), 0);
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t path[8];
		size_t n = servat_path(p, i, path, 8);

		assert_int_equal(frame_runs_add(c, i, path, n), 0);
	}
	assert_int_equal(frame_runs_end(c, 6), 0);
	/* main 1, a 2, b 3, c 4, d 5: in the order in which they end */
	assert_string_equal(runs.text, "5:5 s1-s2\n4:4 s1-s3\n5:5 s5-s6\n4:4 s5-s6\n"
				       "3:3 s1-s6\n2:2 s1-s6\n1:1 s1-s6\n");
	frame_runs_free(c);
	frame_runs_free(NULL);
	servat_free(p);
}

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash_mix64(seed) % below);
}

static void check_case(struct literal_sample *s, uint32_t n)
{
	static uint32_t symbols[MAX_SAMPLES * 16], path[MAX_PATH];
	uint32_t first[MAX_SAMPLES + 1] = {0};
	struct servat *p;

	for (uint32_t i = 0; i < n; i++) {
		memcpy(symbols + first[i], s[i].own, s[i].n_own * sizeof(*symbols));
		first[i + 1] = first[i] + s[i].n_own;
	}
	literal_align(s, n);
	assert_int_equal(servat_align(symbols, first, n, &p), 0);
	for (uint32_t i = 0; i < n; i++) {
		size_t got = servat_path(p, i, path, MAX_PATH);

		assert_int_equal(got, s[i].n);
		assert_memory_equal(path, s[i].path, got * sizeof(*path));
	}
	servat_free(p);
}

/* Random segments of few routines, with much recursion and many coincidences; and segments cut from
 * the paths of a tree, as the paper has them. */
static void servat_matches_literal_algorithm(void **state)
{
	static struct literal_sample s[MAX_SAMPLES];

	(void)state;
	seed = 1;
	for (unsigned round = 0; round < 4000; round++) {
		uint32_t n = 1 + draw(round % 10 ? 12 : MAX_SAMPLES), symbols = 2 + draw(12);

		for (uint32_t i = 0; i < n; i++) {
			uint32_t at = draw(20);

			s[i] = (struct literal_sample){.n_own = 1 + draw(round % 3 ? 4 : 16)};
			for (uint32_t k = 0; k < s[i].n_own; k++)
				s[i].own[k] = round % 2 ? draw(symbols) : at + k;
		}
		check_case(s, n);
	}
}

static void servat_bad_input(void **state)
{
	const uint32_t one[] = {7, 7, 7}, first[] = {0, 3}, empty[] = {0, 0};
	uint32_t path[4];
	struct servat *p;

	(void)state;
	assert_int_equal(servat_align(one, first, 1, &p), 0);
	assert_int_equal(servat_path(p, 0, path, 4), 3);
	servat_free(p);
	assert_int_equal(servat_align(one, empty, 1, &p), -22);
	assert_int_equal(servat_align(one, first, 0, &p), 0);
	assert_int_equal(servat_pivot(p), SERVAT_NONE);
	servat_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servat_worked_example),
		cmocka_unit_test(servat_selection),
		cmocka_unit_test(servat_matches_literal_algorithm),
		cmocka_unit_test(servat_bad_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
