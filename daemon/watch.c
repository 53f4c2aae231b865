/* SPDX-License-Identifier: MIT */
/* Compares counters with those of the last report; see watch.h. */
#include "daemon/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "daemon/base/log.h"

#define AGAIN_NS UINT64_C(60000000000)

/* Returns the count to report: the increase since the last report. 0: there is none, or the last
 * report was less than AGAIN_NS ago. */
static uint64_t news(struct watch_kind *kind, uint64_t counted, uint64_t now_ns)
{
	uint64_t since = counted - kind->told;

	if (!since || (kind->told_ns && now_ns - kind->told_ns < AGAIN_NS))
		return 0;
	kind->told = counted;
	kind->told_ns = now_ns;
	return since;
}

void watch_look(struct watch *watch, const struct run_counters *counters, uint64_t now_ns)
{
	uint64_t lost =
		news(&watch->ring, counters->sampled.counters[STACKD_COUNT_LOST_RING], now_ns);
	uint64_t events = news(&watch->events, counters->recorded.sideband_lost, now_ns);
	uint64_t left_out = news(&watch->processes,
				 counters->sampled.counters[STACKD_COUNT_NOT_FOLLOWED], now_ns);
	uint64_t refused = news(&watch->files, counters->tables.refused, now_ns);
	uint64_t unread = news(&watch->interpreters, counters->tables.unread, now_ns);
	uint64_t over = news(&watch->shares, counters->recorded.files_over_share, now_ns);
	uint64_t unnumbered = news(&watch->numbers, counters->tables.unnumbered, now_ns);
	uint64_t maps =
		news(&watch->mappings,
		     counters->recorded.mappings_over_share + counters->recorded.names_over_share,
		     now_ns);

	if (unnumbered)
		log_event(
			LOG_EVENT_NUMBERS_USED_UP,
			"all numbers of files are in use: stackd itself walks the frames in further "
			"files, which takes it longer");
	if (over)
		log_event(LOG_EVENT_FILE_REFUSED,
			  "a user's processes map more new files than there is time for: %" PRIu64
			  " are not read for now",
			  over);
	if (maps)
		log_warning("a user's processes map code, or rename threads, more often than "
			    "--max-cpu leaves time for: %" PRIu64 " events are left out",
			    maps);
	if (lost)
		log_event(LOG_EVENT_RING_OVERFLOW,
			  "%" PRIu64
			  " sample%s lost: the ring was full; --ring-bytes makes it larger",
			  lost, text_plural(lost, "", "s"));
	if (events)
		log_event(LOG_EVENT_EVENTS_LOST,
			  "%" PRIu64
			  " event%s of processes and mappings lost: more came at once than there "
			  "is room for; what they said is read from /proc",
			  events, text_plural(events, "", "s"));
	if (left_out)
		log_warning("%" PRIu64 " process%s that the target started not recorded: too "
			    "many are followed at a time",
			    left_out, text_plural(left_out, "", "es"));
	if (refused)
		log_event(LOG_EVENT_FILE_REFUSED,
			  "unwind information of %" PRIu64
			  " file%s refused: stackctl stats has the "
			  "reasons",
			  refused, text_plural(refused, "", "s"));
	if (unread)
		log_warning(
			"met %" PRIu64 " file%s with a Python, Ruby, PHP or Perl whose functions "
			"are not read: docs/PYTHON.md, RUBY.md, PHP.md and PERL.md list the versions and "
			"builds that are",
			unread, text_plural(unread, "", "s"));
}

void watch_rate(struct watch *watch, const struct budget *budget, uint64_t before_hz)
{
	if (budget->rate_hz < before_hz && news(&watch->rate, budget->changes, budget->now_ns))
		log_event(LOG_EVENT_RATE_LOWERED,
			  "rate lowered from %" PRIu64 " Hz to %" PRIu64
			  " Hz, to keep within %g%% of one core",
			  before_hz, budget->rate_hz, budget->share * 100);
}

static void look_at_delay(struct watch *watch, const char *path, size_t waiting, uint64_t now_ns)
{
	if (waiting < WATCH_MOST_BEHIND ||
	    (watch->behind_ns && now_ns - watch->behind_ns < AGAIN_NS))
		return;
	watch->behind_ns = now_ns;
	log_warning("the samples of some %zu second%s wait to be written to %s", waiting,
		    text_plural(waiting, "", "s"), path);
}

void watch_store(struct watch *watch, const char *path, const struct archive_state *state,
		 uint64_t now_ns)
{
	bool fails = state->err != 0;
	bool drops = fails && state->unwritten > watch->store.told;

	if (watch->store_fails && drops && !watch->store_drops)
		log_warning("samples are dropped until %s can be written to again", path);
	watch->store_drops = watch->store_fails && drops;
	if (!fails)
		look_at_delay(watch, path, state->waiting, now_ns);
	if (fails == watch->store_fails)
		return;
	watch->store_fails = fails;
	if (state->err == -ENOSPC)
		log_event(LOG_EVENT_DISK_FULL, "the disk with %s is full; sampling goes on", path);
	else if (fails)
		log_warning("cannot write to %s: %s; sampling goes on", path,
			    strerror(-state->err));
	else
		log_info("%s is written to again; %" PRIu64 " sample%s could not be written", path,
			 state->unwritten - watch->store.told,
			 text_plural(state->unwritten - watch->store.told, "", "s"));
	if (!fails)
		watch->store.told = state->unwritten;
}

void watch_store_failed(const char *path, int err, const char *sentence)
{
	if (err == -ENOSPC)
		log_event(LOG_EVENT_DISK_FULL, "the disk with %s is full", path);
	log_error(
		"cannot write to %s: %s; earlier recordings are intact, this one is kept up to its "
		"last commit",
		path, sentence ? sentence : strerror(-err));
}
