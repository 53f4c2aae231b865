/* SPDX-License-Identifier: MIT */
/*
 * The daemon's recorder, fed with records of this process: a snapshot of its own stack as the
 * STACK record that the kernel half would have sent, the same stack as a WALKED one, and the calls
 * that made it as branch records (the machines that this is tested on have none of their own).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "daemon/recorder/recorder.h"
#include "walk_self.h"

#define DEPTH 6
#define RING  32
#define CALLS (DEPTH + 1) /* that `snap` stands for below its first frame, all direct ones */

static struct snapshot snap;
static struct recorder *recorder;
static uint64_t now = 1000;

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(recurse(&snap, DEPTH), DEPTH);
	assert_int_equal(recorder_new(&(struct recorder_options){.usual_period = 1000}, &recorder),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	recorder_free(recorder);
	snapshot_free(&snap);
	return 0;
}

static struct stackd_header header_of(uint8_t kind)
{
	return (struct stackd_header){
		.version = STACKD_ABI_VERSION,
		.kind = kind,
		.tid = (uint32_t)getpid(),
		.time_ns = now,
	};
}

/* --- records --------------------------------------------------------------------------------- */

static int send_stack_of(const union stackd_measurement *event)
{
	struct stackd_stack_record *record = calloc(1, sizeof(*record) + snap.stack_bytes);
	int err;

	assert_non_null(record);
	record->header = header_of(STACKD_RECORD_STACK);
	record->header.flags = STACKD_HAS_REGS;
	record->pid = (uint32_t)getpid();
	record->stack_bytes = (uint32_t)snap.stack_bytes;
	record->regs = snap.regs;
	record->event = *event;
	record->header.event = event->kind;
	memcpy(record + 1, snap.stack, snap.stack_bytes);
	err = recorder_sample(recorder, &record->header);
	free(record);
	return err;
}

static int send_stack(void)
{
	return send_stack_of(&(union stackd_measurement){0});
}

/* A stack of one frame that nothing is known of. */
static int send_frame(uint32_t pid, uint32_t tid)
{
	struct stackd_stack_record record = {.header = header_of(STACKD_RECORD_STACK), .pid = pid};

	record.header.flags = STACKD_HAS_REGS;
	record.header.tid = tid;
	record.regs.r[STACKD_REG_PC] = 4096;
	return recorder_sample(recorder, &record.header);
}

/* The calls that led to the snapshot, as the processor would have kept them: newest first. */
static int send_branches(uint32_t tid)
{
	struct {
		struct stackd_branch_record record;
		struct stackd_branch branches[CALLS];
	} sent = {.record = {.header = header_of(STACKD_RECORD_BRANCHES), .n = CALLS}};

	sent.record.header.tid = tid;
	sent.record.pid = (uint32_t)getpid();
	for (int i = 0; i < CALLS; i++) {
		uint64_t after = snap.expected[i + 1];
		const uint8_t *call = (const uint8_t *)(after - 5);
		int32_t distance;

		assert_int_equal(*call, 0xe8);
		memcpy(&distance, call + 1, sizeof(distance));
		sent.branches[i] =
			(struct stackd_branch){.from = after - 5, .to = after + (uint64_t)distance};
	}
	return recorder_sample(recorder, &sent.record.header);
}

/* The number that the recorder has given to this program's file, and where an address lies in it.
 */
static uint32_t file_number(const struct batch *batch)
{
	char exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	assert_true(len > 0);
	exe[len] = '\0';
	for (size_t i = 0; i < batch->n_objects; i++) {
		if (!strcmp(batch->objects[i]->path, exe))
			return batch->objects[i]->number + 1;
	}
	fail_msg("%s is not among the objects", exe);
	return 0;
}

static uint64_t file_offset(uint64_t address)
{
	struct self_map *map = self_map_new();
	const struct object *object;
	uint64_t offset = 0;

	assert_non_null(map);
	assert_true(self_find(map, address, &object, &offset));
	self_map_free(map);
	return offset;
}

