/* SPDX-License-Identifier: MIT */
/*
 * Hands batches to the archive, with counters and totals, and checks, once per batch, the budget,
 * the store, the workers and the numbers of files; see session.h. The last batch of a window ends
 * it.
 */
#include "daemon/session_state.h"

#include <inttypes.h>
#include <errno.h>

#include "base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/own_cost.h"
#include "daemon/tables/numbers.h"
#include "daemon/worker/fault_injection.h"

#define MOST_OBJECTS 65536 /* that a service keeps */

void session_count(const struct session *s, struct run_counters *ret_counters)
{
	const struct scheduler_times times =
		s->clocks.stopped_ns ? s->clocks.at_stop : session_times(s);

	sampler_counts(s->sampler, &ret_counters->sampled);
	recorder_counts(s->recorder, &ret_counters->recorded);
	tables_counts(s->tables, &ret_counters->tables);
	ret_counters->objects = recorder_object_count(s->recorder);
	ret_counters->waiting = reorder_waiting(s->rings.queue);
	ret_counters->queue_full = s->rings.full;
	ret_counters->late = reorder_late(s->rings.queue);
	ret_counters->short_lived =
		s->rings.short_lived ? short_lived_count(s->rings.short_lived) : 0;
	if (s->options->target == TARGET_CGROUP)
		ret_counters->sampled.counters[STACKD_COUNT_CPU_NS] =
			times.cgroup_ns - s->clocks.before.cgroup_ns;
	ret_counters->stolen_ns = times.stolen_ns - s->clocks.before.stolen_ns;
	/* With --idle, samples of idle CPUs are no task's CPU time. */
	ret_counters->has_periods =
		event_spec_is_cpu_time(&s->scope.event.spec) && !s->options->idle;
	ret_counters->has_waking = s->scope.is_on_cpus || s->options->target == TARGET_ALL ||
				   s->options->target == TARGET_CGROUP;
	ret_counters->idle =
		s->clocks.stopped_ns ? s->clocks.idle : idle_time_since(&s->clocks.idle_since);
	workers_counts(s->workers, &ret_counters->workers);
	ret_counters->own_cpu_ns = own_cost_cpu_ns() + ret_counters->workers.cpu_ns +
				   fetcher_cpu_ns(s->fetcher) + copier_cpu_ns(s->copier);
	ret_counters->own_resident_bytes = own_cost_resident_bytes() +
					   ret_counters->workers.resident_bytes +
					   fetcher_resident_bytes(s->fetcher);
	ret_counters->rate_hz = s->cost.budget.rate_hz;
	ret_counters->rate_changes = s->cost.budget.changes;
	ret_counters->regions_taken_off = regions_taken_off(s->regions);
	ret_counters->alloc_until_ns = regions_alloc_until(s->regions);
	ret_counters->full_windows = s->recording.full_windows;
}

/* The kernel turns the events of a cgroup on after it has switched to a task of the cgroup. The
 * scheduler counts the task's time from its wake-up on. No sample can hit the time in between, nor
 * the time that perf itself takes at each switch. */
static void count_off(struct run_counters *c)
{
	const uint64_t cpu_ns = c->sampled.counters[STACKD_COUNT_CPU_NS];

	c->sampled.counters[STACKD_COUNT_WAKING_NS] =
		cpu_ns > c->sampled.on_ns ? cpu_ns - c->sampled.on_ns : 0;
}

/* Fills in the counters and totals of a batch, as of now. */
static int fill_in(struct session *s, struct batch *b, const struct run_counters *all)
{
	struct run_counters counters = run_counters_since(all, &s->recording.before);
	const struct status_numbers n = run_counters_status(&counters);
	char name[sizeof(b->counters->name)];
	uint64_t since_ns;
	int err;

	if (s->options->target == TARGET_CGROUP)
		count_off(&counters);
	err = run_counters_put(&counters, b);
	if (err)
		return err;
	run_counters_put_readings(s->options->counters, s->options->n_counters, &s->cost.probe_cost,
				  b);
	for (size_t i = 0; regions_off(s->regions, i, name, sizeof(name), &since_ns); i++)
		run_counters_put_off(name, since_ns, b);
	b->totals = s->recording.info;
	b->totals.end_ns = s->clocks.stopped_ns ? s->clocks.stopped_ns : n.now_ns;
	b->totals.samples = n.samples;
	b->totals.lost = n.lost;
	b->totals.kernel_ns = counters.sampled.run_ns;
	b->totals.kernel_runs = counters.sampled.counters[STACKD_COUNT_STARTED];
	return 0;
}

