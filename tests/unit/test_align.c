/* SPDX-License-Identifier: MIT */
/*
 * Alignment: what is lent and what is not, recursion; and on generated call histories that no frame
 * is ever lent that was not seen as the caller of the next. Odd input: test_align_input.c.
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

#include "align/align.h"
#include "align/offsets.h"
#include "align/standing.h"
#include "align/weigh.h"
#include "base/hash.h"

#define THRESHOLD 9000

/* A frame of routine r, called from place r * 10 + site, at a height. */
#define FRAME(r, height) ((struct align_frame){(r)*10, r, height})

static struct align *fresh(void)
{
	struct align *a;

	assert_int_equal(align_new(THRESHOLD, &a), 0);
	return a;
}

static void add(struct align *a, uint64_t time, bool is_whole, uint32_t n,
		const struct align_frame *frames)
{
	assert_int_equal(align_add(a, 1, 1, time, frames, n, is_whole), 0);
}

#define ADD(a, time, whole, ...)                                                                   \
	add(a, time, whole,                                                                        \
	    sizeof((struct align_frame[]){__VA_ARGS__}) / sizeof(struct align_frame),              \
	    (struct align_frame[]){__VA_ARGS__})

/* The routines of a sample's path, root first, as digits. */
static const char *path_of(const struct align *a, uint32_t sample)
{
	static char text[256];
	const struct align_sample *s = align_sample(a, sample);
	uint32_t link = s->below;
	size_t n = s->n_lent;

	assert_true(n + s->n_frames < sizeof(text));
	for (size_t i = n; i-- > 0; link = align_link(a, link)->below)
		text[i] = (char)('0' + align_link(a, link)->frame.symbol);
	for (uint32_t i = 0; i < s->n_frames; i++)
		text[n + i] = (char)('0' + align_frame(a, s->first + i)->symbol);
	text[n + s->n_frames] = '\0';
	return text;
}

static void align_neighbours_lend(void **state)
{
	struct align *a = fresh();

	(void)state;
	ADD(a, 1, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200));
	ADD(a, 2, false, FRAME(3, 200), FRAME(4, 300));
	ADD(a, 3, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200), FRAME(5, 300));
	assert_int_equal(align_run(a), 0);
	assert_string_equal(path_of(a, 1), "1234");
	assert_true(align_sample(a, 1)->is_whole);
	assert_int_equal(align_sample(a, 1)->n_lent, 2);
	assert_true(align_sample(a, 1)->confidence > 9900);
	assert_string_equal(path_of(a, 0), "123");
	assert_int_equal(align_count(a), 3);
	align_free(a);
	align_free(NULL);
}

/* Where the neighbours have different callers and nothing else tells, there is silence. */
static void align_is_silent_in_doubt(void **state)
{
	struct align *a = fresh();

	(void)state;
	ADD(a, 1, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200));
	ADD(a, 2, false, FRAME(3, 200), FRAME(4, 300));
	ADD(a, 3, true, FRAME(1, 0), FRAME(6, 120), FRAME(3, 200));
	ADD(a, 4, false, FRAME(9, 240));
	assert_int_equal(align_run(a), 0);
	assert_string_equal(path_of(a, 1), "34");
	assert_false(align_sample(a, 1)->is_whole);
	assert_string_equal(path_of(a, 3), "9");
	align_free(a);
}

/* Each level of a recursion has its own height; the same without heights is not guessed. */
static void align_recursion(void **state)
{
	for (unsigned heights = 0; heights < 2; heights++) {
		struct align *a = fresh();
		struct align_frame frames[12];

		(void)state;
		for (uint64_t t = 0; t < 20; t++) {
			uint32_t depth = 4 + (uint32_t)(t % 7), keep = t % 3 == 1 ? 2 : depth;

			for (uint32_t i = 0; i < depth; i++)
				frames[i] = FRAME(i ? 2 : 1, heights ? i * 64 : 0);
			add(a, t, keep == depth, keep, frames + depth - keep);
		}
		assert_int_equal(align_run(a), 0);
		for (uint32_t i = 0; i < 20; i++) {
			const struct align_sample *s = align_sample(a, i);

			if (heights && i % 3 == 1 && i > 2 && i < 17 && s->is_whole)
				assert_int_equal(s->n_lent + s->n_frames, 4 + i % 7);
			assert_true(s->n_lent < 1000);
		}
		align_free(a);
	}
}

