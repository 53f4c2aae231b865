/* SPDX-License-Identifier: MIT */
/* Collects the counters of all lists; see run_counters.h. */
#include "daemon/run_counters.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/base/log.h"
#include "daemon/counter_list.h"
#include "stack/end_reason.h"
#include "store/store.h"

#define MOST_OFF 32 /* most regions that were switched off, in a recording's counters */
#define MAX_COUNTERS                                                                               \
	(STACKD_END_COUNT + STACKD_COUNT_COUNT + RECIPE_REFUSED_COUNT + STACKD_REGION_COUNT +      \
	 STACKD_WAIT_COUNT + STACKD_MOST_COUNTERS + MOST_OFF + 100)

static void add(struct batch *b, const char *name, uint64_t value)
{
	struct batch_counter *counter = &b->counters[b->n_counters++];

	snprintf(counter->name, sizeof(counter->name), "%s", name);
	counter->value = value;
}

static void add_end_reasons(const struct run_counters *c, struct batch *b)
{
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		uint64_t value = c->recorded.end_reasons[i];
		char name[40];

		if (i == STACKD_END_LOST_RING)
			value += c->sampled.counters[STACKD_COUNT_LOST_RING];
		snprintf(name, sizeof(name), "end.%s", end_reason_name((uint8_t)i));
		add(b, name, value);
	}
}

/* Adds the counters of the kernel half. Leaves out STACKD_COUNT_WAKING_NS where it is not counted,
 * as 0 would be wrong. */