/* Returns the time from one tick to the next. While stackd wakes up less often to keep its budget,
 * that is a quarter of the time between two batches, but not longer than the service manager's
 * watchdog allows. */
static uint64_t tick_ns(const struct session *s)
{
	unsigned pace = session_pace(s);
	uint64_t ns = pace > 1 ? pace * SESSION_COMMIT_NS / 4 : SESSION_TICK_NS;

	if (pace <= 1 && recorder_reads_memory(s->recorder))
		ns = SESSION_READ_NS;
	return s->log.watchdog.every_ns && ns > s->log.watchdog.every_ns ? s->log.watchdog.every_ns
									 : ns;
}

void session_set_tick(struct session *s)
{
	uint64_t ns = tick_ns(s);

	if (ns == s->tick_ns)
		return;
	s->tick_ns = ns;
	epoll_set_tick(&s->wakeups, ns);
}

uint64_t session_running_cost_ns(const struct session *s)
{
	return sampler_run_ns(s->sampler) + clock_ns(CLOCK_THREAD_CPUTIME_ID) - s->cost.caused_ns;
}

/* Returns the CPU time of stackd, its workers, fetcher and copier, and its kernel half up to the
 * last batch. */
static uint64_t all_cpu_ns(const struct session *s)
{
	return own_cost_cpu_ns() + workers_cpu_ns(s->workers) + fetcher_cpu_ns(s->fetcher) +
	       copier_cpu_ns(s->copier) + s->cost.kernel_ns;
}

void session_begin_account(struct session *s)
{
	s->cost.debt =
		work_debt_begin(s->options->max_cpu, all_cpu_ns(s), clock_ns(CLOCK_MONOTONIC));
}

void session_pay(struct session *s)
{
	if (s->options->max_cpu > 0)
		work_debt_look(&s->cost.debt, all_cpu_ns(s), clock_ns(CLOCK_MONOTONIC));
}

unsigned session_pace(const struct session *s)
{
	return work_debt_is(&s->cost.debt) ? BUDGET_MOST_PACE : budget_pace(&s->cost.budget);
}

/* Sets what users may cause from now on. */
static void share_out(struct session *s, const struct run_counters *counters)
{
	double share;

	s->cost.kernel_ns = counters->sampled.run_ns + counters->sampled.switch_run_ns;
	session_pay(s);
	share = s->options->max_cpu * work_debt_part(&s->cost.debt);
	recorder_set_budget(s->recorder, share);
	tables_set_share(s->tables, share * SESSION_TABLES_IN_BUDGET,
			 work_debt_keeps_savings(&s->cost.debt));
	archive_set_share(s->recording.archive, share * SESSION_NAMES_IN_BUDGET,
			  work_debt_keeps_savings(&s->cost.debt));
}

/* Changes the rate, and how often stackd wakes, if the budget requires it. If the rate cannot be
 * changed, the old one stays, and the next call tries again. */
static void keep_budget(struct session *s, const struct run_counters *counters, uint64_t now_ns)
{
	uint64_t before = s->cost.budget.rate_hz;

	if (!(s->options->max_cpu > 0))
		return;
	s->cost.running_ns = session_running_cost_ns(s);
	share_out(s, counters);
	if (!budget_look(&s->cost.budget, now_ns,
			 counters->own_cpu_ns + counters->sampled.run_ns +
				 counters->sampled.switch_run_ns,
			 s->cost.caused_ns + counters->workers.cpu_ns + fetcher_cpu_ns(s->fetcher) +
				 copier_cpu_ns(s->copier)))
		return;
	session_set_tick(s);
	if (s->cost.budget.rate_hz == before)
		return;
	if (sampler_change_rate(s->sampler, &s->scope.event.spec, s->cost.budget.rate_hz,
				target_cgroup_fd(s->scope.target)))
		s->cost.budget.rate_hz = before;
	sampler_set_wait_mean(s->sampler, waits_mean_ns(s->options, s->cost.budget.full_hz,
							s->cost.budget.rate_hz));
	watch_rate(&s->log.watch, &s->cost.budget, before);
}