/* A caller that was seen calling the routine elsewhere, and stands where it must. */
static void align_call_graph(void **state)
{
	struct align *a = fresh();

	(void)state;
	ADD(a, 1, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200));
	ADD(a, 2, true, FRAME(1, 0), FRAME(4, 150), FRAME(2, 250), FRAME(5, 400));
	ADD(a, 3, false, FRAME(3, 350)); /* 2 calls 3 at a distance of 100, and stands at 250 */
	ADD(a, 4, true, FRAME(1, 0), FRAME(4, 150), FRAME(2, 250), FRAME(5, 400));
	assert_int_equal(align_run(a), 0);
	assert_string_equal(path_of(a, 2), "1423");
	assert_true(align_sample(a, 2)->is_whole);
	align_free(a);
}

/* The whole path is found where nobody reaches the entry: then it is aligned, and not whole. */
static void align_open_groups(void **state)
{
	struct align *a = fresh();

	(void)state;
	for (uint64_t t = 0; t < 30; t += 3) {
		ADD(a, t, false, FRAME(2, 100), FRAME(3, 200));
		ADD(a, t + 1, false, FRAME(3, 200), FRAME(4, 300));
		ADD(a, t + 2, false, FRAME(4, 300), FRAME(5, 400));
	}
	assert_int_equal(align_run(a), 0);
	assert_string_equal(path_of(a, 14), "2345");
	assert_int_equal(align_sample(a, 14)->n_lent, 2);
	assert_false(align_sample(a, 14)->is_whole);
	align_free(a);
}

static void align_stacks_are_apart(void **state)
{
	struct align_frame whole[] = {FRAME(1, 0), FRAME(2, 100), FRAME(3, 200)};
	struct align *a = fresh();

	(void)state;
	for (uint64_t t = 0; t < 6; t += 2) {
		assert_int_equal(align_add(a, 1, 1, t, whole, 3, true), 0);
		assert_int_equal(align_add(a, 2, 1, t + 1, whole + 2, 1, false), 0);
	}
	assert_int_equal(align_run(a), 0);
	for (uint32_t i = 1; i < 6; i += 2)
		assert_int_equal(align_sample(a, i)->n_lent, 0);
	align_free(a);
}

/* Two callers take turns: only what the frame itself calls, and from where, tells which it was. */
static void align_witnesses(void **state)
{
	struct align_frame one[] = {FRAME(1, 0), FRAME(2, 100), FRAME(3, 200), FRAME(4, 300),
				    FRAME(5, 400)};
	struct align_frame other[] = {FRAME(1, 0), FRAME(6, 100), FRAME(3, 200), FRAME(4, 300),
				      FRAME(7, 400)};
	struct align_frame elsewhere[] = {FRAME(3, 200), FRAME(8, 300)};
	struct align *a = fresh();
	uint32_t first, stranger;

	(void)state;
	other[2].id++; /* it calls from another place */
	elsewhere[0].id += 2;
	for (uint64_t t = 0; t < 40; t++)
		add(a, t, true, 5, t % 2 ? one : other);
	first = align_count(a);
	add(a, 40, false, 3, one + 2);
	add(a, 41, false, 3, other + 2);
	stranger = align_count(a);
	add(a, 44, false, 2, elsewhere);
	for (uint64_t t = 47; t < 80; t++)
		add(a, t, true, 5, t % 2 ? other : one);
	assert_int_equal(align_run(a), 0);
	assert_string_equal(path_of(a, first), "12345");
	assert_string_equal(path_of(a, first + 1), "16347");
	assert_true(align_sample(a, first)->is_whole);
	assert_true(align_sample(a, first)->confidence < ALIGN_CERTAIN);
	assert_string_equal(path_of(a, stranger), "38");
	assert_false(align_sample(a, stranger)->is_whole);
	align_free(a);
}

