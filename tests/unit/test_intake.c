/* SPDX-License-Identifier: MIT */
/*
 * How long calls of workers hold the loop, and what becomes of the rings meanwhile
 * (daemon/intake.c, daemon/worker/fork_server.c). The rings are the test's: a look's time goes by
 * with each look, so that nothing depends on how long it really takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/vec.h"
#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"
#include "daemon/intake.h"
#include "daemon/tags/ask_tags.h"
#include "daemon/worker/ask_walks.h"
#include "daemon/worker/ask_worker.h"
#include "daemon/worker/wire.h"
#include "daemon/worker/worker_page.h"
#include "proc/proc_fs.h"

#define MOST UINT64_MAX

/* --- rings ----------------------------------------------------------------------------------- */

/* Records and events are numbered by their times. */
static struct rings {
	uint64_t has, made, lost; /* records: now in the ring, ever, and had no room */
	uint64_t room, each_look; /* of the ring, and what comes while one look's time goes by */
	uint64_t events_has, events_made; /* the same of events, which have room */
	bool is_taken;			  /* the looks take what there is */
	unsigned looks, calls;
	int error;
} rings;

static struct intake *intake;

static struct stackd_header *new_record(uint64_t number)
{
	struct stackd_header *record = record_pool_take(NULL, sizeof(*record));

	assert_non_null(record);
	*record = (struct stackd_header){
		.version = STACKD_ABI_VERSION, .kind = STACKD_RECORD_WALKED, .time_ns = number};
	return record;
}

static int drain_records(void *arg, int (*each)(void *intake, struct stackd_header *record),
			 void *to)
{
	struct rings *r = arg;
	int err = r->error, count = 0;

	while (!err && r->has) {
		/* One that cannot be read is there, too. */
		uint64_t number = r->made - r->has--;

		err = each(to, number % 10 == 9 ? NULL : new_record(number));
		count++;
	}
	return err ? err : count;
}

static int drain_events(void *arg, int (*each)(void *intake, struct sideband_event *event),
			void *to)
{
	struct rings *r = arg;
	int err = 0;

	while (!err && r->events_has) {
		struct sideband_event *event = record_pool_take(NULL, sizeof(*event));

		assert_non_null(event);
		*event = (struct sideband_event){.time_ns = r->events_made - r->events_has--};
		err = each(to, event);
	}
	return err;
}

static void fill(uint64_t records)
{
	uint64_t room = rings.room - rings.has, fits = records < room ? records : room;

	rings.has += fits;
	rings.made += fits;
	rings.lost += records - fits;
}

/* Time goes by. */
static void meanwhile(void *arg, bool is_waiting)
{
	struct rings *r = arg;

	r->calls += !is_waiting;
	if (!is_waiting)
		return;
	r->looks++;
	fill(r->each_look);
	r->events_has++;
	r->events_made++;
	if (!r->is_taken)
		return;
	assert_int_equal(intake_take_events(intake), 0);
	assert_in_range(intake_take_records(intake, MOST), 0, 1);
}

/* What was taken is there, in its order. Returns how many records that is. */
static uint64_t check_taken(void)
{
	struct sideband_event *event;
	struct stackd_header *record;
	uint64_t events = 0, records = 0;

	while ((event = intake_event(intake))) {
		assert_int_equal(event->time_ns, events++);
		record_pool_give_back(event);
	}
	assert_int_equal(events, rings.events_made - rings.events_has);
	while (intake_record(intake, &record)) {
		assert_int_equal(!record, records % 10 == 9);
		if (record)
			assert_int_equal(record->time_ns, records);
		records++;
		record_pool_give_back(record);
	}
	assert_int_equal(records, rings.made - rings.has);
	return records;
}

/* --- workers --------------------------------------------------------------------------------- */

static struct fork_server *server;
static struct workers *workers;
static pid_t *worker_pid; /* shared with it */

