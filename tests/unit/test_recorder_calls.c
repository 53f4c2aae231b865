/* SPDX-License-Identifier: MIT */
/*
 * Sums of calls in a thread's table get the path that they belong to (recorder_call.c), in whatever
 * order the recorder reads the table and takes the records of walks. The test stands in for the
 * kernel half and the library, which write the table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "daemon/capture/call_tables.h"
#include "daemon/recorder/recorder.h"
#include "walk_self.h"

#define DEPTH 3
#define TABLE 7

struct call_tables {
	struct stackd_calls calls;
	uint64_t since_ns;
};

static struct snapshot snap;
static struct call_tables tables;
static struct recorder *recorder;
static uint64_t now;

/* --- in place of call_tables.c ---------------------------------------------------------------- */

int call_tables_visit(struct call_tables *t, call_tables_each each, void *arg)
{
	const struct call_table_read read = {
		.calls = &t->calls, .number = TABLE, .since_ns = t->since_ns};

	return each(arg, &read);
}

void call_tables_renew(struct call_tables *t)
{
	t->calls.generation++;
}

uint64_t call_tables_since(struct call_tables *t, uint32_t number)
{
	assert_int_equal(number, TABLE);
	return t->since_ns;
}

struct call_tables_counts call_tables_counts(const struct call_tables *t)
{
	(void)t;
	return (struct call_tables_counts){0};
}

/* --- the thread ------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(recurse(&snap, DEPTH), DEPTH);
	now = clock_ns(CLOCK_MONOTONIC);
	tables = (struct call_tables){.calls = {.version = STACKD_CALLS_VERSION,
						.generation = 1,
						.pid = (uint32_t)getpid(),
						.tid = (uint32_t)getpid()},
				      .since_ns = now - 1000000000};
	assert_int_equal(
		recorder_new(&(struct recorder_options){.usual_period = 1000, .calls = &tables},
			     &recorder),
		0);
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	recorder_free(recorder);
	snapshot_free(&snap);
	return 0;
}

/* The kernel half walks the stack of a call, as libstackmpi asks for a path's index. Returns the
 * time of its record. */
static uint64_t walk(uint32_t index)
{
	now++;
	if (index >= tables.calls.n_paths)
		tables.calls.paths[index].walked_ns = now;
	return now;
}

/* The kernel half has given the path back, and the library takes it. */
static void take(uint32_t index)
{
	tables.calls.n_paths = index + 1;
}

/* The recorder takes the record of a walk: with the stack of the snapshot, or with its leaf alone.
 * The call has no visit: it is a region's begin. */
static void receive(uint64_t time_ns, uint32_t index, bool is_short)
{
	const size_t bytes = is_short ? 0 : snap.stack_bytes;
	struct stackd_stack_record *record = calloc(1, sizeof(*record) + bytes);

	assert_non_null(record);
	record->header = (struct stackd_header){.version = STACKD_ABI_VERSION,
						.kind = STACKD_RECORD_STACK,
						.event = STACKD_EVENT_CALL,
						.flags = STACKD_HAS_REGS,
						.tid = (uint32_t)getpid(),
						.time_ns = time_ns};
	record->pid = (uint32_t)getpid();
	record->stack_bytes = (uint32_t)bytes;
	record->regs = snap.regs;
	record->event.call = (struct stackd_call){.kind = STACKD_EVENT_CALL,
						  .table = TABLE,
						  .path = STACKD_CALL_PATH(index, 1),
						  .sent = time_ns,
						  .ended_ns = time_ns & STACKD_PASS_MOST_LATE_NS};
	memcpy(record + 1, snap.stack, bytes);
	assert_int_equal(recorder_sample(recorder, &record->header), 0);
	free(record);
}

