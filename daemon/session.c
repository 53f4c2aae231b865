/* SPDX-License-Identifier: MIT */
/*
 * Runs the daemon from options to summary; see session.h.
 *
 * Everything happens in one epoll loop (base/wakeups.h). The ring a quarter full, the side-band
 * half full, a tick of a tenth of a second, a signal, or the target's end each start a round: read
 * the side-band, read the ring, and hand out in the order of time all records that are older than
 * the start of the round before. A record that was being written while its ring was read is there
 * at the next round, so nothing older than that can still come. Once a second a batch of new rows
 * goes to the archive.
 *
 * Records with a copy of their stack are small in the ring and large in memory, and finishing their
 * walks takes time. So a round reads no more than MOST_BYTES of records, and hands out what is
 * older than the last one that it has read before it goes on; and while it hands out, it reads the
 * ring as soon as that is a quarter full, as far as there is room.
 *
 * The loop waits for other calls of workers, each for a bounded time (worker/worker.h). Meanwhile
 * it takes events out of their ring, and records once theirs is a quarter full, MOST_BYTES at most
 * (intake.h).
 *
 * Copied stacks are walked by a worker, for which the loop does not wait: the walks of many records
 * are asked for at a time, records are handed out as far as theirs are made, and the loop is woken
 * by those that come (recorder_awaits_walk()). It reads the rings meanwhile.
 *
 * A round begins with cold caches, which is much of its cost. While there are only samples, one
 * tick in three starts a round; side-band events are read at the next tick. Where the cost comes
 * near the budget, ticks and batches are fewer, too (budget_pace()).
 */
#include "daemon/attach.h"
#include "daemon/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/own_cost.h"
#include "daemon/no_samples.h"
#include "daemon/session_state.h"
#include "daemon/tables/numbers.h"
#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#define ROUND_NS	   250000000u /* a tick starts a round when the last one is so long ago */
#define TABLE_WAIT_POLL_MS 5
#define LAG_NS		   10000000u		/* a record is in its ring after this time */
#define COMMIT_NS	   UINT64_C(1000000000) /* between batches */
#define MOST_BYTES	   TABLE_WAIT_BYTES	/* of records that wait */
#define READ_BYTES	   (UINT64_C(1) << 20)	/* of records that are taken at a time */
#define RELIEVE_EVERY                                                                              \
	64 /* records between two looks at pending events, while many are handed out */

/* --- batches --------------------------------------------------------------------------------- */

static void count(const struct session *s, struct run_counters *ret_counters)
{
	const struct scheduler_times times = s->stopped_ns ? s->time : session_times(s);

	sampler_counts(s->sampler, &ret_counters->sampled);
	recorder_counts(s->recorder, &ret_counters->recorded);
	tables_counts(s->tables, &ret_counters->tables);
	ret_counters->objects = recorder_object_count(s->recorder);
	ret_counters->waiting = reorder_waiting(s->queue);
	ret_counters->late = reorder_late(s->queue);
	if (s->options->target == TARGET_CGROUP)
		ret_counters->sampled.counters[STACKD_COUNT_CPU_NS] =
			times.cgroup_ns - s->time_before.cgroup_ns;
	ret_counters->stolen_ns = times.stolen_ns - s->time_before.stolen_ns;
	ret_counters->has_periods = event_spec_is_cpu_time(&s->event.spec);
	ret_counters->idle = s->stopped_ns ? s->idle : idle_time_since(&s->idle_since);
	workers_counts(s->workers, &ret_counters->workers);
	ret_counters->own_cpu_ns = own_cost_cpu_ns() + ret_counters->workers.cpu_ns;
	ret_counters->own_resident_bytes =
		own_cost_resident_bytes() + ret_counters->workers.resident_bytes;
	ret_counters->rate_hz = s->budget.rate_hz;
	ret_counters->rate_changes = s->budget.changes;
	ret_counters->regions_taken_off = regions_taken_off(s->regions);
	ret_counters->alloc_until_ns = regions_alloc_until(s->regions);
	ret_counters->full_windows = s->full_windows;
}