/* The path of an open sample between two whole ones, whose frames its thread has not seen with a
 * caller. Another thread of `program` has; the neighbours' second frame is `second`. */
static const char *elsewhere(uint32_t program, struct align_frame second, bool *ret_is_whole)
{
	const struct align_frame path[] = {FRAME(1, 0),	  FRAME(2, 100), FRAME(3, 200),
					   FRAME(4, 300), FRAME(5, 400), FRAME(6, 500)};
	struct align_frame next[] = {FRAME(1, 0), second, FRAME(7, 220)};
	struct align *a = fresh();
	const char *text;

	for (uint64_t t = 0; t < 12; t++)
		assert_int_equal(align_add(a, 2, program, t, path, 6, true), 0);
	assert_int_equal(align_add(a, 1, 1, 4, next, 3, true), 0);
	assert_int_equal(align_add(a, 1, 1, 5, path + 3, 3, false), 0);
	next[2] = FRAME(9, 180);
	assert_int_equal(align_add(a, 1, 1, 6, next, 3, true), 0);
	assert_int_equal(align_run(a), 0);
	text = path_of(a, 13);
	*ret_is_whole = align_sample(a, 13)->is_whole;
	align_free(a);
	return text;
}

static void align_witnesses_elsewhere(void **state)
{
	bool is_whole;

	(void)state;
	assert_string_equal(elsewhere(1, FRAME(2, 100), &is_whole), "123456");
	assert_true(is_whole);
	/* It runs another program: its word is worth nothing. */
	assert_string_equal(elsewhere(2, FRAME(2, 100), &is_whole), "456");
	assert_false(is_whole);
	/* The neighbours stood elsewhere. */
	assert_string_equal(elsewhere(1, FRAME(8, 100), &is_whole), "456");
	assert_false(is_whole);
}

/* --- generated histories -------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash_mix64(seed) % below);
}

#define DEPTH 12
#define SEEN  (1u << 14)

/* Pairs of a caller's id and its callee's routine that were seen. */
static uint64_t seen[SEEN];
static uint32_t n_seen;

static bool was_seen(const struct align_frame *caller, const struct align_frame *callee)
{
	for (uint32_t i = 0; i < n_seen; i++)
		if (seen[i] == ((uint64_t)caller->id << 32 | callee->symbol))
			return true;
	return false;
}

static void note_seen(const struct align_frame *caller, const struct align_frame *callee)
{
	uint64_t pair = (uint64_t)caller->id << 32 | callee->symbol;

	if (was_seen(caller, callee))
		return;
	assert_true(n_seen < SEEN);
	seen[n_seen++] = pair;
}

/* Checks every lent frame against what was seen. */
static void check_lent(const struct align *a)
{
	for (uint32_t i = 0; i < align_count(a); i++) {
		const struct align_sample *s = align_sample(a, i);
		const struct align_frame *callee = align_frame(a, s->first);
		uint32_t link = s->below;

		for (uint32_t n = 0; n < s->n_lent; n++) {
			const struct align_link *l = align_link(a, link);

			assert_true(was_seen(&l->frame, callee));
			assert_true(l->confidence >= THRESHOLD);
			callee = &l->frame;
			link = l->below;
		}
		assert_int_equal(link, ALIGN_NONE);
	}
}

static void align_lends_what_was_seen(void **state)
{
	(void)state;
	seed = 3;
	for (unsigned round = 0; round < 60; round++) {
		bool heights = round % 3, disorder = round % 4 == 0;
		struct align_frame stack[DEPTH];
		struct align *a = fresh();
		uint32_t depth = 1, routines = 3 + draw(20);

		n_seen = 0;
		stack[0] = FRAME(1, 0);
		for (uint64_t t = 1; t < 400; t++) {
			uint32_t keep;
			bool is_cut;

			depth -= draw(depth);
			while (depth < DEPTH && draw(4)) {
				uint32_t below = stack[depth - 1].height;

				stack[depth - 1].id = stack[depth - 1].symbol * 10 + draw(3);
				stack[depth] = FRAME(2 + draw(routines), 0);
				if (heights)
					stack[depth].height = below + 16 + 16 * draw(4);
				depth++;
			}
			/* Segments, or walks that fail now and then. */
			is_cut = round % 2 ? draw(4) == 0 : draw(3) > 0;
			keep = is_cut ? 1 + draw(depth) : depth;
			for (uint32_t i = depth - keep + 1; i < depth; i++)
				note_seen(&stack[i - 1], &stack[i]);
			assert_int_equal(align_add(a, draw(2), 0, disorder ? draw(1000) : t,
						   stack + depth - keep, keep, keep == depth),
					 0);
		}
		assert_int_equal(align_run(a), 0);
		check_lent(a);
		align_free(a);
	}
}