static uint8_t *put(uint8_t *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return to + size;
}

/* A walk that found the thread's last walk unchanged, but for the last of its `frames`. */
static int send_kept(uint32_t file, int frames, uint8_t sequence)
{
	struct {
		struct stackd_header header;
		uint8_t bytes[12];
	} sent = {.header = header_of(STACKD_RECORD_WALKED)};
	const uint32_t mark = STACKD_FRAME_LONG;
	uint64_t location = (uint64_t)file << 48 | file_offset(snap.regs.r[STACKD_REG_PC]) |
			    STACKD_LOCATION_EXACT;

	put(put(sent.bytes, &mark, sizeof(mark)), &location, sizeof(location));
	sent.header.bytes = sizeof(sent.bytes);
	sent.header.kept = (uint32_t)(frames - 1);
	sent.header.sequence = sequence;
	sent.header.end_reason = STACKD_END_ENTRY;
	return recorder_sample(recorder, &sent.header);
}

/* The top `frames` of the snapshot's stack as the kernel half's walk, with heights if `heights`. */
static int send_walked(uint32_t file, int frames, bool heights)
{
	struct {
		struct stackd_header header;
		uint8_t bytes[(4 + 8 + 4) * (DEPTH + 2) + 4];
	} sent = {.header = header_of(STACKD_RECORD_WALKED)};
	const uint32_t mark = STACKD_FRAME_LONG;
	uint8_t *at = sent.bytes;

	assert_true(frames <= DEPTH + 2);
	for (int i = 0; i < frames; i++) {
		uint64_t address = i ? snap.expected[i] - 1 : snap.regs.r[STACKD_REG_PC];
		uint64_t location = (uint64_t)file << 48 | file_offset(address) |
				    (i ? 0 : STACKD_LOCATION_EXACT);
		uint32_t height = 1000 - 32 * (uint32_t)(frames - i);

		if (heights)
			at = put(at, &height, sizeof(height));
		at = put(at, &mark, sizeof(mark));
		at = put(at, &location, sizeof(location));
	}
	if (heights)
		at = put(at, &(uint32_t){8}, sizeof(uint32_t));
	sent.header.bytes = (uint32_t)(at - sent.bytes);
	sent.header.end_reason = STACKD_END_SEGMENT;
	return recorder_sample(recorder, &sent.header);
}

/* --- what came of them ----------------------------------------------------------------------- */

/* Makes the recorder anew, with these options. */
static void make_recorder(const struct recorder_options *options)
{
	recorder_free(recorder);
	recorder = NULL;
	assert_int_equal(recorder_new(options, &recorder), 0);
}

static void use_branches(bool heights)
{
	make_recorder(&(struct recorder_options){.usual_period = 1000,
						 .has_branches = true,
						 .branches = {true, RING},
						 .has_heights = heights});
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
}

/* The origin of the only sample of a batch, which is to be freed; `sent`: the origins that went
 * with batches before. */
static struct origin only_origin(uint32_t sent, struct batch **ret_batch)
{
	struct batch *batch = recorder_take_batch(recorder);
	uint32_t number;

	assert_non_null(batch);
	assert_int_equal(batch->n_samples, 1);
	*ret_batch = batch;
	number = batch->samples[0].origin;
	if (number == ORIGIN_WALKED)
		return (struct origin){0};
	assert_true(number > sent && number <= sent + batch->n_origins);
	return batch->origins[number - sent - 1];
}

static uint32_t frames_of(const struct origin *origin, enum frame_source source)
{
	uint32_t frames = 0;

	for (uint32_t i = 0; i < origin->n_runs; i++)
		frames += origin->runs[i].source == source ? origin->runs[i].frames : 0;
	return frames;
}

