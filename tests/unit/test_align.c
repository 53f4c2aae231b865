/* SPDX-License-Identifier: MIT */
/*
 * Alignment: what is inferred and what is not, recursion; and on generated call histories, that no
 * frame is ever inferred that was not observed as the caller of the next. Odd input is in
 * test_align_input.c.
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

#include "align/accept.h"
#include "align/align.h"
#include "align/common_prefix.h"
#include "align/union_find.h"
#include "base/hash.h"

/* A frame of routine r, called from location r * 10 + site, at a height. */
#define FRAME(r, height) ((struct align_frame){10 * (r), r, height})

static struct align *fresh(void)
{
	struct align *a;

	assert_int_equal(align_new(&a), 0);
	return a;
}

static void add(struct align *a, uint64_t time, bool is_complete, uint32_t n,
		const struct align_frame *frames)
{
	assert_int_equal(align_add(a, 1, 1, time, frames, n, is_complete), 0);
}

#define ADD(a, time, is_complete, ...)                                                             \
	add(a, time, is_complete,                                                                  \
	    sizeof((struct align_frame[]){__VA_ARGS__}) / sizeof(struct align_frame),              \
	    (struct align_frame[]){__VA_ARGS__})

/* The routines of a sample's path, root first, as digits. */
static const char *path_of(const struct align *a, uint32_t sample)
{
	static char text[256];
	const struct align_sample *s = align_sample(a, sample);
	uint32_t link = s->caller;
	size_t n = s->n_inferred;

	assert_true(n + s->n_frames < sizeof(text));
	for (size_t i = n; i-- > 0; link = align_link(a, link)->caller)
		text[i] = (char)('0' + align_link(a, link)->frame.symbol);
	for (uint32_t i = 0; i < s->n_frames; i++)
		text[n + i] = (char)('0' + align_frame(a, s->first + i)->symbol);
	text[n + s->n_frames] = '\0';
	return text;
}

static void align_infers_from_neighbours(void **state)
{
	struct align *a = fresh();

	(void)state;
	ADD(a, 1, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200));
	ADD(a, 2, false, FRAME(3, 200), FRAME(4, 300));
	ADD(a, 3, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200), FRAME(5, 300));
	assert_int_equal(align_run(a), 0);
	assert_string_equal(path_of(a, 1), "1234");
	assert_true(align_sample(a, 1)->is_complete);
	assert_int_equal(align_sample(a, 1)->n_inferred, 2);
	assert_string_equal(path_of(a, 0), "123");
	assert_int_equal(align_count(a), 3);
	align_free(a);
	align_free(NULL);
}

/* If the neighbours have different callers and there is no other evidence, nothing is inferred. */
static void align_infers_nothing_in_doubt(void **state)
{
	struct align *a = fresh();

	(void)state;
	ADD(a, 1, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200));
	ADD(a, 2, false, FRAME(3, 200), FRAME(4, 300));
	ADD(a, 3, true, FRAME(1, 0), FRAME(6, 120), FRAME(3, 200));
	ADD(a, 4, false, FRAME(9, 240));
	assert_int_equal(align_run(a), 0);
	assert_string_equal(path_of(a, 1), "34");
	assert_false(align_sample(a, 1)->is_complete);
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

			if (heights && i % 3 == 1 && i > 2 && i < 17 && s->is_complete)
				assert_int_equal(s->n_inferred + s->n_frames, 4 + i % 7);
			assert_true(s->n_inferred < 1000);
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
	assert_true(align_sample(a, 2)->is_complete);
	align_free(a);
}

/* If no sample reaches the entry, callers are inferred, and the sample stays partial. */
static void align_no_entry(void **state)
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
	assert_int_equal(align_sample(a, 14)->n_inferred, 2);
	assert_false(align_sample(a, 14)->is_complete);
	align_free(a);
}

static void align_stacks_are_separate(void **state)
{
	struct align_frame complete[] = {FRAME(1, 0), FRAME(2, 100), FRAME(3, 200)};
	struct align *a = fresh();

	(void)state;
	for (uint64_t t = 0; t < 6; t += 2) {
		assert_int_equal(align_add(a, 1, 1, t, complete, 3, true), 0);
		assert_int_equal(align_add(a, 2, 1, t + 1, complete + 2, 1, false), 0);
	}
	assert_int_equal(align_run(a), 0);
	for (uint32_t i = 1; i < 6; i += 2)
		assert_int_equal(align_sample(a, i)->n_inferred, 0);
	align_free(a);
}

/* Two callers take turns. The callees and call sites of the frame determine its caller, unless the
 * neighbours favour the other. */