/* What two whole samples share stood between them, below what the open one has itself; and above
 * it what is called by habit. */
static void align_standing(void **state)
{
	struct align *a = fresh();
	const struct align_frame *frames;
	struct standing *s;

	(void)state;
	ADD(a, 1, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200));
	ADD(a, 2, false, FRAME(9, 400));
	ADD(a, 3, false, FRAME(8, 90));
	ADD(a, 4, true, FRAME(1, 0), FRAME(2, 100), FRAME(4, 200));
	ADD(a, 5, false, FRAME(7, 400));
	assert_int_equal(align_run(a), 0);
	assert_int_equal(standing_new(a, &s), 0);
	assert_int_equal(standing_of(s, 1, &frames), 2);
	assert_true(frames[0].symbol == 1 && frames[1].symbol == 2);
	assert_int_equal(standing_of(s, 2, &frames), 1);
	assert_int_equal(standing_of(s, 4, &frames), 0); /* nothing is known of what comes next */
	standing_free(s);
	standing_free(NULL);
	align_free(a);

	a = fresh();
	for (uint64_t t = 0; t < 100; t += 2) {
		ADD(a, t, true, FRAME(1, 0), FRAME(2, 100 + (uint32_t)t), FRAME(3, 300));
		ADD(a, t + 1, false, FRAME(9, 900 + (uint32_t)t));
	}
	assert_int_equal(align_run(a), 0);
	assert_int_equal(standing_new(a, &s), 0);
	assert_int_equal(standing_of(s, 51, &frames), 3);
	assert_true(frames[0].symbol == 1 && frames[1].symbol == 2 && frames[2].symbol == 3);
	standing_free(s);
	align_free(a);
}

/* A frame's caller changes once, between two parts of the program's work: far from any sighting,
 * too, it is clear which one it was. Where it goes to and fro, it is not. */
static void align_parts_of_the_work(void **state)
{
	for (unsigned is_to_and_fro = 0; is_to_and_fro < 2; is_to_and_fro++) {
		struct align_frame one[] = {FRAME(1, 0), FRAME(2, 100), FRAME(3, 200)};
		struct align_frame other[] = {FRAME(1, 0), FRAME(4, 100), FRAME(3, 200)};
		struct align *a = fresh();

		for (uint64_t t = 0; t < 1000; t++)
			if (t % 50 == 0)
				add(a, t, true, 3,
				    t < 500 || (is_to_and_fro && t % 100) ? one : other);
			else if (t % 50 == 25)
				add(a, t, false, 1, one + 2);
			else
				ADD(a, t, false, FRAME(9, 300));
		assert_int_equal(align_run(a), 0);
		assert_string_equal(path_of(a, 225), is_to_and_fro ? "3" : "123");
		assert_string_equal(path_of(a, 725), is_to_and_fro ? "3" : "143");
		assert_string_equal(path_of(a, 475), "3"); /* at the change: nobody can say */
		align_free(a);
	}
	(void)state;
}

static void align_offsets(void **state)
{
	struct offsets o = {0};
	int64_t above;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(offsets_add(&o), 0);
	assert_true(offsets_join(&o, 1, 2, 5));
	assert_true(offsets_join(&o, 3, 1, 2));
	assert_true(offsets_join(&o, 7, 8, 1));
	assert_true(offsets_join(&o, 8, 3, 1));
	assert_false(offsets_join(&o, 2, 7, 1));
	offsets_find(&o, 7, &above);
	{
		int64_t base;
		uint32_t set = offsets_find(&o, 2, &base);

		assert_int_equal(offsets_find(&o, 7, &above), set);
		assert_int_equal(above - base, 9); /* 5 + 2 + 1 + 1 */
	}
	assert_int_not_equal(offsets_find(&o, 9, &above), offsets_find(&o, 1, &above));
	offsets_fini(&o);
}