static void calls_among_the_records_are_theirs(bool heights)
{
	struct origin origin;
	struct batch *batch;

	use_branches(heights);
	assert_int_equal(send_branches((uint32_t)getpid()), 0);
	assert_int_equal(send_stack(), 0);
	origin = only_origin(0, &batch);
	assert_int_equal(frames_of(&origin, FRAME_SOURCE_BRANCH), CALLS);
	assert_true(origin.is_complete);
	assert_int_equal(batch->samples[0].end_reason, STACKD_END_ENTRY);
	batch_free(batch);
}

static void copied_stack_with_branches(void **state)
{
	(void)state;
	calls_among_the_records_are_theirs(false);
}

static void copied_stack_with_branches_and_heights(void **state)
{
	(void)state;
	calls_among_the_records_are_theirs(true);
}

/* The kernel half saw the top alone: what the records have beyond it is added at the root. */
static void check_short_walk_is_extended(bool heights)
{
	struct recorder_counts counts;
	struct origin origin;
	struct batch *batch;
	uint32_t file, node, origins, depth = 0;

	use_branches(heights);
	assert_int_equal(send_stack(), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	file = file_number(batch);
	node = (uint32_t)batch->n_nodes;
	origins = (uint32_t)batch->n_origins;
	batch_free(batch);
	now++;
	assert_int_equal(send_branches((uint32_t)getpid()), 0);
	assert_int_equal(send_walked(file, 3, heights), 0);
	origin = only_origin(origins, &batch);
	assert_int_equal(frames_of(&origin, FRAME_SOURCE_BRANCH), CALLS);
	assert_false(origin.is_complete);
	for (uint32_t at = batch->samples[0].node; at > node;
	     at = batch->nodes[at - node - 1].parent)
		depth++;
	assert_int_equal(depth, CALLS + 1);
	batch_free(batch);
	recorder_counts(recorder, &counts);
	assert_int_equal(counts.end_reasons[STACKD_END_LOST_RECORD], 0);
}

static void walk_with_branches(void **state)
{
	(void)state;
	check_short_walk_is_extended(false);
}

static void walk_with_branches_and_heights(void **state)
{
	(void)state;
	check_short_walk_is_extended(true);
}

/* Another thread's, or none at all: every frame is as the walk found it. */
static void without_branches_frames_are_walked(void **state)
{
	struct batch *batch;

	(void)state;
	use_branches(false);
	assert_int_equal(send_branches((uint32_t)getpid() + 1), 0);
	assert_int_equal(send_stack(), 0);
	only_origin(0, &batch);
	assert_int_equal(batch->samples[0].origin, ORIGIN_WALKED);
	assert_int_equal(batch->n_origins, 0);
	batch_free(batch);
}

static void height_is_kept(void **state)
{
	struct origin origin;
	struct batch *batch;

	(void)state;
	make_recorder(&(struct recorder_options){.usual_period = 1000, .has_heights = true});
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	assert_int_equal(send_stack(), 0);
	origin = only_origin(0, &batch);
	assert_int_equal(origin.n_runs, 0);
	assert_true(origin.height > 0 && origin.height < snap.stack_bytes);
	batch_free(batch);
}

/* The locations of a batch's only sample, leaf first, as (object row, offset) pairs. */
static size_t only_path(const struct batch *batch, struct store_location *ret_path)
{
	size_t n = 0;

	assert_int_equal(batch->n_samples, 1);
	for (uint32_t at = batch->samples[0].node; at; at = batch->nodes[at - 1].parent)
		ret_path[n++] = batch->locations[batch->nodes[at - 1].location];
	return n;
}

/* A region's pass has the time at which it ended, also where the path was walked much later and the
 * record's bits of the time have begun anew in between; a call of mmap() has its record's. */
static void pass_has_the_time_of_its_end(void **state)
{
	const uint64_t ended = 0x1fffffffffff0;
	const union stackd_measurement pass = {
		.pass = {.kind = STACKD_EVENT_REGION,
			 .number = 1,
			 .wall_ns = 100,
			 .cpu_ns = 90,
			 .ended_ns = ended & STACKD_PASS_MOST_LATE_NS}};
	const union stackd_measurement call = {
		.alloc = {.kind = STACKD_EVENT_MAP, .size = 4096, .weight = 4096}};
	struct batch *batch;

	(void)state;
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	now = ended + 10000000;
	assert_int_equal(send_stack_of(&pass), 0);
	assert_int_equal(send_stack_of(&call), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	assert_true(batch->n_records > 2);
	for (size_t i = 0; i < batch->n_records; i++) {
		const struct batch_record *record = &batch->records[i];
		bool is_region =
			record->series == SERIES_REGION_TIME || record->series == SERIES_REGION_CPU;

		assert_int_equal(record->row.time_ns, is_region ? ended : now);
	}
	batch_free(batch);
}

/* A pass that was left is found later, after days maybe: it has the time of its end, and says that
 * it was left whatever the walk has come to. */
static void left_pass_has_the_time_of_its_end(void **state)
{
	const uint64_t ended = 0x1fffffffffff0, days = UINT64_C(3) * 24 * 3600 * 1000000000;
	const union stackd_measurement pass = {
		.pass = {.kind = STACKD_EVENT_LEFT,
			 .number = 1,
			 .wall_ns = 100,
			 .ended_ns = ended & STACKD_PASS_MOST_LATE_NS}};
	struct recorder_counts counts;
	struct batch *batch;

	(void)state;
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	now = ended + days;
	assert_int_equal(send_stack_of(&pass), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	assert_true(batch->n_records > 0);
	for (size_t i = 0; i < batch->n_records; i++) {
		assert_int_equal(batch->records[i].row.time_ns, ended);
		assert_int_equal(batch->records[i].row.end_reason, STACKD_END_LEFT);
	}
	batch_free(batch);
	recorder_counts(recorder, &counts);
	assert_int_equal(counts.instances, 1);
	assert_int_equal(counts.partial_instances, 0);
}

/* Returns whether a batch has a record of a series with this value. */
static bool has_record(const struct batch *batch, enum metric_series series, uint64_t value)
{
	for (size_t i = 0; i < batch->n_records; i++) {
		if (batch->records[i].series == series && batch->records[i].row.period == value)
			return true;
	}
	return false;
}

/* Sends an event, and expects a record of it with this value. */
static void expect_record(const union stackd_measurement *event, enum metric_series series,
			  uint64_t value)
{
	struct batch *batch;

	assert_int_equal(send_stack_of(event), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	assert_int_equal(batch->n_samples, 0);
	if (!has_record(batch, series, value))
		fail_msg("kind %u has no record of series %u", event->kind, series);
	batch_free(batch);
}

/* Each kind of event writes a series of its own, and is counted. */
static void each_kind_of_event_has_its_series(void **state)
{
	const uint32_t self = (uint32_t)getpid();
	union stackd_measurement event = {.pass = {.number = 1, .wall_ns = 10}};
	struct recorder_counts counts;

	(void)state;
	make_recorder(&(struct recorder_options){.usual_period = 1000, .alloc_distance = 1 << 20});
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	assert_int_equal(recorder_name_mark(recorder, "a mark"), 0);
	event.pass.kind = STACKD_EVENT_REGION;
	expect_record(&event, SERIES_REGION_TIME, 10);
	event.pass.kind = STACKD_EVENT_LEFT;
	expect_record(&event, SERIES_REGION_TIME, 10);
	event.pass.kind = STACKD_EVENT_MARK;
	event.pass.number = STACKD_MOST_REGIONS + 1;
	expect_record(&event, SERIES_REGION_TIME, 10);
	event.alloc = (struct stackd_alloc){
		.kind = STACKD_EVENT_ALLOC, .address = 5, .size = 8, .weight = 13};
	expect_record(&event, SERIES_ALLOC_BYTES, 13);
	event.alloc.kind = STACKD_EVENT_FAULT;
	expect_record(&event, SERIES_MEMORY_TOUCHED, 13);
	event.alloc.kind = STACKD_EVENT_MAP;
	expect_record(&event, SERIES_MEMORY_MAPPED, 8);
	event.free = (struct stackd_free){.kind = STACKD_EVENT_FREE, .address = 5};
	expect_record(&event, SERIES_FREED_BYTES, 13);
	event.wait = (struct stackd_wait){
		.kind = STACKD_EVENT_WAIT, .state = 2, .call = -1, .blocked_ns = 14};
	expect_record(&event, SERIES_WAIT_BLOCKED, 14);
	event.untraced = (struct stackd_untraced){.kind = STACKD_EVENT_UNTRACED, .runnable_ns = 15};
	expect_record(&event, SERIES_WAIT_RUNNABLE, 15);
	event.wake = (struct stackd_wake){.kind = STACKD_EVENT_WAKE, .pid = self, .tid = self};
	expect_record(&event, SERIES_WAIT_WAKER, WAKER_OF_THREAD(self));
	event.life = (struct stackd_life){.kind = STACKD_EVENT_LIFE, .is_begun = 1};
	expect_record(&event, SERIES_THREAD_BEGIN, 0);
	recorder_counts(recorder, &counts);
	assert_int_equal(counts.instances, 7);
	assert_int_equal(counts.waits, 1);
	assert_int_equal(counts.wakers, 1);
	assert_int_equal(counts.received, 0);
}

/* A mark that the daemon has not named is no reason to end: its pass is left out. */
static void unknown_mark_is_left_out(void **state)
{
	const union stackd_measurement pass = {
		.pass = {.kind = STACKD_EVENT_MARK, .number = STACKD_MOST_REGIONS + 1}};
	const union stackd_measurement wrong = {.pass = {.kind = STACKD_EVENT_MARK, .number = 1}};
	struct recorder_counts counts;
	struct batch *batch;

	(void)state;
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	assert_int_equal(send_stack_of(&pass), 0);
	assert_int_equal(send_stack_of(&wrong), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	assert_int_equal(batch->n_records, 0);
	batch_free(batch);
	recorder_counts(recorder, &counts);
	assert_int_equal(counts.instances, 2);
	assert_int_equal(counts.partial_instances, 2);
}

/* A wait with a switch that was not traced has the time at which it ended, also where that was
 * found out a second later, as at the thread's next switch. */
static void untraced_wait_has_the_time_of_its_end(void **state)
{
	const uint64_t late = 1000000000, runnable = 300;
	const union stackd_measurement event = {.untraced = {.kind = STACKD_EVENT_UNTRACED,
							     .blocked_ns = 500,
							     .runnable_ns = runnable,
							     .late_ns = late}};
	struct batch *batch;

	(void)state;
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	now = 10 * late;
	assert_int_equal(send_stack_of(&event), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	for (uint32_t series = SERIES_WAIT_BLOCKED; series <= SERIES_WAIT_RUNNABLE; series++) {
		size_t found = 0;

		for (size_t i = 0; i < batch->n_records; i++) {
			if (batch->records[i].series != series)
				continue;
			found++;
			assert_int_equal(batch->records[i].row.time_ns,
					 series == SERIES_WAIT_RUNNABLE ? now - late
									: now - late - runnable);
		}
		assert_int_equal(found, 1);
	}
	batch_free(batch);
}

/* A walk that builds on one of the window before has the same path, and its window has all rows
 * that it needs and no others. */
static void window_begins_anew(void **state)
{
	struct store_location before[DEPTH + 2], after[DEPTH + 2];
	struct recorder_counts counts;
	struct batch *batch;
	uint32_t file;
	size_t n;

	(void)state;
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	assert_int_equal(send_stack(), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	file = file_number(batch);
	batch_free(batch);
	assert_int_equal(recorder_begin_anew(recorder), 0);
	assert_int_equal(send_walked(file, DEPTH, false), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	n = only_path(batch, before);
	assert_int_equal(n, DEPTH);
	assert_int_equal(batch->n_objects, 1);
	assert_int_equal(batch->objects[0]->number + 1, file);
	batch_free(batch);
	for (uint8_t window = 1; window < 3; window++) {
		assert_int_equal(recorder_begin_anew(recorder), 0);
		assert_int_equal(send_kept(file, DEPTH, window), 0);
		batch = recorder_take_batch(recorder);
		assert_non_null(batch);
		assert_int_equal(only_path(batch, after), n);
		for (size_t i = 0; i < n; i++) {
			assert_true(after[i].offset == before[i].offset);
			assert_true(after[i].is_return == before[i].is_return);
			assert_int_equal(after[i].object, 0);
		}
		assert_int_equal(batch->n_objects, 1);
		assert_int_equal(batch->n_nodes, n);
		assert_int_equal(batch->samples[0].thread, batch->threads[0].number);
		assert_int_equal(batch->processes[batch->threads[0].process].pid, getpid());
		batch_free(batch);
	}
	recorder_counts(recorder, &counts);
	assert_int_equal(counts.received, 4);
	assert_int_equal(counts.end_reasons[STACKD_END_LOST_RECORD], 0);
	assert_int_equal(counts.out_of_sequence, 0);
}

/* Processes come and end; a sample hits only the last of them. What a store has of them is that
 * one, and the window goes on. */
static void processes_without_samples_have_no_rows(void **state)
{
	struct sideband_event fork = {
		.kind = SIDEBAND_FORK, .parent_pid = getpid(), .parent_tid = getpid()};
	const int n = 200000;
	struct batch *batch;
	int err = 0;

	(void)state;
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	for (int i = 0; i < n && !err; i++) {
		struct sideband_event end = {.kind = SIDEBAND_EXIT};

		fork.pid = fork.tid = end.pid = end.tid = 1000000 + i;
		err = recorder_event(recorder, &fork);
		if (!err && i < n - 1)
			err = recorder_event(recorder, &end);
		if (i % 10000 == 0)
			batch_free(recorder_take_batch(recorder));
	}
	assert_int_equal(err, 0);
	assert_false(recorder_is_full(recorder));
	assert_int_equal(send_frame(1000000 + n - 1, 1000000 + n - 1), 0);
	assert_int_equal(send_stack(), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	assert_int_equal(batch->n_processes, 2);
	assert_int_equal(batch->n_threads, 2);
	assert_int_equal(batch->processes[0].pid, 1000000 + n - 1);
	assert_int_equal(batch->processes[0].parent, getpid());
	assert_int_equal(batch->processes[1].pid, getpid());
	for (int i = 0; i < 2; i++) {
		assert_int_equal(batch->threads[i].process, i);
		assert_int_equal(batch->samples[i].thread, i);
	}
	batch_free(batch);
}

/* A row stays that of its thread when the records of ended ones are forgotten. */
static void rows_stay_as_they_are(void **state)
{
	struct sideband_event fork = {
		.kind = SIDEBAND_FORK, .parent_pid = getpid(), .parent_tid = getpid()};
	struct batch *batch;

	(void)state;
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	for (int i = 0; i < 70000; i++) {
		struct sideband_event end = {.kind = SIDEBAND_EXIT};

		fork.pid = fork.tid = end.pid = end.tid = 1000000 + i;
		assert_int_equal(recorder_event(recorder, &fork), 0);
		if (i == 500)
			assert_int_equal(send_frame(1000500, 1000500), 0);
		assert_int_equal(recorder_event(recorder, &end), 0);
	}
	assert_int_equal(send_stack(), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	assert_int_equal(batch->n_threads, 2);
	batch_free(batch);
	assert_int_equal(send_stack(), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	assert_int_equal(batch->n_threads, 0);
	assert_int_equal(batch->n_processes, 0);
	assert_int_equal(batch->samples[0].thread, 1);
	batch_free(batch);
}

/* So many threads with samples that a window would take too much memory: it is said, until the next
 * begins. */
static void many_threads_fill_it(void **state)
{
	struct sideband_event fork = {
		.kind = SIDEBAND_FORK, .pid = getpid(), .parent_pid = getpid()};
	int n = 0;

	(void)state;
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	for (; n < 300000 && !recorder_is_full(recorder); n++) {
		fork.tid = 1000000 + n;
		fork.parent_tid = getpid();
		assert_int_equal(recorder_event(recorder, &fork), 0);
		assert_int_equal(send_frame((uint32_t)getpid(), 1000000 + (uint32_t)n), 0);
	}
	assert_in_range(n, 100000, 299999);
	assert_true(recorder_count_full(recorder));
	batch_free(recorder_take_batch(recorder));
	assert_int_equal(recorder_begin_anew(recorder), 0);
	assert_false(recorder_is_full(recorder));
}

/* Returns what the newest process of a sample of this one is called. */
static void name_of_sample(char ret_name[16])
{
	struct batch *batch;

	assert_int_equal(send_stack(), 0);
	batch = recorder_take_batch(recorder);
	assert_non_null(batch);
	assert_int_equal(batch->n_samples, 1);
	assert_true(batch->n_threads > 0);
	snprintf(ret_name, 16, "%s", batch->threads[batch->n_threads - 1].comm);
	batch_free(batch);
}

static void use_up_share(void)
{
	struct sideband_peek map = {
		.kind = SIDEBAND_MMAP, .pid = getpid(), .time_ns = 1, .drain = 1};
	enum sideband_verdict verdict = SIDEBAND_TAKE;

	for (int i = 0; i < 100000 && verdict == SIDEBAND_TAKE; i++)
		verdict = recorder_judge_event(recorder, &map);
	assert_int_equal(verdict, SIDEBAND_TAKE_UNREAD);
	assert_int_equal(recorder_judge_event(recorder, &map), SIDEBAND_SKIP);
	map.kind = SIDEBAND_COMM;
	map.drain = 2;
	assert_int_equal(recorder_judge_event(recorder, &map), SIDEBAND_SKIP);
}

/* The kernel has lost events, and reading all processes again has to wait for its part of the
 * budget: a process is not taken for what it was before. */
static void what_was_lost_is_not_shown(void **state)
{
	const struct sideband_event lost = {.kind = SIDEBAND_LOST, .lost = 1};
	char before[16], name[16], unknown[16], after[16];

	(void)state;
	recorder_free(recorder);
	assert_int_equal(
		recorder_new(&(struct recorder_options){.usual_period = 1000, .budget = 1e-9},
			     &recorder),
		0);
	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	assert_int_equal(recorder_event(recorder, &lost), 0); /* this one reads them at once */
	name_of_sample(name);
	assert_string_equal(name, before);

	assert_int_equal(prctl(PR_SET_NAME, "renamed"), 0);
	assert_int_equal(recorder_event(recorder, &lost), 0);
	name_of_sample(name);
	assert_string_equal(name, "renamed");

	/* What little is left may pay for reading it some times more. */
	use_up_share();
	snprintf(unknown, sizeof(unknown), ":%d", getpid());
	for (int i = 0; i < 10000 && strcmp(name, unknown) != 0; i++) {
		snprintf(after, sizeof(after), "after-%d", i);
		assert_int_equal(prctl(PR_SET_NAME, after), 0);
		assert_int_equal(recorder_event(recorder, &lost), 0);
		name_of_sample(name);
		assert_true(!strcmp(name, after) || !strcmp(name, unknown));
	}
	assert_string_equal(name, unknown);
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(copied_stack_with_branches),
		T(copied_stack_with_branches_and_heights),
		T(walk_with_branches),
		T(walk_with_branches_and_heights),
		T(without_branches_frames_are_walked),
		T(height_is_kept),
		T(pass_has_the_time_of_its_end),
		T(left_pass_has_the_time_of_its_end),
		T(each_kind_of_event_has_its_series),
		T(unknown_mark_is_left_out),
		T(untraced_wait_has_the_time_of_its_end),
		T(window_begins_anew),
		T(processes_without_samples_have_no_rows),
		T(rows_stay_as_they_are),
		T(many_threads_fill_it),
		T(what_was_lost_is_not_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