static void run_worker(int socket, void *page)
{
	const struct wire wire = {.socket = socket};
	const struct wire_header reply = {.kind = WIRE_REPLY, .status = -ENOEXEC};
	struct wire_header header;
	struct buf request = {0};
	int fd;

	(void)page;
	while (!wire_receive(&wire, WIRE_MAX_BYTES, &header, &request, &fd)) {
		if (fd >= 0)
			close(fd);
		__atomic_store_n(worker_pid, getpid(), __ATOMIC_SEQ_CST);
		if (wire_send(&wire, &reply, NULL, -1))
			break;
	}
	_exit(0);
}

static int set_up(void **state)
{
	const struct intake_source source = {drain_events, drain_records, &rings};

	(void)state;
	rings = (struct rings){.room = 1000, .each_look = 300, .is_taken = true};
	assert_int_equal(intake_new(&source, &intake), 0);
	assert_int_equal(fork_server_new(run_worker, &server), 0);
	assert_int_equal(workers_new(server, 0, &workers), 0);
	workers_use_meanwhile(workers, meanwhile, &rings);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	workers_use_meanwhile(workers, NULL, NULL);
	workers_free(workers);
	fork_server_free(server);
	intake_free(intake);
	return 0;
}

/* Has a process stopped. */
static void stop(pid_t pid)
{
	struct proc_fs_stat stat = {0};

	assert_int_equal(kill(pid, SIGSTOP), 0);
	while (!proc_fs_stat("/proc", pid, &stat) && stat.state != 'T')
		sched_yield();
	assert_int_equal(stat.state, 'T');
}

/* A request of the loop. */
static int identify(void)
{
	struct ask_files *files;
	struct elf_file *elf = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), err;

	assert_true(fd >= 0);
	assert_int_equal(ask_files_new(workers_of(workers, WORKER_LOOP), NULL, false, &files), 0);
	err = ask_files_open(files, fd, "/proc/self/exe", &elf);
	ask_files_free(files);
	close(fd);
	return err;
}

/* Has the loop's worker stopped, so that it answers nothing, and forgets what went by. */
static void stop_worker(void)
{
	assert_int_equal(identify(), -ENOEXEC);
	stop(__atomic_load_n(worker_pid, __ATOMIC_SEQ_CST));
	rings.looks = rings.calls = 0;
	rings.has = rings.made = rings.lost = rings.events_has = rings.events_made = 0;
	intake_free(intake);
	assert_int_equal(
		intake_new(&(struct intake_source){drain_events, drain_records, &rings}, &intake),
		0);
}

/* --- tests ----------------------------------------------------------------------------------- */

static void rows_are_in_order(void **state)
{
	const uint64_t size = sizeof(struct stackd_header);
	struct stackd_header *record;

	(void)state;
	assert_null(intake_event(intake));
	assert_false(intake_record(intake, &record));
	assert_int_equal(intake_take_records(intake, MOST), 0);
	fill(100);
	rings.events_has = rings.events_made = 3;
	assert_int_equal(intake_take_records(intake, 9 * size), 1); /* and one without bytes */
	assert_int_equal(rings.has, 100 - 9);
	assert_int_equal(intake_take_records(intake, 9 * size), 1); /* no more than before */
	assert_int_equal(rings.has, 100 - 9);
	for (uint64_t i = 0; i < 5; i++) {
		assert_true(intake_record(intake, &record));
		assert_int_equal(record->time_ns, i);
		record_pool_give_back(record);
	}
	assert_int_equal(intake_take_records(intake, 9 * size), 1);
	assert_int_equal(rings.has, 100 - 15);
	rings.error = -ENOMEM;
	assert_int_equal(intake_take_records(intake, MOST), -ENOMEM);
	rings.error = 0;
	assert_true(intake_has_records(intake) && !intake_has_events(intake));
	assert_int_equal(intake_take_events(intake), 0);
	assert_true(intake_has_events(intake));
	/* The rest of both is freed with it. */
}

/* A worker that hangs holds the loop for so many looks, and until it has ended; the ring, which
 * four of them fill, loses nothing. */
