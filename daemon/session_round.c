/* SPDX-License-Identifier: MIT */
/*
 * Reads the rings, and hands out what they had in the order of time; session.c says when.
 *
 * Records with a copy of their stack are small in the ring and large in memory, and finishing their
 * walks takes time. So a round reads records until rings.most_bytes wait, and hands out those older
 * than the last one read before it goes on reading. While it hands out, it reads the ring whenever
 * the ring is a quarter full and the queue holds less than that. Until a program's tables are
 * loaded, a record takes 100 KiB and more, of which the ring has a third; so the queue must be many
 * times as large as the ring, since else a worker that gets no CPU for 0.1 s makes it full.
 *
 * For all answers of workers other than walks the loop waits, each time for a bounded time
 * (worker/worker.h). Meanwhile it moves events from their ring to the intake (intake.h), and also
 * records if their ring is a quarter full, intake_bytes() at most. It does the same while it reads
 * the kernel's symbols itself.
 *
 * Copied stacks are walked by a worker, for which the loop does not wait. It requests the walks of
 * many records at a time, hands out the records whose walks are made, and is woken when further
 * walks arrive (recorder_awaits_walk()). It reads the rings meanwhile.
 */
#include "daemon/session_state.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/attach.h"
#include "daemon/base/log.h"
#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#define TABLE_WAIT_POLL_MS 5
#define LAG_NS		   10000000u		/* a record is in its ring after this time */
#define INTAKE_BYTES	   (UINT64_C(16) << 20) /* that the intake may hold, whatever is queued */
#define HURRY_NS	   UINT64_C(1000000000)
#define READ_BYTES	   (UINT64_C(1) << 20) /* moved from the ring to the intake at a time */

/* Records between two looks at pending events, while many are handed out. */
#define RELIEVE_EVERY 64

bool session_is_time_over(const struct session *s)
{
	return s->end.deadline_ns && !s->clocks.stopped_ns &&
	       clock_ns(CLOCK_MONOTONIC) >= s->end.deadline_ns;
}

static int queue_event(void *arg, struct sideband_event *event)
{
	struct session *s = arg;
	struct reorder_item item = {.time_ns = event->time_ns, .event = event};
	int err = recorder_prefetch_event(s->recorder, event);

	if (!err)
		err = reorder_push(s->rings.queue, &item);
	if (err)
		record_pool_give_back(event);
	return err;
}

bool session_is_crowded(const struct session *s)
{
	return s->rings.short_lived && short_lived_is_full(s->rings.short_lived);
}

int session_leave_out_short_lived(struct session *s)
{
	return short_lived_new(queue_event, s, &s->rings.short_lived);
}

/* Returns whether reading must stop, since the queue is full, and some of its records can be handed
 * out. */
static bool is_enough(struct session *s)
{
	return s->rings.queued_bytes >= s->rings.most_bytes &&
	       reorder_peek(s->rings.queue, s->rings.read_ns - LAG_NS);
}

static int queue_record(struct session *s, struct stackd_header *record)
{
	struct reorder_item item = {.sample = record};
	int err;

	if (!record)
		return recorder_sample(s->recorder, NULL);
	item.time_ns = record->time_ns;
	err = s->rings.short_lived ? short_lived_pass(s->rings.short_lived,
						      (pid_t)record_pid(record), (pid_t)record->tid)
				   : 0;
	if (!err)
		err = recorder_prefetch_record(s->recorder, record);
	if (!err)
		err = reorder_push(s->rings.queue, &item);
	if (err) {
		record_pool_give_back(record);
		return err < 0 ? err : 0;
	}
	s->rings.queued_bytes += record_size(record);
	s->rings.read_ns = record->time_ns;
	return 0;
}

/* Queues the records of the intake, until session_is_time_over(). 0; -ENOBUFS: the queue has enough
 * for now; or an error. */
static int queue_records(struct session *s)
{
	struct stackd_header *record;
	int err = 0;

	while (!err && !session_is_time_over(s) && !is_enough(s) &&
	       intake_record(s->rings.intake, &record))
		err = queue_record(s, record);
	return err ? err : is_enough(s) ? -ENOBUFS : 0;
}

/* Moves records from the ring, through the intake, to the queue, until the ring is empty, or
 * is_enough() or session_is_time_over(). Sets rings.is_behind. */