/* Fills in the counters and totals of a batch, as of now. */
static int fill_in(struct session *s, struct batch *b, const struct run_counters *all)
{
	const struct run_counters counters = run_counters_since(all, &s->before);
	const struct status_numbers n = run_counters_status(&counters);
	int err = run_counters_put(&counters, b);
	char name[sizeof(b->counters->name)];
	uint64_t since_ns;

	if (err)
		return err;
	run_counters_put_readings(s->options->counters, s->options->n_counters, &s->probe_cost, b);
	for (size_t i = 0; regions_off(s->regions, i, name, sizeof(name), &since_ns); i++)
		run_counters_put_off(name, since_ns, b);
	b->totals = s->info;
	b->totals.end_ns = s->stopped_ns ? s->stopped_ns : n.now_ns;
	b->totals.samples = n.samples;
	b->totals.lost = n.lost;
	b->totals.kernel_ns = counters.sampled.run_ns;
	b->totals.kernel_runs = counters.sampled.counters[STACKD_COUNT_STARTED];
	return 0;
}

/* The time from one tick to the next. While stackd saves, it is a quarter of the time between two
 * commits, but short enough to answer the service manager's watchdog. */
static uint64_t tick_ns(const struct session *s)
{
	unsigned pace = budget_pace(&s->budget);
	uint64_t ns = pace > 1 ? pace * COMMIT_NS / 4 : SESSION_TICK_NS;

	return s->watchdog.every_ns && ns > s->watchdog.every_ns ? s->watchdog.every_ns : ns;
}

