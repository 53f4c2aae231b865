/* SPDX-License-Identifier: MIT */
/*
 * Stacks that a worker walks while the loop goes on (daemon/recorder/recorder_ahead.c,
 * daemon/worker/walk_queue.c). The worker is a process of the daemon's fork server, but what it
 * runs is this test's: it makes a path that tells which stack was asked for, and by which mappings,
 * and answers no more walks than the test allows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "daemon/capture/record_pool.h"
#include "daemon/recorder/recorder_internal.h"
#include "daemon/worker/ask_walks.h"
#include "daemon/worker/walk_wire.h"
#include "daemon/worker/wire.h"
#include "proc/mapping_set.h"

#define N     3000
#define BASE  UINT64_C(0x100000)
#define CHILD 4999999 /* a process of which only events tell: pids end at 4194304 */
#define STACK 200     /* bytes, as a rule */

/* Shared with the worker. */
static struct gate {
	uint64_t allowed;  /* walks, in all */
	uint64_t answered; /* so far */
	uint64_t end_at;   /* a program counter; 0: none */
	uint64_t ends;
	uint64_t stack_bytes;
} * gate;

static struct fork_server *server;
static struct workers *workers;
static struct recorder *recorder;
static struct reorder *queue;
static struct {
	uint64_t pc, version;
} taken[N];
static size_t n_taken;
static uint64_t random_state;

/* --- the worker ------------------------------------------------------------------------------ */

/* Whether stackd gives the mappings that the walk is to be made by. */
static bool has_mappings(const struct wire *wire, const struct walk_wire_head *head)
{
	const struct wire_header question = {.kind = WIRE_ASK_MAPPINGS,
					     .len = sizeof(head->pids[0])};
	struct wire_header header;
	struct buf answer = {0};
	int fd;

	if (wire_send(wire, &question, &head->pids[0], -1) ||
	    wire_receive(wire, WIRE_MAX_BYTES, &header, &answer, &fd))
		_exit(1);
	buf_free(&answer);
	return !header.status;
}

/* "Walks" a stack: its program counter and the version of its mappings are the path. */
static void walk(const struct wire *wire, struct buf_reader *one, struct buf *reply)
{
	struct walk_wire_result result = {.reason = STACKD_END_ENTRY, .count = 2};
	struct walk_wire_frame frame = {.object = WALK_WIRE_NO_OBJECT,
					.provenance = PROVENANCE_CFI};
	struct walk_wire_input in;
	struct walk_wire_head head;

	BUF_GET(one, head);
	BUF_GET(one, in);
	if (__atomic_load_n(&gate->end_at, __ATOMIC_SEQ_CST) == in.regs.r[STACKD_REG_PC]) {
		__atomic_add_fetch(&gate->ends, 1, __ATOMIC_SEQ_CST);
		_exit(1);
	}
	if (in.regs.r[STACKD_REG_PC] % 7 == 0 && !has_mappings(wire, &head))
		result.reason = STACKD_END_NO_MAPPING;
	if (buf_left(one) != gate->stack_bytes || one->at[0] != 1 || one->end[-1] != 2)
		result.reason = STACKD_END_BAD_RETURN;
	BUF_PUT(reply, result);
	frame.address = frame.offset = in.regs.r[STACKD_REG_PC];
	BUF_PUT(reply, frame);
	frame.address = frame.offset = head.mappings[0];
	frame.is_return = 1;
	BUF_PUT(reply, frame);
	/* It does not sleep: that would be a hang. */
	while (__atomic_load_n(&gate->answered, __ATOMIC_SEQ_CST) >=
	       __atomic_load_n(&gate->allowed, __ATOMIC_SEQ_CST))
		;
	__atomic_add_fetch(&gate->answered, 1, __ATOMIC_SEQ_CST);
}

static void send_result(const struct wire *wire, enum wire_kind kind, int status,
			const struct buf *bytes)
{
	const struct wire_header header = {
		.kind = kind, .status = status, .len = (uint32_t)bytes->len};

	if (wire_send(wire, &header, bytes->data, -1))
		_exit(0);
}

static void walk_all(const struct wire *wire, const struct buf *request, struct buf *reply)
{
	struct buf_reader reader = buf_reader(request->data, request->len);
	uint32_t len;

	while (BUF_GET(&reader, len)) {
		struct buf_reader one = buf_reader(reader.at, len);

		reader.at += len;
		buf_clear(reply);
		walk(wire, &one, reply);
		send_result(wire, WIRE_PART, 0, reply);
	}
	buf_clear(reply);
}