static void align_weights_have_order(void **state)
{
	struct weigh_signs near = {.both = true, .agree = true, .gap = 3, .seen = 9};
	struct weigh_signs far = {.both = true, .agree = true, .gap = 500, .seen = 9, .places = 3};
	struct weigh_signs differ = {.both = true, .gap = 3, .seen = 9};

	(void)state;
	assert_true(weigh(&near) > weigh(&far));
	assert_int_equal(weigh(&differ), 0);
	far.standing = 1; /* another caller stands there */
	assert_true(weigh(&far) < THRESHOLD);
	far.is_standing = true; /* this one */
	assert_true(weigh(&far) > THRESHOLD);
	assert_int_equal(weigh(&(struct weigh_signs){0}), 0);
}

/* Each sign moves a path's weight its own way, across the threshold. */
static void align_weighs_paths(void **state)
{
	const struct weigh_path plain = {
		.above = 4, .below = 6, .near = 20, .rest = 8, .seen = 2, .has_rival = true};
	struct weigh_path p = plain;

	(void)state;
	assert_int_equal(weigh_path(&(struct weigh_path){.rest = 9}), 0);
	assert_true(weigh_path(&plain) >= THRESHOLD);
	p.above = 0; /* the rival fits as well */
	assert_int_equal(weigh_path(&p), 0);
	p.seen = 1000; /* it was seen far more often than that */
	p.elsewhere = 100;
	assert_true(weigh_path(&p) >= THRESHOLD);
	p.against = 1000;
	assert_int_equal(weigh_path(&p), 0);
	p = plain;
	p.below = -3; /* the neighbours are with the rival */
	assert_int_equal(weigh_path(&p), 0);
	p = plain;
	p.lacks = 12; /* the neighbours have what it has not */
	assert_int_equal(weigh_path(&p), 0);
	p.is_told = true;
	assert_true(weigh_path(&p) >= THRESHOLD);
	p = plain;
	p.rest = 60; /* most of it was never there when the neighbours were taken */
	assert_int_equal(weigh_path(&p), 0);
	p = plain;
	p.above = 8;
	p.below = 16;
	p.seen = 30;
	assert_true(weigh_path(&p) > weigh_path(&plain));
}

/* With one sighting: what is next to it, or nearly always so. */
static void align_weighs_one_sighting(void **state)
{
	struct weigh_signs one = {.gap = 100, .seen = 1, .places = 3};

	(void)state;
	assert_true(weigh(&one) < THRESHOLD);
	one.gap = 2;
	assert_true(weigh(&one) >= THRESHOLD);
	one.gap = 20;
	assert_true(weigh(&one) < THRESHOLD);
	one.seen = 2; /* and from few places */
	assert_true(weigh(&one) >= THRESHOLD);
	one.places = 9;
	assert_true(weigh(&one) < THRESHOLD);
	one.places = 1;
	one.gap = 100;
	assert_true(weigh(&one) > THRESHOLD);
	one.has_changed = true;
	assert_true(weigh(&one) < THRESHOLD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(align_neighbours_lend),
		cmocka_unit_test(align_is_silent_in_doubt),
		cmocka_unit_test(align_recursion),
		cmocka_unit_test(align_call_graph),
		cmocka_unit_test(align_open_groups),
		cmocka_unit_test(align_stacks_are_apart),
		cmocka_unit_test(align_witnesses),
		cmocka_unit_test(align_witnesses_elsewhere),
		cmocka_unit_test(align_parts_of_the_work),
		cmocka_unit_test(align_lends_what_was_seen),
		cmocka_unit_test(align_standing),
		cmocka_unit_test(align_offsets),
		cmocka_unit_test(align_weights_have_order),
		cmocka_unit_test(align_weighs_one_sighting),
		cmocka_unit_test(align_weighs_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