static void add_kernel(const struct sampler_counts *c, bool has_waking, struct batch *b)
{
#define COUNTER_X(e, name, unit, meaning)                                                          \
	if (STACKD_COUNT_##e != STACKD_COUNT_WAKING_NS || has_waking)                              \
		add(b, name, c->counters[STACKD_COUNT_##e]);
	STACKD_COUNTERS(COUNTER_X)
#undef COUNTER_X
#define COUNTER_X(e, name, unit, meaning) add(b, name, c->regions[STACKD_REGION_##e]);
	STACKD_REGION_COUNTERS(COUNTER_X)
#undef COUNTER_X
#define COUNTER_X(e, name, unit, meaning) add(b, name, c->waits[STACKD_WAIT_##e]);
	STACKD_WAIT_COUNTERS(COUNTER_X)
#undef COUNTER_X
}

static void add_daemon(const struct run_counters *c, struct batch *b)
{
#define COUNTER_X(value, name, unit, meaning) add(b, name, c->value);
	DAEMON_COUNTERS(COUNTER_X)
	if (c->has_periods) {
		PERIOD_COUNTERS(COUNTER_X)
	}
#undef COUNTER_X
}

static void add_refusals(const struct tables_counts *c, struct batch *b)
{
	for (int i = 0; i < RECIPE_REFUSED_COUNT; i++) {
		char name[40];

		snprintf(name, sizeof(name), "refused.%s",
			 recipe_refusal_name((enum recipe_refusal)i));
		if (c->refused_entries[i])
			add(b, name, c->refused_entries[i]);
	}
}

static int add_worker(void *batch, const char *name, uint64_t value)
{
	add(batch, name, value);
	return 0;
}

#define SUBTRACT(from, what)                                                                       \
	subtract((uint64_t *)&(from), (const uint64_t *)&(what), sizeof(what) / sizeof(uint64_t))

/* Subtracts the counts of a struct whose members are all uint64_t counts. */
static void subtract(uint64_t *from, const uint64_t *counts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		from[i] = from[i] > counts[i] ? from[i] - counts[i] : 0;
}

struct run_counters run_counters_since(const struct run_counters *now,
				       const struct run_counters *start)
{
	struct run_counters since = *now;

	SUBTRACT(since.sampled, start->sampled);
	SUBTRACT(since.recorded, start->recorded);
	SUBTRACT(since.tables, start->tables);
	/* These say how many there are at a moment, so nothing is subtracted. */
	since.tables.files = now->tables.files;
	since.tables.rows = now->tables.rows;
	since.tables.rules = now->tables.rules;
	since.tables.inodes = now->tables.inodes;
	since.tables.most_files = now->tables.most_files;
	SUBTRACT(since.workers, start->workers);
	since.workers.resident_bytes = now->workers.resident_bytes;
	SUBTRACT(since.idle, start->idle);
	since.late -= start->late;
	since.queue_full -= start->queue_full;
	since.short_lived -= start->short_lived;
	SUBTRACT(since.stolen_ns, start->stolen_ns);
	since.own_cpu_ns -= start->own_cpu_ns;
	since.rate_changes -= start->rate_changes;
	since.full_windows -= start->full_windows;
	return since;
}

int run_counters_put(const struct run_counters *c, struct batch *b)
{
	b->counters = calloc(MAX_COUNTERS, sizeof(*b->counters));
	if (!b->counters)
		return -ENOMEM;
	add_end_reasons(c, b);
	add_kernel(&c->sampled, c->has_waking, b);
	add_daemon(c, b);
	add_refusals(&c->tables, b);
	workers_counts_each(&c->workers, NULL, add_worker, b);
	return 0;
}

void run_counters_put_readings(const struct counter_spec *counters, size_t n,
			       const struct probe_cost *cost, struct batch *b)
{
	for (size_t i = 0; i < n; i++) {
		char name[sizeof(b->counters->name)];

		snprintf(name, sizeof(name), "counter.%zu.%s", i, counters[i].name);
		add(b, name, 1);
	}
	if (n && cost->after_ns) {
		add(b, "probe_before_ns", cost->before_ns);
		add(b, "probe_after_ns", cost->after_ns);
	}
}

static_assert(sizeof(STORE_REGION_OFF) + STORE_REGION_OFF_NAME <=
		      sizeof(((struct batch_counter *)NULL)->name),
	      "a counter's name has room for it");

void run_counters_put_off(const char *name, uint64_t since_ns, struct batch *b)
{
	char text[sizeof(b->counters->name)];
	size_t n = 0;

	for (size_t i = 0; i < b->n_counters; i++)
		n += !strncmp(b->counters[i].name, STORE_REGION_OFF, strlen(STORE_REGION_OFF));
	snprintf(text, sizeof(text), STORE_REGION_OFF "%.*s", STORE_REGION_OFF_NAME, name);
	if (n < MOST_OFF)
		add(b, text, since_ns);
}

struct status_numbers run_counters_status(const struct run_counters *counters)
{
	const struct recorder_counts *recorded = &counters->recorded;

	return (struct status_numbers){
		.now_ns = clock_ns(CLOCK_MONOTONIC),
		.samples = recorded->complete + recorded->partial,
		.lost = recorded->lost + counters->sampled.counters[STACKD_COUNT_LOST_RING],
		.idle = counters->sampled.counters[STACKD_COUNT_IDLE],
		.times = counters->idle,
		.waits = recorded->waits,
		.complete = recorded->complete,
		.partial = recorded->partial,
	};
}

/* Warns about calls of MPI, and passes through annotated regions, that libstackmpi did not count.
 */
static void warn_of_calls(const struct recorder_counts *recorded,
			  const struct run_counters_asked *asked)
{
	const struct call_tables_counts *tables = &recorded->tables;
	const uint64_t without = tables->refused + tables->unanswered;
	const char *option = !asked->annotated ? "--mpi"
			     : asked->mpi      ? "--mpi, --annotated"
					       : "--annotated";
	const char *else_use = asked->annotated ? "" : ": use --mpi=probes";

	if (without)
		log_warning("%s: %" PRIu64 " thread%s not counted (%u are counted at a time)%s",
			    option, without, text_plural(without, " was", "s were"),
			    STACKD_CALL_TABLES, else_use);
	if (tables->foreign)
		log_warning("%s: %" PRIu64 " thread%s to another user than stackd and who has "
			    "called it by sudo, and %s not counted%s",
			    option, tables->foreign,
			    text_plural(tables->foreign, " belongs", "s belong"),
			    text_plural(tables->foreign, "was", "were"), else_use);
	if (recorded->calls_unplaced)
		log_warning("%s: %" PRIu64
			    " call%s not recorded, since the call path was never sent",
			    option, recorded->calls_unplaced,
			    text_plural(recorded->calls_unplaced, " was", "s were"));
	if (recorded->named_too_deep)
		log_warning("--annotated: %" PRIu64
			    " %s not counted, since %u regions of the thread had not ended",
			    recorded->named_too_deep,
			    text_plural(recorded->named_too_deep, "pass was", "passes were"),
			    STACKD_CALL_OPEN);
	if (recorded->calls_cut)
		log_warning("%s: a program has written to the table of its calls: "
			    "%" PRIu64 " sum%s cut to what a thread can do",
			    option, recorded->calls_cut,
			    text_plural(recorded->calls_cut, " was", "s were"));
}

void run_counters_warn(const struct run_counters *counters, const struct run_counters_asked *asked)
{
	const uint64_t *kernel = counters->sampled.counters;
	uint64_t accounted = kernel[STACKD_COUNT_SENT] + kernel[STACKD_COUNT_LOST_RING] +
			     kernel[STACKD_COUNT_IDLE];
	const struct recorder_counts *recorded = &counters->recorded;

	if (kernel[STACKD_COUNT_STARTED] != accounted)
		log_warning("%" PRIu64 " samples started but %" PRIu64
			    " accounted for: please report this",
			    kernel[STACKD_COUNT_STARTED], accounted);
	if (kernel[STACKD_COUNT_NOT_FOLLOWED])
		log_warning("%" PRIu64 " process%s that the target started not recorded, nor "
			    "what was started from there: too many were followed at a time",
			    kernel[STACKD_COUNT_NOT_FOLLOWED],
			    text_plural(kernel[STACKD_COUNT_NOT_FOLLOWED], "", "es"));
	if (counters->sampled.regions[STACKD_REGION_NO_MEMORY])
		log_warning("%" PRIu64 " %s through regions or calls of allocators not "
			    "recorded: the kernel gave no memory for their threads",
			    counters->sampled.regions[STACKD_REGION_NO_MEMORY],
			    text_plural(counters->sampled.regions[STACKD_REGION_NO_MEMORY], "pass",
					"passes"));
	if (counters->sampled.regions[STACKD_REGION_CALLS_UNHEARD])
		log_warning("--mpi: there are processes that call MPI and in which "
			    "libstackmpi does not count, since they are static or setuid, look up "
			    "MPI's functions themselves, or have another environment: use "
			    "--mpi=probes");
	warn_of_calls(recorded, asked);
	if (counters->sampled.waits[STACKD_WAIT_NO_MEMORY])
		log_warning("waits of %" PRIu64 " thread%s were not recorded: the kernel gave no "
			    "memory for them",
			    counters->sampled.waits[STACKD_WAIT_NO_MEMORY],
			    text_plural(counters->sampled.waits[STACKD_WAIT_NO_MEMORY], "", "s"));
	if (recorded->unproven)
		log_warning("%" PRIu64 " frame%s no name: the file was written to shortly before "
			    "it was mapped, or later, and which code ran then cannot be told",
			    recorded->unproven, text_plural(recorded->unproven, " has", "s have"));
	if (recorded->unwatched)
		log_warning("%" PRIu64 " file%s not watched (fs.inotify.max_user_watches): if one "
			    "was overwritten while it was mapped, its names are of the old code",
			    recorded->unwatched,
			    text_plural(recorded->unwatched, " was", "s were"));
	if (recorded->tags.wrong)
		log_warning("%" PRIu64 " walk%s did not have the functions of the program's tag: "
			    "is there code that is left by exceptions or longjmp() and "
			    "was not compiled with the plugin?",
			    recorded->tags.wrong, text_plural(recorded->tags.wrong, "", "s"));
	if (asked->tags_only && !recorded->tag_processes)
		log_warning("no process kept a tag of its call path: compile with the stacktag "
			    "plugin, or leave out --tags only");
}