/* No file can be read here. */
static void run_worker(int socket, void *page)
{
	const struct wire wire = {.socket = socket};
	struct buf request = {0}, reply = {0};
	struct wire_header header;
	int fd;

	(void)page;
	while (!wire_receive(&wire, WIRE_MAX_BYTES, &header, &request, &fd)) {
		bool is_walk = header.kind == WIRE_WALKS;

		if (fd >= 0)
			close(fd);
		buf_clear(&reply);
		if (is_walk)
			walk_all(&wire, &request, &reply);
		send_result(&wire, WIRE_REPLY, is_walk ? 0 : -ENOEXEC, &reply);
	}
}

/* --- stackd ---------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	memset(gate, 0, sizeof(*gate));
	n_taken = 0;
	gate->stack_bytes = STACK;
	random_state = 1;
	assert_int_equal(fork_server_new(run_worker, &server), 0);
	assert_int_equal(workers_new(server, 0, &workers), 0);
	assert_int_equal(
		recorder_new(&(struct recorder_options){.usual_period = 1000, .workers = workers},
			     &recorder),
		0);
	assert_int_equal(recorder_load_process(recorder, getpid()), 0);
	assert_int_equal(reorder_new(&queue), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	recorder_free(recorder);
	reorder_free(queue);
	workers_free(workers);
	fork_server_free(server);
	return 0;
}

static uint64_t draw(uint64_t below)
{
	random_state = hash_mix64(random_state + 1);
	return random_state % below;
}

static void push_event(uint64_t time_ns, const struct sideband_event *event)
{
	struct reorder_item item = {.time_ns = time_ns,
				    .event = record_pool_take(NULL, sizeof(*event))};

	assert_non_null(item.event);
	*item.event = *event;
	assert_int_equal(reorder_push(queue, &item), 0);
}

/* Sample `i`, with a stack, at time 10 i. */
static void push_sample(uint64_t i, uint32_t pid)
{
	const size_t bytes = gate->stack_bytes;
	struct stackd_stack_record *record = record_pool_take(NULL, sizeof(*record) + bytes);
	struct reorder_item item = {.time_ns = 10 * i, .sample = &record->header};

	assert_non_null(record);
	memset(record, 0, sizeof(*record) + bytes);
	record->header = (struct stackd_header){.version = STACKD_ABI_VERSION,
						.kind = STACKD_RECORD_STACK,
						.flags = STACKD_HAS_REGS,
						.tid = pid + (uint32_t)(i % 3),
						.time_ns = item.time_ns};
	record->pid = pid;
	record->stack_bytes = (uint32_t)bytes;
	((uint8_t *)(record + 1))[0] = 1;
	((uint8_t *)(record + 1))[bytes - 1] = 2;
	record->regs.r[STACKD_REG_PC] = BASE + i;
	record->regs.r[STACKD_REG_SP] = 4096;
	assert_int_equal(reorder_push(queue, &item), 0);
}

/* Changes what a process has mapped. */
static void push_mapping(uint64_t time_ns, pid_t pid, uint64_t number)
{
	const struct sideband_event event = {
		.kind = SIDEBAND_MMAP,
		.time_ns = time_ns,
		.pid = pid,
		.tid = pid,
		.mapping = {.path = "//anon", .start = number << 12, .end = (number + 1) << 12}};

	push_event(time_ns, &event);
}

static void take(struct reorder_item *item)
{
	const struct stackd_stack_record *record = (const void *)item->sample;

	if (item->event) {
		assert_int_equal(recorder_event(recorder, item->event), 0);
	} else {
		const struct mapping_set *set =
			process_table_mappings(recorder->tasks.processes, (pid_t)record->pid);

		assert_non_null(set);
		assert_in_range(n_taken, 0, N - 1);
		taken[n_taken].pc = record->regs.r[STACKD_REG_PC];
		taken[n_taken++].version = set->version;
		assert_int_equal(recorder_sample(recorder, item->sample), 0);
	}
	record_pool_give_back(item->event);
	record_pool_give_back(item->sample);
}

/* As the session does. */
static void hand_out(uint64_t horizon_ns)
{
	struct reorder_item item;

	while (!recorder_awaits_walk(recorder, queue, horizon_ns, true) &&
	       reorder_pop(queue, horizon_ns, &item))
		take(&item);
}

static void allow(uint64_t more)
{
	__atomic_add_fetch(&gate->allowed, more, __ATOMIC_SEQ_CST);
}

/* Hands out all that waits. `most` walks are answered at a time. */
static void hand_out_all(uint64_t most)
{
	while (reorder_waiting(queue)) {
		struct pollfd answers = {.fd = recorder_poll_fd(recorder), .events = POLLIN};

		if (__atomic_load_n(&gate->answered, __ATOMIC_SEQ_CST) + most >
		    __atomic_load_n(&gate->allowed, __ATOMIC_SEQ_CST))
			allow(1 + draw(most));
		poll(&answers, 1, WORKER_LOOK_MS);
		recorder_go_on(recorder);
		hand_out(UINT64_MAX);
	}
}