/* Reads the sums. Returns the passes that became records; *ret_node: their path. */
static uint64_t read_sums(bool is_last, uint32_t *ret_node)
{
	uint64_t visits = 0;
	struct batch *batch;

	assert_int_equal(recorder_read_calls(recorder, ++now, is_last), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	*ret_node = 0;
	for (size_t i = 0; i < batch->n_records; i++) {
		const struct batch_record *record = &batch->records[i];

		if (record->series != SERIES_CALL_VISITS)
			continue;
		assert_true(!visits || record->row.node == *ret_node);
		visits += record->row.period;
		*ret_node = record->row.node;
	}
	batch_free(batch);
	return visits;
}

static uint64_t unplaced(void)
{
	struct recorder_counts counts;

	recorder_counts(recorder, &counts);
	return counts.calls_unplaced;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* The paths of a full stack and of its leaf alone, as the recorder numbers them: each with a path
 * that is taken. */
static void nodes_of_both(uint32_t *ret_short, uint32_t *ret_full)
{
	struct stackd_call_path *paths = tables.calls.paths;

	for (uint32_t i = 0; i < 2; i++) {
		receive(walk(i), i, !i);
		take(i);
		paths[i].visits++;
		assert_int_equal(read_sums(false, i ? ret_full : ret_short), 1);
	}
	assert_int_not_equal(*ret_short, *ret_full);
}

/* The path of a first call cannot be given back, so a second call of another path gets the same
 * index. Its passes are read before the record of its walk: they wait for that, and none is the
 * first call's. */
static void sums_wait_for_the_walk_of_their_path(void **state)
{
	struct stackd_call_path *path = &tables.calls.paths[2];
	uint32_t first, second, node;
	uint64_t walked;

	(void)state;
	nodes_of_both(&first, &second);
	receive(walk(2), 2, true);
	assert_int_equal(read_sums(false, &node), 0);
	walked = walk(2);
	take(2);
	path->visits = 20;
	assert_int_equal(read_sums(false, &node), 0);
	receive(walked, 2, false);
	path->visits = 21;
	assert_int_equal(read_sums(false, &node), 21);
	assert_int_equal(node, second);
	path->visits = 24;
	assert_int_equal(read_sums(true, &node), 3);
	assert_int_equal(node, second);
	assert_int_equal(unplaced(), 0);
}

/* As before, with the records of both walks there before the sums are read. */
static void last_walk_of_an_index_has_the_path(void **state)
{
	uint32_t first, second, node;
	uint64_t walked;

	(void)state;
	nodes_of_both(&first, &second);
	walked = walk(2);
	receive(walked, 2, false);
	walked = walk(2);
	take(2);
	tables.calls.paths[2].visits = 5;
	receive(walked, 2, true);
	assert_int_equal(read_sums(false, &node), 5);
	assert_int_equal(node, first);
}

/* A walk whose record is lost: its passes are counted as of no known path, not as another's. */
static void sums_without_their_walk_have_no_path(void **state)
{
	uint32_t node;

	(void)state;
	receive(walk(0), 0, true);
	walk(0);
	take(0);
	tables.calls.paths[0].visits = 20;
	assert_int_equal(read_sums(false, &node), 0);
	assert_int_equal(unplaced(), 0);
	assert_int_equal(read_sums(true, &node), 0);
	assert_int_equal(unplaced(), 20);
}

/* In a new window, paths have other numbers: what a path has added up waits until it is walked
 * again, with the index that it has. */
static void taken_path_waits_for_a_walk_of_its_window(void **state)
{
	struct stackd_call_path *path = &tables.calls.paths[1];
	uint32_t first, second, node;
	uint64_t walked;

	(void)state;
	nodes_of_both(&first, &second);
	path->visits++;
	assert_int_equal(recorder_begin_anew(recorder), 0);
	assert_int_equal(read_sums(false, &node), 0);
	walked = walk(1);
	path->visits++;
	assert_int_equal(read_sums(false, &node), 0);
	receive(walked, 1, false);
	assert_int_equal(read_sums(false, &node), 2);
	assert_int_not_equal(node, 0);
	/* Another walk of it is under way: it is still the same path. */
	walk(1);
	path->visits++;
	assert_int_equal(read_sums(false, &first), 1);
	assert_int_equal(first, node);
	assert_int_equal(unplaced(), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(sums_wait_for_the_walk_of_their_path),
		T(last_walk_of_an_index_has_the_path),
		T(sums_without_their_walk_have_no_path),
		T(taken_path_waits_for_a_walk_of_its_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