static void check_held(void)
{
	assert_in_range(rings.looks, WORKER_SLEEP_LOOKS,
			WORKER_SLEEP_LOOKS + FORK_SERVER_MOST_LOOKS);
	assert_true(rings.looks * rings.each_look > rings.room);
	assert_int_equal(rings.lost, 0);
	assert_int_equal(check_taken(), rings.looks * rings.each_look);
}

static void identify_is_bounded(void **state)
{
	unsigned looks;

	(void)state;
	stop_worker();
	assert_int_equal(identify(), -EOWNERDEAD);
	check_held();
	assert_int_equal(rings.calls, 1);
	looks = rings.looks;
	assert_int_equal(identify(), -EOWNERDEAD); /* it is refused: nobody waits again */
	assert_int_equal(rings.looks, looks);
}

/* The same, where nothing is taken: the ring does overflow. */
static void a_ring_that_is_not_read_overflows(void **state)
{
	(void)state;
	rings.is_taken = false;
	stop_worker();
	assert_int_equal(identify(), -EOWNERDEAD);
	assert_true(rings.looks >= WORKER_SLEEP_LOOKS);
	assert_int_equal(rings.lost, rings.looks * rings.each_look - rings.room);
}

static const struct mapping_set *no_mappings(void *arg, pid_t pid)
{
	(void)arg;
	(void)pid;
	return NULL;
}

static struct object_table *one_object(void)
{
	const struct object object = {.kind = OBJECT_ELF, .file_id = 77, .path = (char *)"/a"};
	const struct object *added;
	struct object_table *objects;

	assert_int_equal(object_table_new("/proc", &objects), 0);
	assert_int_equal(object_table_add(objects, &object, &added), 0);
	return objects;
}

static void steps_are_bounded(void **state)
{
	struct object_table *objects = one_object();
	const struct ask_walks_options options = {.worker = workers_of(workers, WORKER_LOOP),
						  .objects = objects,
						  .mappings_of = no_mappings};
	const struct object *object = object_table_at(objects, 0);
	const struct walks_step step = {.caller = object, .callee = object};
	struct walks_verdict verdict;
	struct ask_walks *walks;

	(void)state;
	assert_int_equal(ask_walks_new(&options, &walks), 0);
	stop_worker();
	assert_int_equal(ask_walks_check(walks, &step, 1, MOST, &verdict), 1);
	assert_int_equal(verdict.step, CALLFLOW_STEP_UNCHECKED);
	check_held();
	ask_walks_free(walks);
	object_table_free(objects);
}

static void tags_are_bounded(void **state)
{
	struct object_table *objects = one_object();
	struct tag_file_info info = {.has_note = true, .has_functions = true};
	struct ask_files *files;
	struct tag_files *tags;

	(void)state;
	assert_int_equal(ask_files_new(workers_of(workers, WORKER_LOOP), NULL, false, &files), 0);
	assert_int_equal(ask_tags_new(files, &tags), 0);
	stop_worker();
	tag_files_info(tags, object_table_at(objects, 0), &info);
	assert_true(!info.has_note && !info.has_functions);
	check_held();
	tag_files_free(tags);
	ask_files_free(files);
	object_table_free(objects);
}

/* --- the fork server ------------------------------------------------------------------------- */

static pid_t pid_of(int which)
{
	pid_t pids[2];

	fork_server_pids(server, pids);
	return pids[which];
}

/* A server that is stopped is replaced, whether it was to start a worker or to end one. */
static void spawn_is_bounded(void **state)
{
	(void)state;
	stop(pid_of(1));
	assert_int_equal(identify(), -ENOEXEC);
	assert_in_range(rings.looks, FORK_SERVER_LOOKS, FORK_SERVER_LOOKS + FORK_SERVER_MOST_LOOKS);
	assert_int_equal(fork_server_restarts(server), 1);
	assert_int_equal(rings.lost, 0);
	check_taken();
}