/* The offset of a node's location, which the batch has, as all before it. */
static uint64_t offset_of(const struct batch *batch, uint32_t node)
{
	assert_in_range(node, 1, batch->n_nodes);
	return batch->locations[batch->nodes[node - 1].location].offset;
}

/* Each sample has the path that was made for it, by the mappings of its moment; `but_one` has none.
 */
static void check_paths(size_t count, uint64_t but_one)
{
	struct batch *batch = recorder_take_batch(recorder);

	assert_non_null(batch);
	assert_int_equal(n_taken, count);
	assert_int_equal(batch->n_samples, count);
	for (size_t i = 0; i < count; i++) {
		const struct store_sample *sample = &batch->samples[i];

		assert_int_equal(sample->time_ns, 10 * i);
		assert_int_equal(taken[i].pc, BASE + i);
		assert_int_equal(offset_of(batch, sample->node), taken[i].pc);
		if (taken[i].pc == but_one) {
			assert_int_equal(sample->end_reason, STACKD_END_NO_MAPPING);
			continue;
		}
		assert_int_equal(sample->end_reason, STACKD_END_ENTRY);
		assert_int_equal(offset_of(batch, batch->nodes[sample->node - 1].parent),
				 taken[i].version);
	}
	batch_free(batch);
}

/* --- tests ----------------------------------------------------------------------------------- */

/* A worker that answers nothing keeps no record from being read, nor those before its walk from
 * being handed out; what comes after it waits. */
static void nothing_waits_for_a_silent_worker(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		push_sample(i, (uint32_t)getpid());
		if (i % 64 == 0)
			hand_out(10 * i);
	}
	assert_int_equal(n_taken, 0);
	assert_int_equal(reorder_waiting(queue), N);
	assert_true(recorder_walks(recorder));
	allow(1);
	while (!n_taken) {
		recorder_go_on(recorder);
		hand_out(UINT64_MAX);
	}
	assert_int_equal(n_taken, 1);
	hand_out_all(64);
	check_paths(N, 0);
	assert_int_equal(gate->answered, N);
}

/* Processes map code in between. */
static void each_stack_has_its_own_walk(void **state)
{
	const pid_t pids[] = {getpid(), CHILD};
	uint64_t events = 1;

	(void)state;
	push_event(0, &(struct sideband_event){.kind = SIDEBAND_FORK,
					       .pid = CHILD,
					       .tid = CHILD,
					       .parent_pid = getpid(),
					       .parent_tid = getpid()});
	for (uint64_t i = 0; i < N; i++) {
		push_sample(i, (uint32_t)pids[draw(2)]);
		if (draw(20) == 0)
			push_mapping(10 * i + draw(2) * 5, pids[draw(2)], events++);
		if (i > 100 && draw(10) == 0)
			hand_out(10 * (i - 100));
		if (draw(3) == 0)
			allow(draw(4));
	}
	assert_in_range(events, 50, N);
	hand_out_all(8);
	check_paths(N, 0);
	/* Walks were asked for while events were to come, and few of them in vain. */
	assert_in_range(gate->answered, N, N + N / 4);
}

/* A stack at which workers end is tried again, and given up; those beside it lose nothing. */
static void a_worker_that_ends_costs_one_walk(void **state)
{
	const uint64_t pc = BASE + N / 2;

	(void)state;
	gate->end_at = pc;
	for (uint64_t i = 0; i < N; i++)
		push_sample(i, (uint32_t)getpid());
	hand_out_all(64);
	check_paths(N, pc);
	assert_int_equal(gate->ends, ASK_WALKS_TRIES);
}

/* Requests are larger than what a socket takes at a time. */
static void large_stacks(void **state)
{
	(void)state;
	gate->stack_bytes = 128 << 10;
	for (uint64_t i = 0; i < 100; i++)
		push_sample(i, (uint32_t)getpid());
	hand_out_all(64);
	check_paths(100, 0);
}

/* Records are freed while their walks are asked for, being made, and made. */
static void it_ends_at_any_moment(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 300; i++)
		push_sample(i, (uint32_t)getpid());
	allow(10 + (uint64_t)draw(20));
	while (n_taken < 5) {
		recorder_go_on(recorder);
		hand_out(UINT64_MAX);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(nothing_waits_for_a_silent_worker),
		T(each_stack_has_its_own_walk),
		T(a_worker_that_ends_costs_one_walk),
		T(large_stacks),
		T(it_ends_at_any_moment),
	};

	gate = mmap(NULL, sizeof(*gate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (gate == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
