/* SPDX-License-Identifier: MIT */
/*
 * Steps that a worker is asked about (daemon/recorder/caller_check.c, daemon/worker/ask_walks.c):
 * all new ones of a path in a few calls. The worker is a process of the daemon's fork server, but
 * what it runs is this test's: the caller's offset says what it answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/recorder/caller_check.h"
#include "daemon/worker/walks_in_worker.h"
#include "daemon/worker/wire.h"

#define AT_A_TIME 32 /* of caller_check.c */
#define FRAMES	  100
#define WRONG	  UINT64_C(0x10000) /* callers that call nobody */
#define FATAL	  UINT64_C(0x20000) /* that workers end at */
#define SENSELESS UINT64_C(0x40000) /* to which the answer makes no sense */
#define LONELY	  UINT64_C(0x80000) /* after which there is no time for another */

/* Shared with the workers. */
static struct tally {
	uint64_t calls, steps, ends;
	uint64_t budget_ns; /* of the last call */
	bool is_down;	    /* workers end at any step */
} * tally;

static struct fork_server *server;
static struct workers *workers;
static struct object_table *objects;
static struct location_table *locations;
static struct walks *walks;
static struct caller_check *steps;
static struct path path;
static uint64_t now_ns, each_ns;

/* --- the worker ------------------------------------------------------------------------------ */

static void answer(struct buf_reader *request, struct buf *reply)
{
	struct walk_wire_head head;
	struct walk_wire_step step;

	BUF_GET(request, head);
	BUF_GET(request, tally->budget_ns);
	while (BUF_GET(request, step)) {
		struct walk_wire_verdict verdict = {.step = step.caller_offset & WRONG
								    ? CALLFLOW_STEP_WRONG
								    : CALLFLOW_STEP_CONFIRMED,
						    .frame = RUNTIME_CODE_UNREAD};

		tally->steps++;
		if (step.caller_offset & FATAL || tally->is_down) {
			tally->ends++;
			_exit(1);
		}
		if (step.caller_offset & SENSELESS)
			verdict.step = CALLFLOW_STEP_COUNT;
		BUF_PUT(reply, verdict);
		if (step.caller_offset & LONELY)
			break;
	}
}

static void run_worker(int socket, void *page)
{
	const struct wire wire = {.socket = socket};
	struct buf request = {0}, reply = {0};
	struct wire_header header;
	int fd;

	(void)page;
	while (!wire_receive(&wire, WIRE_MAX_BYTES, &header, &request, &fd)) {
		struct buf_reader reader = buf_reader(request.data, request.len);
		struct wire_header said = {.kind = WIRE_REPLY};

		tally->calls++;
		buf_clear(&reply);
		answer(&reader, &reply);
		said.len = (uint32_t)reply.len;
		if (wire_send(&wire, &said, reply.data, -1))
			break;
	}
	_exit(0);
}

/* --- stackd ---------------------------------------------------------------------------------- */

/* A check takes each_ns of this process's time. */
static uint64_t read_clock(void)
{
	return now_ns += each_ns;
}

static const struct mapping_set *no_mappings(void *arg, pid_t pid)
{
	(void)arg;
	(void)pid;
	return NULL;
}