/* What rises with the rate: the cost of the kernel half and of this loop. */
static uint64_t running_cost_ns(const struct session *s)
{
	return sampler_run_ns(s->sampler) + clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Changes the rate, and how often stackd wakes, where that is needed to keep within the budget.
 * Where the events cannot be opened anew, the rate stays, and the next look tries again. */
static void keep_budget(struct session *s, const struct run_counters *counters, uint64_t now_ns)
{
	uint64_t before = s->budget.rate_hz;

	s->running_ns = running_cost_ns(s);
	if (!budget_look(&s->budget, now_ns,
			 counters->own_cpu_ns + counters->sampled.run_ns +
				 counters->sampled.switch_run_ns))
		return;
	wakeups_set_tick(&s->wakeups, tick_ns(s));
	if (s->budget.rate_hz == before)
		return;
	if (sampler_change_rate(s->sampler, &s->event.spec, s->budget.rate_hz,
				target_cgroup_fd(s->target)))
		s->budget.rate_hz = before;
	sampler_set_wait_mean(s->sampler,
			      waits_mean_ns(s->options, s->budget.full_hz, s->budget.rate_hz));
	watch_rate(&s->watch, &s->budget, before);
}

/* Looks whether the store can be written to; right after a window's end that is not known yet. */
static void look_at_store(struct session *s, bool end)
{
	archive_look(s->archive, &s->store);
	s->store.wants_window &= !end;
	watch_store(&s->watch, s->path, &s->store);
}

/* A service that can read no file any more ends, so that it is started again with new processes for
 * that. Other recordings go on: they have their samples, and names of the files that are known. */
static void look_at_workers(struct session *s)
{
	if (s->is_over || !s->options->window_ns || !workers_are_lost(s->workers))
		return;
	log_error("no process is left that can read files, and none can be started: stackd ends, "
		  "to be started again");
	s->is_over = s->has_failed = true;
}

/* A service that has met so many files that their numbers run out ends, so that it is started again
 * with none taken: with a window, so that whoever makes files on purpose cannot have it started
 * again and again. Other recordings go on: files without a number are walked by the daemon. */
static void look_at_numbers(struct session *s, const struct run_counters *counters)
{
	if (s->is_over || !s->options->window_ns ||
	    !numbers_run_out(&counters->tables, (uint32_t)counters->objects))
		return;
	log_event(LOG_EVENT_NUMBERS_USED_UP,
		  "so many files were met that their numbers run out: stackd ends, to be started "
		  "again");
	s->is_over = s->is_used_up = true;
}

/* Hands what is new to the archive. `end`: it is the last of the window. */
static int submit(struct session *s, bool end)
{
	struct batch *b = recorder_take_batch(s->recorder);
	struct run_counters counters;
	struct status_numbers n;

	if (!b)
		return -ENOMEM;
	sampler_look_at_time(s->sampler);
	count(s, &counters);
	n = run_counters_status(&counters);
	watch_look(&s->watch, &counters, n.now_ns);
	if (fill_in(s, b, &counters)) {
		batch_free(b);
		return -ENOMEM;
	}
	if (end) {
		b->totals.end_ns = s->window.end_ns;
		session_begin_window(
			s, window_next(&s->window,
				       clock_ns(CLOCK_REALTIME) - (n.now_ns - s->window.end_ns)));
		b->ends_window = true;
		b->after = s->info;
		s->before = counters;
	}
	archive_set_kallsyms(s->archive, recorder_kallsyms(s->recorder));
	archive_submit(s->archive, b);
	workers_trim(s->workers);
	look_at_store(s, end);
	look_at_workers(s);
	if (end)
		look_at_numbers(s, &counters);
	s->commit_ns = n.now_ns;
	status_show(&s->status, &n, s->options->quiet);
	if (!s->is_over)
		keep_budget(s, &counters, n.now_ns);
	return 0;
}

/* Ends the window and begins the next. All samples before its end are handed out. */
static int cut(struct session *s)
{
	int err;

	s->full_windows += recorder_count_full(s->recorder);
	err = recorder_end_window(s->recorder, s->window.end_ns);
	if (!err)
		err = submit(s, true);
	return err ? err : recorder_begin_anew(s->recorder);
}

/* --- rounds ---------------------------------------------------------------------------------- */

static int queue_event(struct session *s, struct sideband_event *event)
{
	struct reorder_item item = {.time_ns = event->time_ns, .event = event};
	int err = recorder_prefetch_event(s->recorder, event);

	if (!err)
		err = reorder_push(s->queue, &item);
	if (err)
		record_pool_give_back(event);
	return err;
}

/* Whether no more records are to be read now: so much waits that some of it must be handed out
 * first, and some of it can be. */
static bool is_enough(struct session *s)
{
	return s->queued_bytes >= MOST_BYTES && reorder_peek(s->queue, s->read_ns - LAG_NS);
}

static int queue_record(struct session *s, struct stackd_header *record)
{
	struct reorder_item item = {.sample = record};
	int err;

	if (!record)
		return recorder_sample(s->recorder, NULL);
	item.time_ns = record->time_ns;
	err = recorder_prefetch_record(s->recorder, record);
	if (!err)
		err = reorder_push(s->queue, &item);
	if (err) {
		record_pool_give_back(record);
		return err < 0 ? err : 0;
	}
	s->queued_bytes += record_size(record);
	s->read_ns = record->time_ns;
	return 0;
}

/* Queues the records of the intake. 0; -ENOBUFS: the queue has enough for now; or an error. */
static int queue_records(struct session *s)
{
	struct stackd_header *record;
	int err = 0;

	while (!err && !is_enough(s) && intake_record(s->intake, &record))
		err = queue_record(s, record);
	return err ? err : is_enough(s) ? -ENOBUFS : 0;
}

/* Reads the ring, or as much of it as there is room for. */
static int read_ring(struct session *s)
{
	int err, has = 0;

	do {
		err = queue_records(s);
		if (!err)
			has = intake_take_records(s->intake, READ_BYTES);
	} while (!err && has > 0);
	s->is_behind = err == -ENOBUFS;
	return s->is_behind ? 0 : err ? err : has;
}

void session_take_meanwhile(void *arg, bool is_waiting)
{
	struct session *s = arg;
	int err = is_waiting ? intake_take_events(s->intake) : 0;

	if (!err && sampler_is_pressed(s->sampler))
		err = intake_take_records(s->intake, MOST_BYTES);
	if (err < 0)
		s->intake_error = err;
}

/* Whether the next item is a record that is to wait for its table, or for the walk of its stack. */
static bool is_held(struct session *s, uint64_t horizon_ns)
{
	const struct reorder_item *next = reorder_peek(s->queue, horizon_ns);
	bool awaits = next && next->sample && recorder_awaits_table(s->recorder, next->sample);

	s->awaits_walk = false;
	if (table_wait_goes_on(&s->table_wait, awaits, awaits ? clock_ns(CLOCK_MONOTONIC) : 0,
			       s->queued_bytes))
		return true;
	s->awaits_walk = recorder_awaits_walk(s->recorder, s->queue, horizon_ns, !awaits);
	return s->awaits_walk;
}

/* Reads the ring if it fills while records are handed out. */
static int relieve_ring(struct session *s)
{
	return s->queued_bytes < MOST_BYTES && sampler_is_pressed(s->sampler) ? read_ring(s) : 0;
}

int session_drain_sideband(void *arg)
{
	struct session *s = arg;
	struct sideband_event *event;
	int err = intake_take_events(s->intake);

	while (!err && (event = intake_event(s->intake)))
		err = queue_event(s, event);
	return err ? err : s->intake_error;
}

int session_relieve(void *arg)
{
	int err = session_drain_sideband(arg);

	return err ? err : relieve_ring(arg);
}

/* Opens a thread's event again, which the kernel has taken away. */
static void reattach(struct session *s, pid_t tid)
{
	attach_again(&(struct attach){.is_on_cpus = s->is_on_cpus,
				      .options = s->options,
				      .event = &s->event,
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
	s->queued_bytes -= record_size(item->sample);
	err = recorder_sample(s->recorder, item->sample);
	record_pool_give_back(item->sample);
	if (!err && !(++s->handed_out % RELIEVE_EVERY))
		err = session_drain_sideband(s);
	return err ? err : relieve_ring(s);
}

/* Returns 0; 1: a record is held, and all that is younger; or an error. */
static int hand_out(struct session *s, uint64_t horizon_ns)
{
	struct reorder_item item;
	bool held = false;
	int err = 0;

	while (!err && !(held = is_held(s, horizon_ns)) && reorder_pop(s->queue, horizon_ns, &item))
		err = hand_out_item(s, &item);
	return err ? err : held;
}

/* Returns whether the window is to end before its time: its times do not hold any more, it has come
 * to take too much memory, or writing is to begin again. A recording that is not cut has no bound.
 */
static bool ends_early(const struct session *s)
{
	return (s->options->window_ns && recorder_is_full(s->recorder)) || s->store.wants_window ||
	       window_is_torn(&s->window, clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_MONOTONIC));
}

/* Hands out what is older than the horizon; on the way the window is cut where it ends. */
static int hand_out_windows(struct session *s, uint64_t horizon_ns)
{
	int err = 0;

	if (horizon_ns != UINT64_MAX && ends_early(s))
		s->window.end_ns = horizon_ns;
	while (!err && horizon_ns != UINT64_MAX && s->window.end_ns <= horizon_ns) {
		err = hand_out(s, s->window.end_ns);
		if (!err)
			err = cut(s);
	}
	return err ? err : hand_out(s, horizon_ns);
}

/* Opens the events of CPUs that have come on line. Where that fails, those of the others go on. */
static void follow_cpus(struct session *s)
{
	int err = 0;

	if (!online_cpus_look(&s->cpus, ONLINE_CPUS_LIST))
		return;
	for (int cpu = 0; cpu < ONLINE_CPUS_MAX; cpu++) {
		int one = s->cpus.is_new[cpu]
				  ? sideband_reopen(s->sideband, cpu, target_cgroup_fd(s->target))
				  : 0;

		err = err ? err : one;
	}
	if (s->is_on_cpus || s->options->target == TARGET_ALL ||
	    s->options->target == TARGET_CGROUP)
		err = sampler_change_rate(s->sampler, &s->event.spec, s->budget.rate_hz,
					  target_cgroup_fd(s->target));
	if (err)
		log_warning("a CPU has come on line, and cannot be recorded: %s", strerror(-err));
	else
		log_info("a CPU has come on line, and is recorded again");
}

/* Reads pending events, then records. Returns the time up to which nothing older can come at the
 * next round. */
static uint64_t read_rings(struct session *s, int *ret_err)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);

	*ret_err = session_drain_sideband(s);
	if (!*ret_err)
		*ret_err = read_ring(s);
	return s->is_behind && s->read_ns < start ? s->read_ns : start;
}

