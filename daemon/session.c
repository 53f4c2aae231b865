/* SPDX-License-Identifier: MIT */
/*
 * Runs the daemon from options to summary; see session.h.
 *
 * Everything happens in one epoll loop (base/epoll_set.h). A round is started when the ring is a
 * quarter full, by a tick each tenth of a second, by a signal, and by the target's end. It reads
 * the side-band, reads the ring, and hands out in the order of time all records that are older than
 * the start of the round before. A record that was being written while its ring was read is there
 * at the next round, so nothing older than that can still come (session_round.c). Between two
 * rounds the side-band is read alone, when it is half full. Once a second a batch of new rows goes
 * to the archive (session_batch.c).
 *
 * When --duration is over, the loop ends in the middle of a round, for sampling to stop then also
 * where the daemon has to wait for a CPU. What is in the rings is handed out afterwards.
 *
 * A round begins with cold caches, which is much of its cost. While there are only samples, one
 * tick in three starts a round; side-band events are read at the next tick. Where the cost comes
 * near the budget, ticks and batches are fewer, too (budget_pace()). While Java runs, ticks come 50
 * times a second and each starts a round: its methods are read from the memory of processes that
 * may end at any time.
 */
#include "daemon/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/base/log.h"
#include "daemon/no_samples.h"
#include "daemon/session_state.h"

/* A tick starts a round if the last round began at least this long ago. */
#define ROUND_NS 250000000u

/* --- the loop -------------------------------------------------------------------------------- */

/* Returns whether the next batch is due: a second after the last one; while stackd wakes up less
 * often, budget_pace() seconds after it. It is due earlier if the costs that rise with the rate of
 * samples have used up the budget (budget_is_spent()), because only a batch makes budget_look()
 * lower the rate. */
static bool is_commit_due(const struct session *s)
{
	uint64_t since = clock_ns(CLOCK_MONOTONIC) - s->recording.commit_ns;

	if (since < SESSION_COMMIT_NS || since >= session_pace(s) * SESSION_COMMIT_NS)
		return since >= SESSION_COMMIT_NS;
	return budget_is_spent(&s->cost.budget, since,
			       session_running_cost_ns(s) - s->cost.running_ns);
}

/* Returns whether everything that is pending can wait until the next tick. */
static bool may_idle(const struct session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	return now - s->rings.round_ns < ROUND_NS &&
	       now - s->recording.commit_ns < SESSION_COMMIT_NS &&
	       !sideband_waits(s->rings.sideband) && !intake_has_events(s->rings.intake) &&
	       recorder_may_idle(s->recorder) && !recorder_reads_memory(s->recorder);
}

/* Handles a readable descriptor. Returns whether a round is due. */
static bool on_wake(struct session *s, int fd)
{
	struct epoll_set *w = &s->wakeups;

	if (fd == w->signals) {
		s->end.is_signalled |= epoll_set_take_signals(w);
		s->end.is_over |= s->end.is_signalled;
	} else if (fd == w->deadline || fd == archive_poll_fd(s->recording.archive)) {
		s->end.is_over = true;
	} else if (fd == target_poll_fd(s->scope.target)) {
		s->end.is_over |= target_has_ended(s->scope.target);
	} else if (fd == w->tick) {
		epoll_set_take_tick(w);
		return !may_idle(s);
	} else if (fd == recorder_poll_fd(s->recorder) ||
		   fd == sideband_poll_fd(s->rings.sideband)) {
		return session_is_crowded(s);
	}
	return true;
}

/* Returns whether records are left in the ring, or in the intake, for which no descriptor wakes the
 * loop. */
static bool is_behind(const struct session *s)
{
	return s->rings.is_behind || intake_has_records(s->rings.intake);
}

/* Returns the longest time to wait for a wake-up: 0 if there is more to do, WORKER_LOOK_MS while
 * workers walk or files are copied, or -1 (no limit). */
static int longest_wait_ms(const struct session *s)
{
	if (is_behind(s))
		return 0;
	return recorder_walks(s->recorder) || recorder_copies(s->recorder) ? WORKER_LOOK_MS : -1;
}

/* Takes events out of a ring that fills, and what workers and the copier have done, between two
 * rounds. */
static int take_results(struct session *s)
{
	int err = sideband_waits(s->rings.sideband) ? session_drain_in_time(s) : 0;

	if (!err && recorder_copies(s->recorder))
		err = recorder_look(s->recorder);
	return !err && recorder_walks(s->recorder) ? session_take_walks(s) : err;
}

/* If no more records can be read before queued ones are handed out, and these wait for walks, waits
 * for the walks, WORKER_LOOK_MS at most. epoll could not wait, since the ring's descriptor is
 * readable. */
static int catch_up(struct session *s)
{
	const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	while (!err && s->rings.is_behind && s->rings.awaits_walk &&
	       clock_ns(CLOCK_MONOTONIC) - begun_ns < WORKER_LOOK_MS * UINT64_C(1000000)) {
		session_await(s);
		err = session_take_walks(s);
	}
	return err;
}