static void align_donors(void **state)
{
	struct align_frame one[] = {FRAME(1, 0), FRAME(2, 100), FRAME(3, 200), FRAME(4, 300),
				    FRAME(5, 400)};
	struct align_frame other[] = {FRAME(1, 0), FRAME(6, 100), FRAME(3, 200), FRAME(4, 300),
				      FRAME(7, 400)};
	struct align_frame neither[] = {FRAME(3, 200), FRAME(8, 300)};
	struct align *a = fresh();
	uint32_t first, third;

	(void)state;
	other[2].id++; /* It calls from another site. */
	neither[0].id += 2;
	for (uint64_t t = 0; t < 40; t++)
		add(a, t, true, 5, t % 2 ? one : other);
	first = align_count(a);
	ADD(a, 40, true, FRAME(1, 0), FRAME(2, 100), FRAME(9, 210));
	add(a, 41, false, 3, one + 2);
	ADD(a, 42, true, FRAME(1, 0), FRAME(6, 100), FRAME(9, 220));
	add(a, 43, false, 3, one + 2);
	ADD(a, 44, true, FRAME(1, 0), FRAME(6, 100), FRAME(9, 230));
	add(a, 45, false, 3, other + 2);
	third = align_count(a);
	ADD(a, 46, true, FRAME(1, 0), FRAME(8, 100), FRAME(9, 240));
	add(a, 47, false, 2, neither);
	for (uint64_t t = 48; t < 80; t++)
		add(a, t, true, 5, t % 2 ? other : one);
	assert_int_equal(align_run(a), 0);
	/* Each neighbour favours another one. */
	assert_string_equal(path_of(a, first + 1), "345");
	assert_false(align_sample(a, first + 1)->is_complete);
	/* Both neighbours favour the wrong one. */
	assert_string_equal(path_of(a, first + 3), "345");
	assert_string_equal(path_of(a, first + 5), "16347");
	assert_true(align_sample(a, first + 5)->is_complete);
	/* It shares its call site with none of them. */
	assert_string_equal(path_of(a, third + 1), "38");
	assert_false(align_sample(a, third + 1)->is_complete);
	align_free(a);
}

/* Returns the path of a partial sample between two complete ones, whose first frame its stack never
 * has with a caller. Another stack, of `program`, has: main > 2 > 3 > 4. The neighbours share main
 * and 2, or main and `n_others` other frames. */
static const char *from_other_stack(uint32_t program, uint32_t n_others, bool *ret_is_complete)
{
	const struct align_frame path[] = {FRAME(1, 0),	  FRAME(2, 100), FRAME(3, 200),
					   FRAME(4, 300), FRAME(5, 400), FRAME(6, 500)};
	struct align_frame next[16] = {FRAME(1, 0), FRAME(2, 100)};
	uint32_t n = n_others ? n_others + 1 : 2;
	struct align *a = fresh();
	const char *text;

	for (uint32_t i = 0; i < n_others; i++)
		next[i + 1] = FRAME(8, 100 + 10 * i);
	for (uint64_t t = 0; t < 12; t++)
		assert_int_equal(align_add(a, 2, program, t, path, 6, true), 0);
	next[n] = FRAME(7, 220);
	assert_int_equal(align_add(a, 1, 1, 4, next, n + 1, true), 0);
	assert_int_equal(align_add(a, 1, 1, 5, path + 3, 3, false), 0);
	next[n] = FRAME(9, 180);
	assert_int_equal(align_add(a, 1, 1, 6, next, n + 1, true), 0);
	assert_int_equal(align_run(a), 0);
	text = path_of(a, 13);
	*ret_is_complete = align_sample(a, 13)->is_complete;
	align_free(a);
	return text;
}

static void align_donors_in_other_stacks(void **state)
{
	bool is_complete;

	(void)state;
	assert_string_equal(from_other_stack(1, 0, &is_complete), "123456");
	assert_true(is_complete);
	/* A stack of another program is no donor. */
	assert_string_equal(from_other_stack(2, 0, &is_complete), "456");
	assert_false(is_complete);
	/* One frame that only the neighbours have is outweighed by three callees in common. */
	assert_string_equal(from_other_stack(1, 1, &is_complete), "123456");
	/* Many are not. */
	assert_string_equal(from_other_stack(1, 7, &is_complete), "456");
	assert_false(is_complete);
}

/* --- generated histories -------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash_mix64(seed) % below);
}

#define DEPTH	 12
#define OBSERVED (1u << 14)

/* Pairs of a caller's id and its callee's function that were observed. */
static uint64_t observed[OBSERVED];
static uint32_t n_observed;

static bool was_observed(const struct align_frame *caller, const struct align_frame *callee)
{
	for (uint32_t i = 0; i < n_observed; i++)
		if (observed[i] == ((uint64_t)caller->id << 32 | callee->symbol))
			return true;
	return false;
}