/* Reads all pending events and records, and hands out those that are old enough. Where that is too
 * much at a time, s->is_behind is set, and the next round goes on. */
static int do_round(struct session *s)
{
	uint64_t before = s->round_ns, horizon;
	int err;

	s->round_ns = read_rings(s, &err);
	horizon = s->round_ns - LAG_NS < before ? s->round_ns - LAG_NS : before;
	follow_cpus(s);
	regions_look(s->regions);
	if (s->options->jitter && s->options->frequency && event_spec_is_clock(&s->event.spec))
		sampler_jitter(s->sampler,
			       s->budget.rate_hz ? s->budget.rate_hz : s->options->frequency,
			       s->options->jitter);
	event_groups_look(s->event_groups, s->sampler, s->round_ns);
	recorder_poll(s->recorder);
	recorder_go_on(s->recorder);
	err = err ? err : recorder_look(s->recorder);
	s->horizon_ns = horizon;
	if (!err)
		err = hand_out_windows(s, horizon);
	return err > 0 ? 0 : err;
}

/* Goes on with walks, and hands out what they have kept from it, without reading the rings. */
static int take_walks(struct session *s)
{
	int err;

	recorder_go_on(s->recorder);
	err = hand_out_windows(s, s->horizon_ns);
	return err > 0 ? 0 : err;
}