static int take_round(struct session *s)
{
	int err = session_round(s);

	session_set_tick(s);
	if (!err)
		err = catch_up(s);
	return !err && is_commit_due(s) ? session_submit(s, false) : err;
}

/* Returns when the next batch is due, if nothing makes it due earlier. */
static uint64_t commit_due_ns(const struct session *s)
{
	return s->recording.commit_ns + session_pace(s) * SESSION_COMMIT_NS;
}

static int loop(struct session *s)
{
	int fds[8], err = 0;

	while (!err && !s->end.is_over) {
		int n = epoll_set_wait(&s->wakeups, longest_wait_ms(s), fds, 8);
		bool is_due = is_behind(s);

		service_manager_alive(&s->log.watchdog, clock_ns(CLOCK_MONOTONIC));
		for (int i = 0; i < n; i++)
			is_due |= on_wake(s, fds[i]);
		if (session_is_time_over(s))
			break;
		err = is_due ? take_round(s) : take_results(s);
		if (!err && !s->end.is_over)
			err = session_rest(s, commit_due_ns(s));
	}
	return err;
}

/* Writes which recordings of the store are the run's. */
static const char *recordings(const struct session *s, char *text, size_t size)
{
	int64_t last = archive_recording(s->recording.archive);

	if (last == s->recording.first)
		snprintf(text, size, "recording %" PRId64, last);
	else
		snprintf(text, size, "recordings %" PRId64 "..%" PRId64, s->recording.first, last);
	return text;
}

static enum exit_status sum_up(struct session *s)
{
	struct run_counters counters;
	struct status_numbers n;
	char text[256], name[64];

	session_count(s, &counters);
	n = run_counters_status(&counters);
	archive_look(s->recording.archive, &s->recording.state);
	n.samples -=
		s->recording.state.unwritten < n.samples ? s->recording.state.unwritten : n.samples;
	n.lost += s->recording.state.unwritten;
	status_summary(&n, text, sizeof(text));
	service_manager_status(text);
	log_status(NULL);
	if (!s->options->quiet)
		log_info("%s; %s in %s", text, recordings(s, name, sizeof(name)),
			 s->recording.store_path);
	run_counters_warn(&counters, &(struct run_counters_asked){
					     .tags_only = s->options->tags == STACKD_TAGS_ONLY,
					     .mpi = s->options->mpi,
					     .annotated = s->options->annotated});
	alloc_coverage_warn(recorder_alloc_coverage(s->recorder));
	if (s->options->annotated && !counters.recorded.named_walked)
		no_regions_warn();
	if (n.samples || n.waits || counters.recorded.instances || counters.recorded.summed_calls)
		return STATUS_DONE;
	no_samples_warn(s->options, s->scope.target, &n, s->end.is_early);
	return STATUS_NO_SAMPLES;
}

/* Returns the status of regions if that is an error, since a missing region explains why there are
 * no samples. */
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

	s->rings.round_ns = s->recording.commit_ns = clock_ns(CLOCK_MONOTONIC);
	s->cost.budget = budget_begin(s->options->max_cpu, s->options->frequency);
	session_begin_account(s);
	status_start(&s->log.status, s->rings.round_ns);
	service_manager_ready();
	err = loop(s);
	service_manager_stopping();
	waits_stop(&s->waits);
	was_called = regions_allocator_was_called(s->regions);
	regions_stop(s->regions);
	sampler_stop(s->sampler);
	s->clocks.at_stop = session_times(s);
	s->clocks.stopped_ns = clock_ns(CLOCK_MONOTONIC);
	s->clocks.idle = idle_time_since(&s->clocks.idle_since);
	if (!err)
		err = session_finish_rounds(s);
	if (!err)
		err = recorder_read_calls(s->recorder, s->clocks.stopped_ns, true);
	if (!err)
		err = recorder_end_window(s->recorder, s->clocks.stopped_ns);
	if (!err)
		err = session_submit(s, false);
	stored = archive_finish(s->recording.archive, s->end.is_signalled, &sentence);
	if (err)
		log_error("recording ended early: %s", strerror(-err));
	if (stored) {
		log_status(NULL);
		watch_store_failed(s->recording.store_path, stored, sentence);
	}
	free(sentence);
	if (err || stored || s->end.has_failed)
		return STATUS_FAILED;
	status = sum_up(s);
	if (status == STATUS_DONE && !was_called)
		status = STATUS_NO_SAMPLES;
	if (status == STATUS_DONE || status == STATUS_NO_SAMPLES)
		status = worse(status, regions_check(s->regions));
	return s->end.is_used_up ? STATUS_AGAIN : status;
}

/* --- the run --------------------------------------------------------------------------------- */

enum exit_status session_run(const struct options *options, struct fork_server *server,
			     struct copier *copier, struct fetcher *fetcher,
			     const char *command_line)
{
	struct session s = {.options = options,
			    .copier = copier,
			    .fetcher = fetcher,
			    .wakeups = EPOLL_SET_NONE,
			    .kernel = KERNEL_FILES_NONE};
	char *target = options_target(options);
	enum exit_status status;

	status = session_open(&s, server, command_line, target);
	if (!status)
		status = record(&s);
	session_close(&s);
	free(target);
	return status;
}