static int read_ring(struct session *s)
{
	int err, has = 0;

	do {
		err = queue_records(s);
		if (!err)
			has = intake_take_records(s->rings.intake, READ_BYTES);
	} while (!err && has > 0 && !session_is_time_over(s));
	s->rings.is_behind = err == -ENOBUFS;
	s->rings.full += s->rings.is_behind;
	return s->rings.is_behind ? 0 : err ? err : has < 0 ? has : 0;
}

/* Returns how many bytes of records the intake may hold while the loop waits. */
static uint64_t intake_bytes(const struct session *s)
{
	const uint64_t most = s->rings.most_bytes, queued = s->rings.queued_bytes;

	return queued + INTAKE_BYTES < most ? most - queued : INTAKE_BYTES;
}

void session_take_meanwhile(void *arg, bool is_waiting)
{
	struct session *s = arg;
	const bool takes_events = is_waiting && !work_debt_is(&s->cost.debt);
	int err = takes_events ? intake_take_events(s->rings.intake) : 0;

	/* Each wait of the loop has a limit of its own, but several can follow one another. */
	service_manager_alive(&s->log.watchdog, clock_ns(CLOCK_MONOTONIC));
	if (!err && sampler_is_pressed(s->sampler))
		err = intake_take_records(s->rings.intake, intake_bytes(s));
	if (err < 0)
		s->rings.error = err;
}

/* Returns whether a service has ended so long ago that its last samples do not wait for tables any
 * more: the service manager waits for its end. */
static bool must_hurry(const struct session *s)
{
	return s->options->window_ns && s->clocks.stopped_ns &&
	       clock_ns(CLOCK_MONOTONIC) - s->clocks.stopped_ns > HURRY_NS;
}

/* Returns whether the next item of the queue is a record that must wait for its recipe table, or
 * for the walk of its stack. */
static bool is_held(struct session *s, uint64_t horizon_ns)
{
	const struct reorder_item *next = reorder_peek(s->rings.queue, horizon_ns);
	struct table_wait *wait = &s->rings.table_wait;
	bool awaits = next && next->sample && !must_hurry(s) &&
		      recorder_awaits_table(s->recorder, next->sample);

	s->rings.awaits_walk = false;
	if (!next)
		table_wait_forget(wait);
	else if (table_wait_goes_on(wait, awaits,
				    awaits || wait->since_ns ? clock_ns(CLOCK_MONOTONIC) : 0,
				    s->rings.queued_bytes))
		return true;
	s->rings.awaits_walk =
		recorder_awaits_walk(s->recorder, s->rings.queue, horizon_ns, !awaits);
	return s->rings.awaits_walk;
}

/* Reads the ring if it fills while records are handed out. */
static int relieve_ring(struct session *s)
{
	return s->rings.queued_bytes < s->rings.most_bytes && sampler_is_pressed(s->sampler)
		       ? read_ring(s)
		       : 0;
}

static int handle_event(void *arg, struct sideband_event *event)
{
	struct session *s = arg;

	return s->rings.short_lived ? short_lived_event(s->rings.short_lived, event)
				    : queue_event(s, event);
}

static bool is_time_over(void *session)
{
	return session_is_time_over(session);
}

/* Handles the events that have arrived by now; `is_over` as for intake_handle_events(). 0 or an
 * error. */
static int drain(struct session *s, bool (*is_over)(void *session))
{
	const uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = intake_handle_events(s->rings.intake, handle_event, is_over, s);

	if (!err && s->rings.short_lived)
		err = short_lived_pass_living(s->rings.short_lived);
	s->cost.caused_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	return err ? err : s->rings.error;
}

/* Its callers need to know of all events until now, so it handles them even if time is over. */
int session_drain_sideband(void *session)
{
	return drain(session, NULL);
}

int session_drain_in_time(struct session *s)
{
	return drain(s, is_time_over);
}

int session_relieve(void *arg)
{
	int err = session_drain_sideband(arg);

	return err ? err : relieve_ring(arg);
}

/* Opens a thread's event again after the kernel has removed it (attach_again()). */
static void reattach(struct session *s, pid_t tid)
{
	attach_again(&(struct attach){.is_on_cpus = s->scope.is_on_cpus,
				      .options = s->options,
				      .event = &s->scope.event,
				      .sampler = s->sampler},
		     tid);
}