/* Waits a while for what a record is held for. */
static void await(struct session *s)
{
	struct pollfd walks = {.fd = recorder_poll_fd(s->recorder), .events = POLLIN};

	poll(&walks, 1, s->awaits_walk ? WORKER_LOOK_MS : TABLE_WAIT_POLL_MS);
	recorder_go_on(s->recorder);
}

/* Hands out what is older than a time. It waits for records that are held. */
static int hand_out_held(struct session *s, uint64_t horizon_ns)
{
	int err;

	while ((err = hand_out_windows(s, horizon_ns)) > 0)
		await(s);
	return err;
}

/* Hands out all that is left once sampling has stopped. */
static int finish_rounds(struct session *s)
{
	int err = 0;

	do {
		uint64_t end = read_rings(s, &err);

		if (!err && s->is_behind)
			err = hand_out_held(s, end - LAG_NS);
	} while (!err && (s->is_behind || intake_has_records(s->intake)));
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

/* --- the loop -------------------------------------------------------------------------------- */

/* Whether the next batch is due. Where that is not once a second, it is when the budget is spent by
 * what rises with the rate: with a batch comes a look at the cost. */
static bool is_commit_due(const struct session *s)
{
	uint64_t since = clock_ns(CLOCK_MONOTONIC) - s->commit_ns;

	if (since < COMMIT_NS || since >= budget_pace(&s->budget) * COMMIT_NS)
		return since >= COMMIT_NS;
	return budget_is_spent(&s->budget, since, running_cost_ns(s) - s->running_ns);
}

/* Returns whether the next tick is early enough for all that is pending. */
static bool may_idle(const struct session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	return now - s->round_ns < ROUND_NS && now - s->commit_ns < COMMIT_NS &&
	       !sideband_waits(s->sideband) && !intake_has_events(s->intake) &&
	       recorder_may_idle(s->recorder);
}

/* Handles a readable descriptor. Returns whether a round is due. */
static bool on_wake(struct session *s, int fd)
{
	struct wakeups *w = &s->wakeups;

	if (fd == w->signals) {
		s->is_over |= wakeups_take_signals(w);
	} else if (fd == w->deadline || fd == archive_poll_fd(s->archive)) {
		s->is_over = true;
	} else if (fd == target_poll_fd(s->target)) {
		s->is_over |= target_has_ended(s->target);
	} else if (fd == w->tick) {
		wakeups_take_tick(w);
		return !may_idle(s);
	} else if (fd == recorder_poll_fd(s->recorder)) {
		return false;
	}
	return true;
}

/* Whether there is more to read. The rings wake the loop for their own records alone, and not for
 * those in the intake. */
static bool is_behind(const struct session *s)
{
	return s->is_behind || intake_has_records(s->intake);
}

/* How long to wait for a wake-up: not at all if there is more to do, and not for long while a
 * worker is to be looked at. */
static int longest_wait_ms(const struct session *s)
{
	if (is_behind(s))
		return 0;
	return recorder_walks(s->recorder) ? WORKER_LOOK_MS : -1;
}

/* Waits for walks where no more records can be read before some are handed out, a while at most:
 * the ring has more, and would wake the loop all the time. */
static int catch_up(struct session *s)
{
	const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	while (!err && s->is_behind && s->awaits_walk &&
	       clock_ns(CLOCK_MONOTONIC) - begun_ns < WORKER_LOOK_MS * UINT64_C(1000000)) {
		await(s);
		err = take_walks(s);
	}
	return err;
}

static int loop(struct session *s)
{
	int fds[8], err = 0;

	while (!err && !s->is_over) {
		int n = wakeups_wait(&s->wakeups, longest_wait_ms(s), fds, 8);
		bool is_due = is_behind(s);

		service_alive(&s->watchdog, clock_ns(CLOCK_MONOTONIC));
		for (int i = 0; i < n; i++)
			is_due |= on_wake(s, fds[i]);
		if (!is_due) {
			err = recorder_walks(s->recorder) ? take_walks(s) : 0;
			continue;
		}
		err = do_round(s);
		if (!err)
			err = catch_up(s);
		if (!err && is_commit_due(s))
			err = submit(s, false);
	}
	return err;
}

/* Names the recordings of the run. */
static const char *recordings(const struct session *s, char *text, size_t size)
{
	int64_t last = archive_recording(s->archive);

	if (last == s->first_recording)
		snprintf(text, size, "recording %" PRId64, last);
	else
		snprintf(text, size, "recordings %" PRId64 "..%" PRId64, s->first_recording, last);
	return text;
}

static enum exit_status sum_up(struct session *s)
{
	struct run_counters counters;
	struct status_numbers n;
	char text[256], name[64];

	count(s, &counters);
	n = run_counters_status(&counters);
	archive_look(s->archive, &s->store);
	n.samples -= s->store.unwritten < n.samples ? s->store.unwritten : n.samples;
	n.lost += s->store.unwritten;
	status_summary(&n, text, sizeof(text));
	service_status(text);
	log_status(NULL);
	if (!s->options->quiet)
		log_info("%s; %s in %s", text, recordings(s, name, sizeof(name)), s->path);
	run_counters_warn(&counters, s->options->tags == STACKD_TAGS_ONLY);
	alloc_coverage_warn(recorder_alloc_coverage(s->recorder));
	if (n.samples || n.waits || counters.recorded.instances)
		return STATUS_DONE;
	no_samples_warn(s->options, s->target, &n);
	return STATUS_NO_SAMPLES;
}

/* A region that was not found is the reason why there is nothing, so it is the error. */
static enum exit_status worse(enum exit_status status, enum exit_status of_regions)
{
	return of_regions ? of_regions : status;
}

/* Records until the run is over, then writes every sample that was taken before it ended. */
static enum exit_status record(struct session *s)
{
	enum exit_status status;
	char *sentence = NULL;
	int err, stored;
	bool was_called;

	s->round_ns = s->commit_ns = clock_ns(CLOCK_MONOTONIC);
	s->budget = budget_begin(s->options->max_cpu, s->options->frequency);
	status_start(&s->status, s->round_ns);
	service_ready();
	err = loop(s);
	service_stopping();
	waits_stop(&s->waits);
	was_called = regions_allocator_was_called(s->regions);
	regions_stop(s->regions);
	sampler_stop(s->sampler);
	s->time = session_times(s);
	s->stopped_ns = clock_ns(CLOCK_MONOTONIC);
	s->idle = idle_time_since(&s->idle_since);
	if (!err)
		err = finish_rounds(s);
	if (!err)
		err = recorder_end_window(s->recorder, s->stopped_ns);
	if (!err)
		err = submit(s, false);
	stored = archive_finish(s->archive, &sentence);
	if (err)
		log_error("recording ended early: %s", strerror(-err));
	if (stored) {
		log_status(NULL);
		watch_store_failed(s->path, stored, sentence);
	}
	free(sentence);
	if (err || stored || s->has_failed)
		return STATUS_FAILED;
	status = sum_up(s);
	if (status == STATUS_DONE && !was_called)
		status = STATUS_NO_SAMPLES;
	if (status == STATUS_DONE || status == STATUS_NO_SAMPLES)
		status = worse(status, regions_check(s->regions));
	return s->is_used_up ? STATUS_AGAIN : status;
}

/* --- the run --------------------------------------------------------------------------------- */

enum exit_status session_run(const struct options *options, struct fork_server *server,
			     const char *command_line)
{
	struct session s = {.options = options, .wakeups = WAKEUPS_NONE};
	char *target = options_target(options);
	enum exit_status status;

	status = session_open(&s, server, command_line, target);
	if (!status)
		status = record(&s);
	session_close(&s);
	free(target);
	return status;
}