static int set_up(void **state)
{
	const struct object object = {.kind = OBJECT_ELF, .file_id = 77, .path = (char *)"/a"};
	struct ask_walks_options options = {.mappings_of = no_mappings};
	const struct object *added;

	(void)state;
	memset(tally, 0, sizeof(*tally));
	memset(&path, 0, sizeof(path));
	now_ns = each_ns = 0;
	assert_int_equal(fork_server_new(run_worker, &server), 0);
	assert_int_equal(workers_new(server, 0, &workers), 0);
	assert_int_equal(object_table_new("/proc", &objects), 0);
	assert_int_equal(object_table_add(objects, &object, &added), 0);
	assert_int_equal(location_table_new(&locations), 0);
	options.worker = workers_of(workers, WORKER_LOOP);
	options.objects = objects;
	assert_int_equal(walks_in_worker_new(&options, workers_of(workers, WORKER_WALKS), &walks),
			 0);
	assert_int_equal(caller_check_new(&(struct caller_check_options){.objects = objects,
									 .locations = locations,
									 .walks = walks,
									 .clock = read_clock},
					  &steps),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	caller_check_free(steps);
	walks_free(walks);
	location_table_free(locations);
	object_table_free(objects);
	workers_free(workers);
	fork_server_free(server);
	return 0;
}

/* Adds a frame at the leaf, whose callee was found by a weak rule. */
static void add(uint64_t offset)
{
	const struct location location = {.file_id = 77,
					  .offset = offset,
					  .is_return = true,
					  .provenance = PROVENANCE_ANALYSED};

	assert_int_equal(location_intern(locations, &location, &path.locations[path.count]), 0);
	path.count++;
}

static void add_many(uint64_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(first + i);
}

static void check(void)
{
	assert_int_equal(caller_check_path(steps, &path, STACKD_END_NO_RECIPE, false), 0);
	path.kept = 0;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void new_steps_are_asked_about_together(void **state)
{
	(void)state;
	add_many(1, FRAMES);
	path.locations[20] = path.locations[70]; /* not in order, for once */
	check();
	assert_int_equal(path.cut, 0);
	assert_int_equal(tally->steps, FRAMES - 1);
	assert_int_equal(tally->calls, (FRAMES - 1 + AT_A_TIME - 1) / AT_A_TIME);
	assert_int_equal(caller_check_counts(steps).confirmed, FRAMES - 1);
	check(); /* they are known */
	assert_int_equal(tally->steps, FRAMES - 1);
	/* A new leaf takes one call. */
	add(FRAMES + 1);
	check();
	assert_int_equal(tally->steps, FRAMES);
	assert_int_equal(tally->calls, 5);
	assert_in_range(tally->budget_ns, CALLER_CHECK_SAVED_NS / 2,
			CALLER_CHECK_SAVED_NS + 3 * CALLER_CHECK_EARNED_NS);
}

/* The one next to the leaf counts, whether it is known or new. */
static void path_ends_before_the_last_wrong_step(void **state)
{
	(void)state;
	add_many(1, 10);
	add(WRONG | 11);
	add_many(12, 5);
	check();
	assert_int_equal(path.cut, 11);
	assert_int_equal(path.cut_reason, STACKD_END_WRONG_CALLER);
	add_many(20, 5); /* right, and new, beside a wrong one that is known */
	check();
	assert_int_equal(path.cut, 11);
	add(WRONG | 30);
	add_many(31, 50);
	check();
	assert_int_equal(path.cut, 22);
	path.count = 16;
	path.locations[5] = path.locations[9]; /* a new step before the wrong one */
	check();
	assert_int_equal(path.cut, 11);
	assert_int_equal(caller_check_counts(steps).wrong, 2);
}

/* A recursion has few steps, however deep it is. */
static void each_step_is_asked_about_once(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		add_many(1, 2);
	check();
	assert_int_equal(tally->steps, 2);
	assert_int_equal(tally->calls, 1);
	assert_int_equal(caller_check_counts(steps).confirmed, 2);
}

/* A worker that ends at a step costs this step's verdict, and a call for each before it at most. */
static void a_worker_that_ends_costs_one_step(void **state)
{
	(void)state;
	add_many(1, 10);
	add(FATAL | 11);
	add_many(12, 10);
	check();
	assert_int_equal(path.cut, 0);
	assert_int_equal(caller_check_counts(steps).confirmed, 19);
	assert_int_equal(caller_check_counts(steps).unchecked, 1);
	assert_in_range(tally->ends, 2, 12);
	assert_in_range(tally->calls, 3, 23);
	check();
	assert_int_equal(caller_check_counts(steps).confirmed, 19);
}

static void answers_without_sense_are_none(void **state)
{
	(void)state;
	add(1);
	add(SENSELESS | 2);
	add_many(3, 3);
	check();
	assert_int_equal(path.cut, 0);
	assert_int_equal(caller_check_counts(steps).confirmed, 3);
	assert_int_equal(caller_check_counts(steps).unchecked, 1);
}

/* Where the worker's time is over, it is asked again as long as there is some left. */
static void time_is_kept(void **state)
{
	(void)state;
	add(1);
	add(LONELY | 2);
	add_many(3, 8);
	check();
	assert_int_equal(tally->calls, 2);
	assert_int_equal(tally->steps, 9);
	each_ns = 2 * CALLER_CHECK_SAVED_NS; /* a call takes more than there is */
	path.count = 1;
	add(LONELY | 20);
	add_many(21, 8);
	check();
	assert_int_equal(tally->calls, 3);
	assert_int_equal(caller_check_counts(steps).confirmed, 11);
	assert_int_equal(caller_check_counts(steps).postponed, 7);
	each_ns = 0;
	check(); /* it owes some */
	assert_int_equal(tally->calls, 3);
}

/* What no worker has answered is asked again. */
static void no_answer_is_not_kept(void **state)
{
	struct walks_verdict answered;
	enum callflow_step verdict;

	(void)state;
	add_many(1, 2);
	tally->is_down = true;
	assert_int_equal(caller_check_step(steps, &path, 1, true, &verdict), 0);
	assert_int_equal(verdict, CALLFLOW_STEP_UNCHECKED);
	assert_false(caller_check_ask(steps, path.locations[0], WALKS_ROOT, &answered));
	tally->is_down = false;
	assert_int_equal(caller_check_step(steps, &path, 1, true, &verdict), 0);
	assert_int_equal(verdict, CALLFLOW_STEP_CONFIRMED);
	assert_true(caller_check_ask(steps, path.locations[0], WALKS_ROOT, &answered));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(new_steps_are_asked_about_together),
		T(path_ends_before_the_last_wrong_step),
		T(each_step_is_asked_about_once),
		T(a_worker_that_ends_costs_one_step),
		T(answers_without_sense_are_none),
		T(time_is_kept),
		T(no_answer_is_not_kept),
	};

	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
