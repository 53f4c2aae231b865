/* SPDX-License-Identifier: MIT */
/*
 * Alignment of odd input: nothing, one sample, samples that are alike or have nothing in common, in
 * disorder, of threads that end, and more than one slice of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "align/align.h"

#define MILLION 1000000u

/* A frame of routine r at a height. */
#define FRAME(r, height) ((struct align_frame){10 * (r), r, height})

static struct align *fresh(void)
{
	struct align *a;

	assert_int_equal(align_new(&a), 0);
	return a;
}

static void add(struct align *a, uint32_t stack, uint64_t time, bool is_complete, uint32_t n,
		const struct align_frame *frames)
{
	assert_int_equal(align_add(a, stack, 1, time, frames, n, is_complete), 0);
}

static void input_none(void **state)
{
	struct align *a = fresh();
	struct align_frame f = FRAME(1, 0);

	(void)state;
	assert_int_equal(align_add(a, 0, 0, 0, &f, 0, false), -22);
	assert_int_equal(align_run(a), 0);
	assert_int_equal(align_count(a), 0);
	align_free(a);
}

static void input_one_sample(void **state)
{
	for (unsigned is_complete = 0; is_complete < 2; is_complete++) {
		struct align *a = fresh();
		struct align_frame f = FRAME(7, 9);

		(void)state;
		add(a, 1, 5, is_complete, 1, &f);
		assert_int_equal(align_run(a), 0);
		assert_int_equal(align_sample(a, 0)->n_inferred, 0);
		assert_int_equal(align_sample(a, 0)->is_complete, is_complete);
		align_free(a);
	}
}

/* All at one time, without heights, each a recursion. */
static void input_identical(void **state)
{
	struct align_frame frames[] = {FRAME(2, 0), FRAME(2, 0)};
	struct align *a = fresh();

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		add(a, 1, 5, false, 2, frames);
	assert_int_equal(align_run(a), 0);
	for (uint32_t i = 0; i < 1000; i++)
		assert_false(align_sample(a, i)->is_complete);
	align_free(a);
}

/* No routine occurs twice: without evidence, no caller is inferred. */
static void input_a_million_routines(void **state)
{
	struct align *a = fresh();

	(void)state;
	for (uint32_t i = 0; i < MILLION; i += 2) {
		struct align_frame frames[] = {FRAME(i, 100), FRAME(i + 1, 200)};

		add(a, 1, i, false, 2, frames);
	}
	assert_int_equal(align_run(a), 0);
	for (uint32_t i = 0; i < MILLION / 2; i++) {
		assert_int_equal(align_sample(a, i)->n_inferred, 0);
		assert_false(align_sample(a, i)->is_complete);
	}
	align_free(a);
}

/* The same million, below one root each: complete samples are no evidence for the others. */
static void input_no_common_routine(void **state)
{
	struct align *a = fresh();

	(void)state;
	for (uint32_t i = 0; i < 3000; i += 3) {
		struct align_frame frames[] = {FRAME(i + 1, 0), FRAME(i + 2, 64),
					       FRAME(i + 3, 128)};

		add(a, 1, i, i % 2, i % 2 ? 3 : 2, frames + (i % 2 ? 0 : 1));
	}
	assert_int_equal(align_run(a), 0);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(align_sample(a, i)->n_inferred, 0);
	align_free(a);
}

/* main > f > g, of which every second sample shows g alone. */
static void add_steady(struct align *a, uint32_t stack, uint64_t time, bool is_complete)
{
	struct align_frame frames[] = {FRAME(1, 0), FRAME(2, 100), FRAME(3, 200)};

	add(a, stack, time, is_complete, is_complete ? 3 : 1, frames + (is_complete ? 0 : 2));
}

/* Times count, not the order in which samples are added. */
static void input_out_of_order(void **state)
{
	const uint32_t n = 1000;
	struct align *a = fresh();

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t time = i * 617 % n; /* each once */

		add_steady(a, time % 2, time, time % 8 < 2);
	}
	assert_int_equal(align_run(a), 0);
	for (uint32_t i = 1; i < n; i++) {
		uint32_t x = align_ordered(a, i - 1), y = align_ordered(a, i);

		assert_true(align_stack(a, x) != align_stack(a, y) || x * 617 % n < y * 617 % n);
	}
	for (uint32_t i = 0; i < n; i++)
		assert_true(align_sample(a, i)->is_complete);
	align_free(a);
}

/* A thread ends: its last samples have a neighbour before them only, and later samples of another
 * thread are no evidence for it. */
static void input_thread_ends_in_the_middle(void **state)
{
	struct align_frame one[] = {FRAME(1, 0), FRAME(2, 100), FRAME(3, 200)};
	struct align_frame other[] = {FRAME(1, 0), FRAME(4, 80), FRAME(3, 200)};
	struct align_frame last[] = {FRAME(5, 300), FRAME(6, 400)};
	struct align *a = fresh();
	uint32_t doubtful, unseen;

	(void)state;
	for (uint64_t t = 0; t < 20; t++) {
		add(a, 1, t, true, 3, t % 2 ? one : other);
		add_steady(a, 2, t, true);
	}
	doubtful = align_count(a);
	add(a, 1, 21, false, 1, one + 2); /* called by either */
	unseen = align_count(a);
	add(a, 1, 22, false, 2, last);
	for (uint64_t t = 23; t < 60; t++) {
		struct align_frame is_complete[] = {FRAME(1, 0), FRAME(2, 100), FRAME(5, 300),
						    FRAME(6, 400)};

		add(a, 2, t, true, 4, is_complete);
	}
	assert_int_equal(align_run(a), 0);
	assert_int_equal(align_sample(a, doubtful)->n_inferred, 0);
	assert_false(align_sample(a, doubtful)->is_complete);
	assert_int_equal(align_sample(a, unseen)->n_inferred, 0);
	assert_false(align_sample(a, unseen)->is_complete);
	align_free(a);
}

/* More than are aligned at once, of one thread, and of several: none is left out or done twice. */
static void input_larger_than_slice(void **state)
{
	for (uint32_t stacks = 1; stacks <= 4; stacks += 3) {
		const uint32_t n = 300000;
		struct align *a = fresh();

		(void)state;
		for (uint32_t i = 0; i < n; i++) /* the last thread has nearly all */
			add_steady(a, i % 100 < stacks ? i % 100 : stacks, i, i / 100 % 8 == 0);
		assert_int_equal(align_run(a), 0);
		for (uint32_t i = 0; i < n; i++) {
			const struct align_sample *s = align_sample(a, i);

			assert_true(s->is_complete);
			assert_int_equal(s->n_inferred + s->n_frames, 3);
		}
		align_free(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(input_none),
		cmocka_unit_test(input_one_sample),
		cmocka_unit_test(input_identical),
		cmocka_unit_test(input_a_million_routines),
		cmocka_unit_test(input_no_common_routine),
		cmocka_unit_test(input_out_of_order),
		cmocka_unit_test(input_thread_ends_in_the_middle),
		cmocka_unit_test(input_larger_than_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
