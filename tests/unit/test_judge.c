/* SPDX-License-Identifier: MIT */
/* What the judge of the kernel half's walks takes for right, for cut, and for wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/recorder/judge.h"

#define MANAGED 99 /* the location of a managed frame */

static struct location_table *locations;
static struct object_table *objects;
static struct judge *judge;

static int set_up(void **state)
{
	struct object native = {.kind = OBJECT_JIT, .path = "native", .file_id = 1};
	struct object managed = {.kind = OBJECT_MANAGED, .path = "a.py", .file_id = 2};
	const struct object *is;
	uint32_t number;

	(void)state;
	assert_int_equal(location_table_new(&locations), 0);
	assert_int_equal(object_table_new("/proc", &objects), 0);
	assert_int_equal(object_table_add(objects, &native, &is), 0);
	for (uint32_t i = 0; i <= MANAGED; i++) {
		if (i == MANAGED)
			assert_int_equal(object_table_add(objects, &managed, &is), 0);
		struct location location = {
			.file_id = is->file_id, .object = is->number, .offset = i};

		assert_int_equal(location_intern(locations, &location, &number), 0);
		assert_int_equal(number, i);
	}
	return judge_new(objects, locations, &judge);
}

static int tear_down(void **state)
{
	(void)state;
	judge_free(judge);
	object_table_free(objects);
	location_table_free(locations);
	return 0;
}

/* The last `count` of the frames 1, 2, 3, ... 9, whose leaf is 9. */
static struct path *leaf_end(size_t count)
{
	static struct path path;

	path.count = count;
	for (size_t i = 0; i < count; i++)
		path.locations[i] = (uint32_t)(10 - count + i);
	return &path;
}

static void judge_paths(size_t kernel, enum stackd_end_reason kernel_reason, size_t daemon,
			enum stackd_end_reason daemon_reason)
{
	struct stackd_header record = {
		.tid = 7, .time_ns = 3, .end_reason = (uint8_t)kernel_reason};

	judge_expect(judge, &record, leaf_end(kernel), kernel_reason);
	judge_hold(judge, &record, leaf_end(daemon), daemon_reason, false);
}

static void assert_counts(uint64_t right, uint64_t cut, uint64_t wrong)
{
	struct judge_counts counts = judge_counts(judge);

	assert_int_equal(counts.right, right);
	assert_int_equal(counts.cut, cut);
	assert_int_equal(counts.wrong, wrong);
}

static void same_paths(void **state)
{
	(void)state;
	judge_paths(9, STACKD_END_ENTRY, 9, STACKD_END_ENTRY);
	judge_paths(3, STACKD_END_NO_RECIPE, 3, STACKD_END_NO_RECIPE);
	assert_counts(2, 0, 0);
}

/* The daemon does not look for managed frames. */
static void managed_frames_are_left_out(void **state)
{
	struct stackd_header record = {.tid = 7, .time_ns = 3};
	struct path path = {.count = 4, .locations = {8, MANAGED, MANAGED, 9}};

	(void)state;
	judge_expect(judge, &record, &path, STACKD_END_ENTRY);
	judge_hold(judge, &record, leaf_end(2), STACKD_END_ENTRY, false);
	assert_counts(1, 0, 0);
	path.locations[0] = 7;
	judge_expect(judge, &record, &path, STACKD_END_ENTRY);
	judge_hold(judge, &record, leaf_end(2), STACKD_END_ENTRY, false);
	assert_counts(1, 0, 1);
}

static void judge_does_not_finish(void **state)
{
	(void)state;
	judge_paths(9, STACKD_END_ENTRY, 4, STACKD_END_STACK_CUT);
	assert_counts(0, 1, 0);
	judge_paths(9, STACKD_END_ENTRY, 4, STACKD_END_ENTRY);
	assert_counts(0, 1, 1);
}

/* One walk has reached the entry, and the other met an address that is no caller below it. */
static void judge_goes_astray(void **state)
{
	(void)state;
	judge_paths(9, STACKD_END_ENTRY, 4, STACKD_END_NO_MAPPING);
	judge_paths(9, STACKD_END_ENTRY, 4, STACKD_END_BAD_RETURN);
	judge_paths(9, STACKD_END_ENTRY, 9, STACKD_END_NO_MAPPING);
	assert_counts(0, 0, 3);
	judge_paths(9, STACKD_END_NO_RECIPE, 4, STACKD_END_NO_MAPPING);
	assert_counts(0, 1, 3);
	judge_paths(4, STACKD_END_NO_MAPPING, 4, STACKD_END_NO_MAPPING);
	assert_counts(1, 1, 3);
}

/* In code whose callers the kernel half alone finds, the daemon's walk goes astray, which says
 * nothing. But its frames count, and so does an entry that it has found. */
