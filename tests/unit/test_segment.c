/* SPDX-License-Identifier: MIT */
/*
 * Segments (--depth): the unmodified kernel half samples a generated thread (fake_process.h). A
 * segment has the top frames of the true path; anchors, and no other samples, have all of it
 * (bpf/segment.bpf.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#include "fake_process.h"

#define SEGMENT 3u

static struct record_reader *reader;
static struct stackd_header *record; /* the last one that arrived; owned */

static long receive(const void *data, size_t size)
{
	record_pool_give_back(record);
	record = NULL;
	assert_int_equal(record_read(reader, data, size, shim_time_ns, &record), 0);
	return 0;
}

/* The path of the record, root first. */
static void read_path(struct known_path *ret_path)
{
	struct record_frames in;
	struct record_frame frame;
	int more, n = 0;

	assert_int_equal(record->kept, 0);
	record_frames(record, false, &in);
	while ((more = record_frames_next(&in, &frame)) > 0) {
		assert_true(n < MAX_FRAMES);
		ret_path->locations[n++] = location_in(&frame);
	}
	assert_int_equal(more, 0);
	ret_path->count = n;
	for (int i = 0; i < n / 2; i++) {
		uint64_t swap = ret_path->locations[i];

		ret_path->locations[i] = ret_path->locations[n - 1 - i];
		ret_path->locations[n - 1 - i] = swap;
	}
}

/* Takes a sample of thread 0 and checks its path; true if it is complete, false for a segment. */
static bool is_complete_sample(void)
{
	static struct fake_frame frames[FAKE_DEPTH];
	static struct known_path path;
	int n = fake_path(&machine.threads[0], frames), cut;

	record_pool_give_back(record);
	record = NULL;
	take_sample(0);
	assert_non_null(record);
	read_path(&path);
	cut = record->end_reason == STACKD_END_SEGMENT ? n - (int)SEGMENT : 0;
	assert_true(cut >= 0 && (cut || record->end_reason == STACKD_END_ENTRY));
	assert_true(is_true(&path, frames + cut, n - cut));
	return !cut;
}

/* The same for the thread's next sample that is not a periodic anchor. */
static bool is_next_complete(uint32_t *taken)
{
	for (;;) {
		uint32_t n = ++*taken;
		bool is_complete = is_complete_sample();

		if (n % STACKD_ANCHOR_EVERY && (n > STACKD_ANCHOR_EVERY || n & (n - 1)))
			return is_complete;
		assert_true(is_complete);
	}
}

/* Calls or returns until the thread's stack is so deep. */
static void go_to(int depth)
{
	struct fake_chain *c = fake_chain(&machine.threads[0]);

	while (c->depth != depth) {
		int before = c->depth;

		if (before < depth)
			fake_do_call(&machine, c);
		else
			fake_do_return(c);
		assert_int_equal(c->depth, before + (before < depth ? 1 : -1));
	}
}

static void expect(uint32_t *taken, uint32_t samples, bool is_complete)
{
	for (uint32_t i = 0; i < samples; i++)
		assert_int_equal(is_next_complete(taken), is_complete);
}

/* A segment that ends at a new location is extended to the root until the budget is spent; then
 * eight segments that end at known locations pay for one more. */
static void check_anchors(void)
{
	const int depth = 8, most = STACKD_ANCHOR_CREDIT / STACKD_ANCHOR_PRICE;
	uint32_t taken = 0;

	go_to(depth);
	expect(&taken, 1, true);
	expect(&taken, 2 * STACKD_ANCHOR_EVERY, false); /* the location is known now */
	for (int i = 1; i <= most; i++) {
		go_to(depth + i);
		expect(&taken, 1, true);
	}
	go_to(depth + most + 1);
	expect(&taken, 3, false);
	go_to(depth);
	expect(&taken, STACKD_ANCHOR_PRICE - 1, false);
	go_to(depth + 20);
	expect(&taken, 1, false); /* too early by one */
	go_to(depth);
	expect(&taken, 1, false);
	go_to(depth + 20);
	expect(&taken, 1, true);
	go_to(depth + 21);
	expect(&taken, 1, false);
}

static void test_segments_with_new_ends_are_extended(void **state)
{
	(void)state;
	prefix_mode = STACKD_PREFIX_NONE;
	shim_counts_changes = true;
	roots = aligned_alloc(256, (size_t)256 * ROOTS);
	assert_non_null(roots);
	make_program(1);
	state_slots = STATES;
	assert_int_equal(record_reader_new(&reader), 0);
	shim_ring = receive;
	segment_frames = SEGMENT;
	check_anchors();
	segment_frames = 0;
	record_reader_free(reader);
	shim_free_regions();
	shim_free_maps();
	record_pool_give_back(record);
	record = NULL;
	free(roots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments_with_new_ends_are_extended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