/* Logs whether the store can be written to. `end`: a new window has just begun, so the archive's
 * request for one is dropped. */
static void look_at_store(struct session *s, bool end)
{
	archive_look(s->recording.archive, &s->recording.state);
	s->recording.state.wants_window &= !end;
	watch_store(&s->log.watch, s->recording.store_path, &s->recording.state,
		    clock_ns(CLOCK_MONOTONIC));
}

/* Ends a service (--window) whose workers are lost for good, so that the service manager starts it
 * again. Other recordings go on, since they still get samples, and names in files that are
 * known. */
static void look_at_workers(struct session *s)
{
	if (s->end.is_over || !s->options->window_ns || !workers_are_lost(s->workers))
		return;
	log_error(
		"no process is left to read files, and none can be started: stackd ends, for the service manager to start it again");
	s->end.is_over = s->end.has_failed = true;
}

/* When numbers of rules run out, gives them anew. That happens only at a window's end, so that
 * somebody who makes files on purpose cannot have all tables made again and again. */
static void look_at_rules(struct session *s, const struct run_counters *counters)
{
	if (!s->end.is_over && numbers_rules_are_few(&counters->tables))
		tables_begin_rules(s->tables);
}

/* Ends a service (--window, of all processes or a cgroup) that has met so many files, of each of
 * which it keeps some 2 KiB, so that the service manager starts it again. A command, or processes
 * that were named, could not be met again: their recording goes on. That happens only at a window's
 * end, so that somebody who makes files on purpose cannot restart it again and again. */
static void look_at_objects(struct session *s, const struct run_counters *counters)
{
	const enum target_kind target = s->options->target;

	if (s->end.is_over || !s->options->window_ns ||
	    (target != TARGET_ALL && target != TARGET_CGROUP) ||
	    counters->objects < fault_few("objects", MOST_OBJECTS))
		return;
	log_warning(
		"stackd has met %" PRIu64
		" files, which it keeps in memory: it ends, for the service manager to start it again",
		counters->objects);
	s->end.is_over = s->end.is_used_up = true;
}

int session_submit(struct session *s, bool end)
{
	int err = recorder_read_calls(
		s->recorder, end ? s->recording.window.end_ns : clock_ns(CLOCK_MONOTONIC), false);
	struct batch *b = err ? NULL : recorder_take_batch(s->recorder);
	struct run_counters counters;
	struct status_numbers n;

	if (!b)
		return -ENOMEM;
	sampler_look_at_time(s->sampler);
	session_count(s, &counters);
	n = run_counters_status(&counters);
	watch_look(&s->log.watch, &counters, n.now_ns);
	if (fill_in(s, b, &counters)) {
		batch_free(b);
		return -ENOMEM;
	}
	if (end) {
		b->totals.end_ns = s->recording.window.end_ns;
		session_begin_window(s,
				     window_next(&s->recording.window,
						 clock_ns(CLOCK_REALTIME) -
							 (n.now_ns - s->recording.window.end_ns)));
		b->ends_window = true;
		b->after = s->recording.info;
		s->recording.before = counters;
	}
	archive_set_kallsyms(s->recording.archive, recorder_kallsyms(s->recorder));
	archive_submit(s->recording.archive, b);
	workers_trim(s->workers);
	look_at_store(s, end);
	look_at_workers(s);
	if (end) {
		look_at_rules(s, &counters);
		look_at_objects(s, &counters);
	}
	s->recording.commit_ns = n.now_ns;
	status_show(&s->log.status, &n, s->options->quiet);
	if (!s->end.is_over)
		keep_budget(s, &counters, n.now_ns);
	return 0;
}

int session_cut(struct session *s)
{
	int err;

	s->recording.full_windows += recorder_count_full(s->recorder);
	err = recorder_end_window(s->recorder, s->recording.window.end_ns);
	if (!err)
		err = session_submit(s, true);
	return err ? err : recorder_begin_anew(s->recorder);
}