static void judge_cannot_follow(void **state)
{
	struct stackd_header record = {.tid = 7, .time_ns = 3};

	(void)state;
	judge_expect(judge, &record, leaf_end(9), STACKD_END_ENTRY);
	judge_hold(judge, &record, leaf_end(4), STACKD_END_BAD_RETURN, true);
	judge_hold(judge, &record, leaf_end(9), STACKD_END_NO_MAPPING, true);
	assert_counts(0, 2, 0);
	judge_hold(judge, &record, leaf_end(4), STACKD_END_ENTRY, true);
	assert_counts(0, 2, 1);
	judge_expect(judge, &record, leaf_end(3), STACKD_END_ENTRY);
	judge_hold(judge, &record, leaf_end(4), STACKD_END_BAD_RETURN, true);
	assert_counts(0, 2, 2);
}

static void memory_is_there_for_the_daemon_alone(void **state)
{
	(void)state;
	judge_paths(1, STACKD_END_UNREADABLE, 9, STACKD_END_ENTRY);
	judge_paths(0, STACKD_END_UNREADABLE, 1, STACKD_END_UNREADABLE);
	assert_counts(0, 2, 0);
	judge_paths(1, STACKD_END_ENTRY, 9, STACKD_END_ENTRY);
	assert_counts(0, 2, 1);
}

static void assert_less(uint64_t less)
{
	assert_int_equal(judge_counts(judge).less, less);
}

/* A path that the recording marks as incomplete says nothing of the frames that it lacks. */
static void kernel_half_does_not_finish(void **state)
{
	(void)state;
	judge_paths(1, STACKD_END_STACK_SWITCH, 9, STACKD_END_RUNTIME_CODE);
	judge_paths(1, STACKD_END_BAD_RETURN, 9, STACKD_END_ENTRY);
	assert_counts(0, 0, 0);
	assert_less(2);
	judge_paths(1, STACKD_END_ENTRY, 9, STACKD_END_RUNTIME_CODE);
	judge_paths(0, STACKD_END_NO_USER, 9, STACKD_END_RUNTIME_CODE);
	assert_counts(0, 0, 2);
	assert_less(2);
}

/* The same frames are not the same path if only one walk has found the end. */
static void ends_differ(void **state)
{
	(void)state;
	judge_paths(9, STACKD_END_ENTRY, 9, STACKD_END_STACK_SWITCH);
	assert_counts(0, 1, 0);
	judge_paths(9, STACKD_END_STACK_SWITCH, 9, STACKD_END_ENTRY);
	assert_counts(0, 1, 0);
	assert_less(1);
}

/* Frames that differ are wrong, however the path is marked. */
static void marked_frames_differ(void **state)
{
	struct stackd_header record = {.tid = 7, .time_ns = 3};
	struct path *path = leaf_end(4);

	(void)state;
	path->locations[2] = 77;
	judge_expect(judge, &record, path, STACKD_END_STACK_SWITCH);
	judge_hold(judge, &record, leaf_end(9), STACKD_END_RUNTIME_CODE, false);
	assert_counts(0, 0, 1);
	assert_less(0);
}

static void other_frames(void **state)
{
	struct stackd_header record = {.tid = 7, .time_ns = 3, .end_reason = STACKD_END_UNREADABLE};
	struct path *path = leaf_end(4);

	(void)state;
	path->locations[3] = 77;
	judge_expect(judge, &record, path, STACKD_END_UNREADABLE);
	judge_hold(judge, &record, leaf_end(9), STACKD_END_ENTRY, false);
	assert_counts(0, 0, 1);
}

/* The frames 1, 2, ... 9, of which the first `cut` are left out for a step that does not hold. */
static struct path *cut_path(size_t cut)
{
	struct path *path = leaf_end(9);

	path->cut = cut;
	return path;
}

/* Of a path that is cut, what is left is judged, and that alone. */
static void steps_do_not_hold(void **state)
{
	struct stackd_header record = {.tid = 7, .time_ns = 3, .end_reason = STACKD_END_ENTRY};
	struct path *path = cut_path(4);

	(void)state;
	path->locations[2] = 77;
	judge_expect(judge, &record, path, STACKD_END_WRONG_CALLER);
	path->cut = 0;
	judge_hold(judge, &record, leaf_end(9), STACKD_END_ENTRY, false);
	assert_counts(0, 1, 0);
	path = cut_path(4);
	path->locations[6] = 77;
	judge_expect(judge, &record, path, STACKD_END_WRONG_CALLER);
	path->cut = 0;
	judge_hold(judge, &record, leaf_end(9), STACKD_END_ENTRY, false);
	assert_counts(0, 1, 1);
	judge_expect(judge, &record, leaf_end(9), STACKD_END_ENTRY);
	judge_hold(judge, &record, cut_path(4), STACKD_END_WRONG_CALLER, false);
	assert_counts(0, 2, 1);
	path->cut = 0;
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(same_paths),
		T(judge_does_not_finish),
		T(judge_goes_astray),
		T(judge_cannot_follow),
		T(memory_is_there_for_the_daemon_alone),
		T(managed_frames_are_left_out),
		T(other_frames),
		T(steps_do_not_hold),
		T(kernel_half_does_not_finish),
		T(ends_differ),
		T(marked_frames_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