static void note_observed(const struct align_frame *caller, const struct align_frame *callee)
{
	uint64_t pair = (uint64_t)caller->id << 32 | callee->symbol;

	if (was_observed(caller, callee))
		return;
	assert_true(n_observed < OBSERVED);
	observed[n_observed++] = pair;
}

/* Checks every inferred frame against what was observed. */
static void check_inferred(const struct align *a)
{
	for (uint32_t i = 0; i < align_count(a); i++) {
		const struct align_sample *s = align_sample(a, i);
		const struct align_frame *callee = align_frame(a, s->first);
		uint32_t link = s->caller;

		for (uint32_t n = 0; n < s->n_inferred; n++) {
			const struct align_link *l = align_link(a, link);

			assert_true(was_observed(&l->frame, callee));
			callee = &l->frame;
			link = l->caller;
		}
		assert_int_equal(link, ALIGN_NONE);
	}
}

static void align_infers_what_was_observed(void **state)
{
	(void)state;
	seed = 3;
	for (unsigned round = 0; round < 60; round++) {
		bool heights = round % 3, disorder = round % 4 == 0;
		struct align_frame stack[DEPTH];
		struct align *a = fresh();
		uint32_t depth = 1, routines = 3 + draw(20);

		n_observed = 0;
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
				note_observed(&stack[i - 1], &stack[i]);
			assert_int_equal(align_add(a, draw(2), 0, disorder ? draw(1000) : t,
						   stack + depth - keep, keep, keep == depth),
					 0);
		}
		assert_int_equal(align_run(a), 0);
		check_inferred(a);
		align_free(a);
	}
}

/* Two complete samples share a prefix, which a partial one between them has below its own frames;
 * it is extended by what its last function always calls. */
static void align_common_prefix(void **state)
{
	struct align *a = fresh();
	const struct align_frame *frames;
	struct common_prefix *p;

	(void)state;
	ADD(a, 1, true, FRAME(1, 0), FRAME(2, 100), FRAME(3, 200));
	ADD(a, 2, false, FRAME(9, 400));
	ADD(a, 3, false, FRAME(8, 90));
	ADD(a, 4, true, FRAME(1, 0), FRAME(2, 100), FRAME(4, 200));
	ADD(a, 5, false, FRAME(7, 400));
	assert_int_equal(align_run(a), 0);
	assert_int_equal(common_prefix_new(a, &p), 0);
	assert_int_equal(common_prefix_of(p, 1, &frames), 2);
	assert_true(frames[0].symbol == 1 && frames[1].symbol == 2);
	assert_int_equal(common_prefix_of(p, 2, &frames), 1);
	assert_int_equal(common_prefix_of(p, 4, &frames), 0); /* no complete sample follows */
	common_prefix_free(p);
	common_prefix_free(NULL);
	align_free(a);

	a = fresh();
	for (uint64_t t = 0; t < 100; t += 2) {
		ADD(a, t, true, FRAME(1, 0), FRAME(2, 100 + (uint32_t)t), FRAME(3, 300));
		ADD(a, t + 1, false, FRAME(9, 900 + (uint32_t)t));
	}
	assert_int_equal(align_run(a), 0);
	assert_int_equal(common_prefix_new(a, &p), 0);
	assert_int_equal(common_prefix_of(p, 51, &frames), 3);
	assert_true(frames[0].symbol == 1 && frames[1].symbol == 2 && frames[2].symbol == 3);
	common_prefix_free(p);
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
		assert_string_equal(path_of(a, 475), "3"); /* at the change: unknown */
		align_free(a);
	}
	(void)state;
}

static void align_union_find(void **state)
{
	struct union_find u = {0};
	int64_t distance;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(union_find_add(&u), 0);
	assert_true(union_find_join(&u, 1, 2, 5));
	assert_true(union_find_join(&u, 3, 1, 2));
	assert_true(union_find_join(&u, 7, 8, 1));
	assert_true(union_find_join(&u, 8, 3, 1));
	assert_false(union_find_join(&u, 2, 7, 1));
	union_find_find(&u, 7, &distance);
	{
		int64_t base;
		uint32_t set = union_find_find(&u, 2, &base);

		assert_int_equal(union_find_find(&u, 7, &distance), set);
		assert_int_equal(distance - base, 9); /* 5 + 2 + 1 + 1 */
	}
	assert_int_not_equal(union_find_find(&u, 9, &distance), union_find_find(&u, 1, &distance));
	union_find_fini(&u);
}