static int hand_out_item(struct session *s, struct reorder_item *item)
{
	int err;

	if (item->event) {
		err = recorder_event(s->recorder, item->event);
		if (err > 0)
			reattach(s, item->event->pid);
		record_pool_give_back(item->event);
		return err < 0 ? err : 0;
	}
	s->rings.queued_bytes -= record_size(item->sample);
	err = recorder_sample(s->recorder, item->sample);
	record_pool_give_back(item->sample);
	if (!err && !(++s->rings.handed_out % RELIEVE_EVERY) && !work_debt_is(&s->cost.debt))
		err = session_drain_sideband(s);
	return err ? err : relieve_ring(s);
}

/* Hands items older than the horizon to the recorder. 0; 1: a record must wait (is_held(), or
 * session_is_time_over()), and so do all younger items; or an error. */
static int hand_out(struct session *s, uint64_t horizon_ns)
{
	struct reorder_item item;
	bool held = false;
	int err = 0;

	while (!err && !(held = session_is_time_over(s) || is_held(s, horizon_ns)) &&
	       reorder_pop(s->rings.queue, horizon_ns, &item))
		err = hand_out_item(s, &item);
	return err ? err : held;
}

/* Returns whether the window must end early: its tables are full, the archive asks for a new window
 * after it could not write, or the wall clock was set. Without --window, tables may grow without
 * bound. */
static bool ends_early(const struct session *s)
{
	return (s->options->window_ns && recorder_is_full(s->recorder)) ||
	       s->recording.state.wants_window ||
	       window_is_torn(&s->recording.window, clock_ns(CLOCK_REALTIME),
			      clock_ns(CLOCK_MONOTONIC));
}

/* Hands out items older than the horizon, and ends windows on the way. */
static int hand_out_windows(struct session *s, uint64_t horizon_ns)
{
	int err = 0;

	if (horizon_ns != UINT64_MAX && ends_early(s))
		s->recording.window.end_ns = horizon_ns;
	while (!err && horizon_ns != UINT64_MAX && s->recording.window.end_ns <= horizon_ns) {
		err = hand_out(s, s->recording.window.end_ns);
		if (!err)
			err = session_cut(s);
	}
	return err ? err : hand_out(s, horizon_ns);
}

/* Opens the events of CPUs that have come on line. If that fails, events of other CPUs go on. */
static void follow_cpus(struct session *s)
{
	int err = 0;

	if (!online_cpus_look(&s->scope.cpus, ONLINE_CPUS_LIST))
		return;
	for (int cpu = 0; cpu < ONLINE_CPUS_MAX; cpu++) {
		int one = s->scope.cpus.is_new[cpu]
				  ? sideband_reopen(s->rings.sideband, cpu,
						    target_cgroup_fd(s->scope.target))
				  : 0;

		err = err ? err : one;
	}
	if (s->scope.is_on_cpus || s->options->target == TARGET_ALL ||
	    s->options->target == TARGET_CGROUP) {
		int changed = sampler_change_rate(s->sampler, &s->scope.event.spec,
						  s->cost.budget.rate_hz,
						  target_cgroup_fd(s->scope.target));

		err = err ? err : changed;
	}
	if (err)
		log_warning("a CPU has come on line, and cannot be recorded: %s", strerror(-err));
	else
		log_info("a CPU has come on line, and is recorded again");
}

/* All records before a time were read, and are handed out next, with the events before it. Leaves
 * out the processes that have ended before it without a record. */
static int leave_out_short_lived(struct session *s, uint64_t time_ns)
{
	short_lived_forget(s->rings.short_lived, time_ns);
	return s->rings.is_behind ? short_lived_pass_before(s->rings.short_lived, time_ns) : 0;
}

/* Reads pending events, then records. Returns a time such that no record which the next round reads
 * is older; if session_is_time_over(), some were left, and the time means nothing. */
static uint64_t read_rings(struct session *s, int *ret_err)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);

	*ret_err = session_drain_in_time(s);
	if (!*ret_err)
		*ret_err = read_ring(s);
	if (session_is_time_over(s))
		return start;
	if (s->rings.is_behind && s->rings.read_ns < start)
		start = s->rings.read_ns;
	if (!*ret_err && s->rings.short_lived)
		*ret_err = leave_out_short_lived(s, start - LAG_NS);
	return start;
}

