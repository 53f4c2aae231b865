/* SPDX-License-Identifier: MIT */
/*
 * A log of samples (model/sample_log.h): its profiles have the same entries, in the same order, as
 * those of the samples themselves, for random times, threads and functions. Some paths are partial
 * and are completed; in parts of the recording there are none.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "fake_store.h"
#include "same_profile.h"

#define PATHS	 12
#define FUNCTION 6
#define MS	 UINT64_C(1000000)
#define LENGTH	 4000u /* samples, one in a millisecond */

static uint64_t seed;

static uint32_t random_below(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((seed >> 33) % below);
}

/* Random paths; the other halves of the arrays are the same paths without their first callers. */
static void make_paths(struct recording *r, uint32_t whole[PATHS], uint32_t cut[PATHS])
{
	static const char *const names[FUNCTION] = {"main", "work", "loop", "read", "leaf", "hash"};
	const uint32_t prog = add_object(r, OBJECT_ELF, "/bin/prog");
	const uint32_t start = add_function(r, prog, 0x1000, true, "_start");
	uint32_t functions[FUNCTION];

	for (uint32_t i = 0; i < FUNCTION; i++)
		functions[i] = add_function(r, prog, 0x1110 + 0x100 * i, i < 4, names[i]);
	for (uint32_t i = 0; i < PATHS; i++) {
		whole[i] = add_node(r, add_node(r, 0, start), functions[0]);
		cut[i] = 0;
		for (uint32_t depth = 0; depth < 3; depth++) {
			const uint32_t f = depth < 2 ? functions[1 + depth + random_below(2)]
						     : functions[4 + random_below(2)];

			whole[i] = add_node(r, whole[i], f);
			cut[i] = add_node(r, cut[i], f);
		}
	}
}

/* Between 1.5 s and 3 s no path is partial. */
static struct store_reader *make(bool has_periods)
{
	static const struct origin_run runs[] = {{2, FRAME_SOURCE_BRANCH, 90}};
	struct store_reader *f = fake_new();
	struct recording *r = &f->made;
	uint32_t whole[PATHS], cut[PATHS], origin;

	make_paths(r, whole, cut);
	origin = add_origin(r, runs, 1, true);
	for (uint32_t i = 0; i < 6; i++) {
		if (i % 3 == 0)
			add_process(r, (int32_t)(100 + i), "prog");
		add_thread(r, i / 3, (int32_t)(100 + i), i % 2 ? "worker" : "main");
	}
	for (uint32_t i = 0; i < LENGTH; i++) {
		/* A path lasts for a while, so that partial ones have neighbours to learn from. */
		const uint32_t thread = random_below(6), path = i / 80 % PATHS;
		const bool is_cut = (i < 1500 || i >= 3000) && random_below(20) == 0;
		const uint64_t period =
			has_periods && i > 700 ? 1 + random_below(4000000) : RECORDING_PERIOD;

		put_sample(r, &(struct store_sample){
				      .time_ns = r->info.start_ns + (i - i % 3) * MS,
				      .period = period,
				      .thread = thread,
				      .node = is_cut ? cut[path] : whole[path],
				      .origin = random_below(10) ? 0 : origin,
				      .cpu = (uint16_t)random_below(4),
				      .end_reason = is_cut ? STACKD_END_SEGMENT : STACKD_END_ENTRY,
			      });
	}
	r->info.samples = LENGTH;
	r->info.end_ns = r->info.start_ns + LENGTH * MS;
	fake_refresh(f);
	return f;
}

static struct sample_log *log_of(struct store_reader *f)
{
	struct sample_log *log;

	assert_int_equal(sample_log_new(f, SIZE_MAX, NULL, &log), 0);
	assert_int_equal(sample_log_view(log).count, LENGTH);
	return log;
}

/* Compares the profiles of random filters. */
static void compare(struct store_reader *f)
{
	static const char *const functions[] = {"work", "loop", "leaf"};
	struct sample_log *log = log_of(f);
	uint64_t samples = 0, reconstructed = 0;
	uint64_t none = 0;

	for (unsigned i = 0; i < 60; i++) {
		const bool is_whole_part = i % 6 == 5;
		uint64_t from = is_whole_part ? 1600 + random_below(600) : random_below(LENGTH);
		bool threads[6];
		struct profile_filter filter = {
			.from_ns = i % 4 ? from * MS : 0,
			.to_ns = i % 5 || is_whole_part
					 ? (from + 1 + random_below(700)) * MS + i % 3
					 : 0,
			.threads = i % 3 ? threads : NULL,
			.focus = {functions + i % 3, i % 7 == 3},
			.ignore = {functions + i % 2, i % 7 == 5},
			.no_inlined = i % 2,
			.fold_recursion = i % 3 == 1,
			.no_reconstructed = i % 11 == 10,
			.by_cpu = i % 13 == 12,
		};

		for (unsigned k = 0; k < 6; k++)
			threads[k] = random_below(2);
		samples += same_profile(f, log, filter, is_whole_part ? &none : &reconstructed);
	}
	assert_true(samples > LENGTH);
	assert_true(reconstructed > 100);
	sample_log_free(log);
}

static void test_log_of_equal_periods(void **state)
{
	struct store_reader *f = make(false);

	(void)state;
	compare(f);
	fake_free(f);
}

static void test_log_of_other_periods(void **state)
{
	struct store_reader *f = make(true);
	struct sample_log *log = log_of(f);
	const struct sample_log_view view = sample_log_view(log);

	(void)state;
	for (uint32_t i = 0; i < LENGTH; i++) {
		const struct store_sample s = sample_log_at(&view, i), *of = &f->made.samples[i];

		assert_int_equal(s.time_ns, of->time_ns);
		assert_int_equal(s.period, of->period);
		assert_int_equal(s.thread, of->thread);
		assert_int_equal(s.node, of->node);
		assert_int_equal(s.origin, of->origin);
		assert_int_equal(s.end_reason, of->end_reason);
	}
	sample_log_free(log);
	compare(f);
	fake_free(f);
}

/* The first of equal times is found, and the end. */
static void test_log_find(void **state)
{
	struct store_reader *f = make(false);
	struct sample_log *log = log_of(f);
	const uint64_t start = f->made.info.start_ns;

	(void)state;
	assert_int_equal(sample_log_find(log, 0), 0);
	assert_int_equal(sample_log_find(log, start + 3 * MS), 3);
	assert_int_equal(sample_log_find(log, start + 3 * MS + 1), 6);
	assert_int_equal(sample_log_find(log, UINT64_MAX), LENGTH);
	sample_log_free(log);
	fake_free(f);
}

static void test_log_limits(void **state)
{
	struct store_reader *f = make(false);
	struct sample_log *log = NULL;
	atomic_bool stop = true;
	struct store_sample *s = f->made.samples;

	(void)state;
	assert_int_equal(sample_log_new(f, LENGTH * 12, NULL, &log), -EFBIG);
	assert_int_equal(sample_log_new(f, SIZE_MAX, &stop, &log), -ECANCELED);
	s[10].thread = 6;
	assert_int_equal(sample_log_new(f, SIZE_MAX, NULL, &log), -EBADMSG);
	s[10].thread = 1;
	s[10].time_ns = s[20].time_ns; /* no reader does this */
	assert_int_equal(sample_log_new(f, SIZE_MAX, NULL, &log), -EFBIG);
	assert_null(log);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_of_equal_periods),
		cmocka_unit_test(test_log_of_other_periods),
		cmocka_unit_test(test_log_find),
		cmocka_unit_test(test_log_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