static void accept_two_neighbours(void **state)
{
	const struct accept_caller agree = {.has_both = true,
					    .agrees = true,
					    .distance = ACCEPT_NEAR + 1,
					    .n_observed = 3,
					    .n_sites = 3};
	const struct accept_caller differ = {.has_both = true, .distance = 3, .n_observed = 9};
	struct accept_caller e = agree;

	(void)state;
	assert_true(accept_caller(&e));
	assert_false(accept_caller(&(struct accept_caller){0}));
	e.n_sites = 4; /* It was observed too rarely for so many. */
	assert_false(accept_caller(&e));
	e.distance = ACCEPT_NEAR;
	assert_true(accept_caller(&e));
	e = agree;
	e.n_present = 1; /* Another call site is present. */
	assert_false(accept_caller(&e));
	e.is_present = true; /* This one is. */
	assert_true(accept_caller(&e));
	e = differ;
	assert_false(accept_caller(&e));
	e.n_present = 1;
	e.is_present = true;
	assert_true(accept_caller(&e));
	e.n_present = 2;
	assert_false(accept_caller(&e));
}

/* The caller has changed: exceptions decide, and the distance how many of them there may be. */
static void accept_exceptions(void **state)
{
	struct accept_caller e = {.has_both = true,
				  .agrees = true,
				  .has_changed = true,
				  .distance = ACCEPT_NEAR,
				  .n_observed = 200,
				  .n_enclosed = 100,
				  .n_exceptions = 10};

	(void)state;
	assert_true(accept_caller(&e));
	e.n_exceptions = 11;
	assert_false(accept_caller(&e));
	e.distance = ACCEPT_NEAR + 1;
	e.n_exceptions = 2;
	assert_true(accept_caller(&e));
	e.n_exceptions = 3;
	assert_false(accept_caller(&e));
	e.n_exceptions = 0;
	e.n_enclosed = 8;
	assert_true(accept_caller(&e));
	e.n_enclosed = 7; /* too few to say */
	assert_false(accept_caller(&e));
}

/* One neighbour: the frame must have been observed as often as its function has call sites. */
static void accept_one_neighbour(void **state)
{
	struct accept_caller e = {.distance = 100, .n_observed = 2, .n_sites = 3};

	(void)state;
	assert_false(accept_caller(&e));
	e.n_observed = 3;
	assert_true(accept_caller(&e));
	e.has_changed = true;
	assert_false(accept_caller(&e));
	e.distance = 2; /* It is very near. */
	assert_true(accept_caller(&e));
	e.n_present = 1; /* Another call site is present. */
	assert_false(accept_caller(&e));
	e.distance = 100;
	e.is_present = true;
	assert_true(accept_caller(&e));
}

static void accept_majorities(void **state)
{
	(void)state;
	assert_false(accept_majority(5, 5));
	assert_true(accept_majority(5, 6));
	assert_false(accept_majority(4, 6));
	assert_true(accept_majority(18, 19));
	assert_false(accept_majority(17, 19));
	assert_true(accept_majority(18, 20));
	assert_true(accept_majority(90, 100));
	assert_false(accept_majority(89, 100));
}

static void accept_paths(void **state)
{
	struct accept_path p = {
		.lead_above = 4, .lead_below = 3, .n_unconfirmed = 5, .n_missing = 1};

	(void)state;
	assert_true(accept_path(&p)); /* 8 * 6 <= 3 * 2^4 */
	p.n_missing = 2;
	assert_false(accept_path(&p));
	p.lead_below = 4;
	assert_true(accept_path(&p));
	p.lead_above = 3;
	assert_false(accept_path(&p));
	p.lead_above = 100;
	p.n_unconfirmed = 1000000;
	assert_true(accept_path(&p));
	p.lead_below = 0; /* A rival fits as well. */
	p.n_unconfirmed = 1;
	assert_false(accept_path(&p));
	p.is_inferred = true;
	assert_true(accept_path(&p));
	p.is_inferred = false;
	p.n_unconfirmed = p.n_missing = 0; /* A rival that fits as well is not outdone by that. */
	assert_false(accept_path(&p));
	p.lead_below = 1;
	assert_true(accept_path(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(align_infers_from_neighbours),
		cmocka_unit_test(align_infers_nothing_in_doubt),
		cmocka_unit_test(align_recursion),
		cmocka_unit_test(align_call_graph),
		cmocka_unit_test(align_no_entry),
		cmocka_unit_test(align_stacks_are_separate),
		cmocka_unit_test(align_donors),
		cmocka_unit_test(align_donors_in_other_stacks),
		cmocka_unit_test(align_parts_of_the_work),
		cmocka_unit_test(align_infers_what_was_observed),
		cmocka_unit_test(align_common_prefix),
		cmocka_unit_test(align_union_find),
		cmocka_unit_test(accept_two_neighbours),
		cmocka_unit_test(accept_exceptions),
		cmocka_unit_test(accept_one_neighbour),
		cmocka_unit_test(accept_majorities),
		cmocka_unit_test(accept_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