/* Returns a time before which all records were handed out: those that began before it, even if they
 * came late. */
static uint64_t handed_out_before(const struct session *s)
{
	const struct reorder_item *next = reorder_peek(s->rings.queue, s->rings.horizon_ns);

	return next ? next->time_ns : s->rings.horizon_ns;
}

int session_round(struct session *s)
{
	uint64_t before = s->rings.round_ns, horizon;
	int err;

	s->rings.round_ns = read_rings(s, &err);
	if (session_is_time_over(s))
		return err;
	horizon = s->rings.round_ns - LAG_NS < before ? s->rings.round_ns - LAG_NS : before;
	follow_cpus(s);
	regions_look(s->regions);
	if (s->options->jitter && s->options->frequency &&
	    event_spec_is_clock(&s->scope.event.spec))
		sampler_jitter(s->sampler,
			       s->cost.budget.rate_hz ? s->cost.budget.rate_hz
						      : s->options->frequency,
			       s->options->jitter);
	event_groups_look(s->event_groups, s->sampler, s->rings.round_ns);
	recorder_poll(s->recorder);
	recorder_go_on(s->recorder);
	err = err ? err : recorder_look(s->recorder);
	s->rings.horizon_ns = horizon;
	if (!err)
		err = hand_out_windows(s, horizon);
	recorder_reuse_numbers(s->recorder, handed_out_before(s));
	return err > 0 ? 0 : err;
}

int session_take_walks(struct session *s)
{
	int err;

	recorder_go_on(s->recorder);
	err = hand_out_windows(s, s->rings.horizon_ns);
	return err > 0 ? 0 : err;
}

#define REST_LOOK_MS 100 /* the ring fills no faster than that by a quarter */

/* Waits until something can end the run, or workers have done something, for `most_ms`. Returns
 * whether the run may end. */
static bool rest_once(struct session *s, int most_ms)
{
	struct pollfd fds[] = {{.fd = s->wakeups.ends, .events = POLLIN},
			       {.fd = recorder_poll_fd(s->recorder), .events = POLLIN}};
	const bool has_walks = recorder_walks(s->recorder);

	if (has_walks && most_ms > WORKER_LOOK_MS)
		most_ms = WORKER_LOOK_MS;
	return poll(fds, has_walks ? 2 : 1, most_ms) > 0 && fds[0].revents;
}

int session_rest(struct session *s, uint64_t due_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), until_ns;
	int err = 0;

	session_pay(s);
	until_ns = now_ns + work_debt_pause_ns(&s->cost.debt);
	until_ns = until_ns < due_ns ? until_ns : due_ns;
	while (!err && now_ns < until_ns && !sampler_is_pressed(s->sampler)) {
		const uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;

		if (rest_once(s, left_ms < REST_LOOK_MS ? (int)left_ms : REST_LOOK_MS))
			return 0;
		if (recorder_walks(s->recorder))
			err = session_take_walks(s);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		service_manager_alive(&s->log.watchdog, now_ns);
	}
	return err;
}

void session_await(struct session *s)
{
	struct pollfd walks = {.fd = recorder_poll_fd(s->recorder), .events = POLLIN};

	poll(&walks, 1, s->rings.awaits_walk ? WORKER_LOOK_MS : TABLE_WAIT_POLL_MS);
	recorder_go_on(s->recorder);
}

/* Hands out all items older than the horizon. Where a record lacks its table or walk, waits for
 * that. */
static int hand_out_held(struct session *s, uint64_t horizon_ns)
{
	int err;

	while ((err = hand_out_windows(s, horizon_ns)) > 0)
		session_await(s);
	return err;
}

int session_finish_rounds(struct session *s)
{
	int err = 0;

	do {
		uint64_t end = read_rings(s, &err);

		if (!err && s->rings.is_behind)
			err = hand_out_held(s, end - LAG_NS);
	} while (!err && (s->rings.is_behind || intake_has_records(s->rings.intake)));
	if (!err)
		err = session_drain_sideband(s);
	regions_look(s->regions);
	recorder_poll(s->recorder);
	if (!err)
		err = recorder_look(s->recorder);
	if (!err)
		err = hand_out_held(s, UINT64_MAX);
	alloc_coverage_finish(recorder_alloc_coverage(s->recorder));
	return err;
}