static void end_is_bounded(void **state)
{
	(void)state;
	stop_worker();
	stop(pid_of(1));
	assert_int_equal(identify(), -ENOEXEC); /* the worker's silence is its server's */
	assert_in_range(rings.looks, WORKER_SLEEP_LOOKS + FORK_SERVER_LOOKS,
			WORKER_SLEEP_LOOKS + FORK_SERVER_LOOKS + FORK_SERVER_MOST_LOOKS);
	assert_int_equal(fork_server_restarts(server), 1);
	assert_int_equal(rings.lost, 0);
	check_taken();
}

/* Without a keeper that answers there are no more workers. */
static void keeper_is_bounded(void **state)
{
	pid_t keeper = pid_of(0);

	(void)state;
	stop(keeper);
	stop(pid_of(1));
	assert_int_equal(identify(), -ECHILD);
	assert_int_equal(rings.looks, 2 * FORK_SERVER_LOOKS);
	assert_true(workers_are_lost(workers));
	assert_int_equal(rings.lost, 0);
	assert_int_equal(check_taken(), 2 * FORK_SERVER_LOOKS * rings.each_look);
	assert_int_equal(kill(pid_of(1), SIGKILL), 0);
	assert_int_equal(kill(keeper, SIGCONT), 0);
}

/* --- events that come while others are handled ------------------------------------------------ */

static struct handled {
	uint64_t count, until; /* handled so far, and the number at which it is over */
	int error;	       /* the result for the event with the number `until` */
} handled;

/* Handles an event, for which the loop waits for a worker: more of them come meanwhile than it
 * handles. */
static int handle(void *arg, struct sideband_event *event)
{
	(void)arg;
	assert_int_equal(event->time_ns, handled.count++);
	record_pool_give_back(event);
	assert_true(handled.count < 10000);
	for (int i = 0; i < 3; i++)
		meanwhile(&rings, true);
	return handled.count == handled.until ? handled.error : 0;
}

static bool is_over(void *arg)
{
	(void)arg;
	return handled.count == handled.until;
}

/* Those that had come are handled; the others are left, in their order. */
static void handling_events_ends(void **state)
{
	uint64_t had = 5;

	(void)state;
	handled = (struct handled){0};
	rings.events_has = rings.events_made = had;
	for (int call = 0; call < 4; call++) {
		assert_int_equal(intake_handle_events(intake, handle, NULL, NULL), 0);
		assert_int_equal(handled.count, had);
		had = rings.events_made;
		assert_true(had > handled.count);
		assert_true(intake_has_events(intake));
	}
	rings.is_taken = false; /* those that come are left in their ring */
	assert_int_equal(intake_handle_events(intake, handle, NULL, NULL), 0);
	assert_int_equal(handled.count, had);
	assert_false(intake_has_events(intake));
}

static void handling_events_is_ended(void **state)
{
	(void)state;
	handled = (struct handled){.until = 2};
	rings.events_has = rings.events_made = 5;
	assert_int_equal(intake_handle_events(intake, handle, is_over, NULL), 0);
	assert_int_equal(handled.count, 2);
	handled.until = 4;
	handled.error = -ENOMEM;
	assert_int_equal(intake_handle_events(intake, handle, NULL, NULL), -ENOMEM);
	assert_int_equal(handled.count, 4);
	assert_true(intake_has_events(intake));
	rings.error = 0;
	handled.until = 0;
	assert_int_equal(intake_handle_events(intake, handle, NULL, NULL), 0);
	assert_int_equal(handled.count, 5 + 2 * 3 + 2 * 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(rows_are_in_order),
		T(identify_is_bounded),
		T(a_ring_that_is_not_read_overflows),
		T(steps_are_bounded),
		T(tags_are_bounded),
		T(spawn_is_bounded),
		T(end_is_bounded),
		T(keeper_is_bounded),
		T(handling_events_ends),
		T(handling_events_is_ended),
	};

	worker_pid = mmap(NULL, sizeof(*worker_pid), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (worker_pid == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
