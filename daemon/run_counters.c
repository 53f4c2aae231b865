/* SPDX-License-Identifier: MIT */
/* Names the counters; see run_counters.h. Names are in stores on disk, so they never change. */
#include "daemon/run_counters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "base/clock.h"
#include "daemon/base/log.h"
#include "stack/end_reason.h"
#include "store/store.h"

#define MOST_OFF 32 /* regions that were taken off */
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

static void add_kernel(const struct run_counters *c, struct batch *b)
{
	static const char *const names[STACKD_COUNT_COUNT] = {
		[STACKD_COUNT_STARTED] = "started",
		[STACKD_COUNT_SENT] = "sent",
		[STACKD_COUNT_LOST_RING] = "lost_ring",
		[STACKD_COUNT_WALKS] = "kernel_walks",
		[STACKD_COUNT_FALLBACKS] = "kernel_fallbacks",
		[STACKD_COUNT_FRAMES] = "kernel_frames",
		[STACKD_COUNT_KEPT] = "kernel_kept_frames",
		[STACKD_COUNT_RULE_HITS] = "kernel_rule_hits",
		[STACKD_COUNT_RULE_MISSES] = "kernel_rule_misses",
		[STACKD_COUNT_MAPPING_LOOKUPS] = "kernel_mapping_lookups",
		[STACKD_COUNT_PREFIX_BROKEN] = "kernel_prefix_broken",
		[STACKD_COUNT_TAGS] = "kernel_tags",
		[STACKD_COUNT_TAGS_NEW] = "kernel_tags_new",
		[STACKD_COUNT_BRANCHES] = "branch_records",
		[STACKD_COUNT_NO_BRANCHES] = "branch_records_missing",
		[STACKD_COUNT_IDLE] = "idle",
		[STACKD_COUNT_NOT_FOLLOWED] = "processes_not_followed",
		[STACKD_COUNT_CPU_NS] = "cpu_ns",
		[STACKD_COUNT_UNTIMED] = "tasks_untimed",
		[STACKD_COUNT_LATE] = "late_samples",
		[STACKD_COUNT_LATE_PERIODS] = "late_periods",
		[STACKD_COUNT_LATE_CUT_NS] = "late_cut_ns",
	};

	for (int i = 0; i < STACKD_COUNT_COUNT; i++)
		add(b, names[i], c->sampled.counters[i]);
	add(b, "ring_bytes", c->sampled.ring_bytes);
	add(b, "stacks_evicted", c->sampled.stacks_evicted);
}

static void add_regions(const struct run_counters *c, struct batch *b)
{
	static const char *const names[STACKD_REGION_COUNT] = {
		[STACKD_REGION_ENDED] = "regions_ended",
		[STACKD_REGION_SENT] = "regions_sent",
		[STACKD_REGION_LOST_RING] = "regions_lost_ring",
		[STACKD_REGION_LEFT] = "regions_left",
		[STACKD_REGION_UNENDED] = "regions_unended",
		[STACKD_REGION_UNMATCHED] = "regions_unmatched",
		[STACKD_REGION_TOO_DEEP] = "regions_too_deep",
		[STACKD_REGION_NO_SCRATCH] = "regions_without_path",
		[STACKD_REGION_NO_STACK] = "regions_without_stack",
		[STACKD_REGION_OFF] = "regions_off",
		[STACKD_REGION_NO_MEMORY] = "regions_no_memory",
		[STACKD_REGION_ALLOCS] = "allocations",
		[STACKD_REGION_ALLOCS_LOST] = "allocations_lost",
		[STACKD_REGION_LOST_BYTES] = "allocations_lost_bytes",
		[STACKD_REGION_MADE_UP_BYTES] = "allocations_made_up_bytes",
		[STACKD_REGION_FREES] = "frees",
		[STACKD_REGION_ALLOC_CALLS] = "allocator_calls",
		[STACKD_REGION_UNTRACKED] = "allocations_no_room",
		[STACKD_REGION_READINGS] = "readings",
		[STACKD_REGION_READINGS_LOST] = "readings_lost",
		[STACKD_REGION_EVENTS] = "event_passes",
		[STACKD_REGION_EVENTS_CUT] = "event_passes_cut",
		[STACKD_REGION_LAUNCHES_LOST] = "launches_lost",
	};

	for (int i = 0; i < STACKD_REGION_COUNT; i++)
		add(b, names[i], c->sampled.regions[i]);
	add(b, "regions_taken_off", c->regions_taken_off);
	add(b, "regions_received", c->recorded.instances);
	add(b, "regions_partial", c->recorded.partial_instances);
	add(b, "frees_unknown", c->recorded.blocks.unknown);
	add(b, "frees_missed", c->recorded.blocks.missed);
	add(b, "allocations_untracked", c->recorded.blocks.untracked);
	add(b, "programs_unheard", c->recorded.unheard);
}

static void add_waits(const struct run_counters *c, struct batch *b)
{
	static const char *const names[STACKD_WAIT_COUNT] = {
		[STACKD_WAIT_ENDED] = "waits_ended",
		[STACKD_WAIT_BLOCKED_NS] = "waits_blocked_ns",
		[STACKD_WAIT_RUNNABLE_NS] = "waits_runnable_ns",
		[STACKD_WAIT_RUNNING_NS] = "waits_running_ns",
		[STACKD_WAIT_STOLEN_NS] = "waits_stolen_ns",
		[STACKD_WAIT_SHORT] = "waits_short",
		[STACKD_WAIT_SHORT_NS] = "waits_short_ns",
		[STACKD_WAIT_KEPT] = "waits_kept",
		[STACKD_WAIT_SENT] = "waits_sent",
		[STACKD_WAIT_LOST_RING] = "waits_lost_ring",
		[STACKD_WAIT_NO_PATH] = "waits_without_path",
		[STACKD_WAIT_NO_SCRATCH] = "waits_without_scratch",
		[STACKD_WAIT_OPEN] = "waits_open",
		[STACKD_WAIT_MISSED] = "waits_missed",
		[STACKD_WAIT_MISSED_NS] = "waits_missed_ns",
		[STACKD_WAIT_NO_MEMORY] = "waits_no_memory",
		[STACKD_WAIT_WAKERS] = "wakers",
		[STACKD_WAIT_WAKERS_SENT] = "wakers_sent",
		[STACKD_WAIT_WAKERS_LOST] = "wakers_lost_ring",
		[STACKD_WAIT_WAKERS_NO_PATH] = "wakers_without_path",
		[STACKD_WAIT_LIVES_LOST] = "waits_lives_lost",
	};

	for (int i = 0; i < STACKD_WAIT_COUNT; i++)
		add(b, names[i], c->sampled.waits[i]);
	add(b, "waits_received", c->recorded.waits);
	add(b, "waits_partial", c->recorded.partial_waits);
	add(b, "waits_unnamed", c->recorded.unnamed_waits);
	add(b, "wakers_received", c->recorded.wakers);
}

static void add_recorder(const struct recorder_counts *c, struct batch *b)
{
	add(b, "received", c->received);
	add(b, "sideband_lost", c->sideband_lost);
	add(b, "forgotten.cgroups", c->forgotten.cgroups);
	add(b, "forgotten.processes", c->forgotten.processes);
	add(b, "forgotten.threads", c->forgotten.threads);
	add(b, "forgotten.files", c->forgotten.files);
	add(b, "forgotten.objects", c->forgotten.objects);
	add(b, "forgotten.paths", c->forgotten.paths);
	add(b, "forgotten.locations", c->forgotten.locations);
	add(b, "forgotten.tags", c->tags.forgotten);
	add(b, "tag_collisions", c->collisions);
	add(b, "walked_frames", c->walked_frames);
	add(b, "rule_cache_hits", c->cache_hits);
	add(b, "rule_cache_misses", c->cache_misses);
	add(b, "out_of_sequence", c->out_of_sequence);
	add(b, "judged_right", c->judged_right);
	add(b, "judged_wrong", c->judged_wrong);
	add(b, "judged_cut", c->judged_cut);
	add(b, "judged_less", c->judged_less);
	add(b, "judged_made_right", c->judged_made_right);
	add(b, "judged_made_wrong", c->judged_made_wrong);
	add(b, "judged_made_nearest", c->judged_made_nearest);
	add(b, "judged_made_unproven", c->judged_made_unproven);
	add(b, "tag_processes", c->tag_processes);
	add(b, "tags_learned", c->tags.learned);
	add(b, "tags_unknown", c->tags.unknown);
	add(b, "tags_right", c->tags.right);
	add(b, "tags_window", c->tags.window);
	add(b, "tags_between", c->tags.between);
	add(b, "tags_wrong", c->tags.wrong);
	add(b, "tags_unchecked", c->tags.unchecked);
	add(b, "frame_pointer_steps", c->frame_pointer_steps);
	add(b, "steps_confirmed", c->steps.confirmed);
	add(b, "steps_probable", c->steps.probable);
	add(b, "steps_wrong", c->steps.wrong);
	add(b, "steps_unchecked", c->steps.unchecked);
	add(b, "steps_postponed", c->steps.postponed);
	add(b, "returns_unchecked", c->unchecked_returns);
	add(b, "frames_unproven", c->unproven);
	add(b, "files_unwatched", c->unwatched);
}

static void add_tables(const struct tables_counts *c, struct batch *b)
{
	add(b, "tables_loaded", c->loaded);
	add(b, "forgotten.tables", c->evicted);
	add(b, "tables_remade", c->remade);
	add(b, "tables_put_off", c->put_off);
	add(b, "tables_refused", c->refused);
	add(b, "table_rows", c->rows);
	add(b, "table_rules", c->rules);
	add(b, "table_go_rows", c->go_rows);
	add(b, "table_compile_ns", c->compile_ns);
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

static void add_workers(const struct workers_counts *c, struct batch *b)
{
	add(b, "worker_calls", c->calls);
	workers_counts_each(c, NULL, add_worker, b);
}

#define SUBTRACT(from, what)                                                                       \
	subtract((uint64_t *)&(from), (const uint64_t *)&(what), sizeof(what) / sizeof(uint64_t))

/* Subtracts the counts of a struct that has nothing else. */
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
	/* These are no counts, but what there is. */
	since.tables.rows = now->tables.rows;
	since.tables.rules = now->tables.rules;
	since.tables.inodes = now->tables.inodes;
	since.tables.most_files = now->tables.most_files;
	SUBTRACT(since.workers, start->workers);
	since.workers.resident_bytes = now->workers.resident_bytes;
	SUBTRACT(since.idle, start->idle);
	since.late -= start->late;
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
	add_kernel(c, b);
	add_regions(c, b);
	add_waits(c, b);
	add_recorder(&c->recorded, b);
	add(b, "objects", c->objects);
	add(b, "waiting", c->waiting);
	add(b, "late_events", c->late);
	add(b, "idle_ns", c->idle.idle_ns);
	add(b, "cpus_ns", c->idle.cpus_ns);
	add(b, "stolen_ns", c->stolen_ns);
	if (c->has_periods)
		add(b, "periods_ns", c->recorded.periods);
	add(b, "own_cpu_ns", c->own_cpu_ns);
	add(b, "own_resident_bytes", c->own_resident_bytes);
	add(b, "rate_hz", c->rate_hz);
	add(b, "rate_changes", c->rate_changes);
	add(b, "full_windows", c->full_windows);
	add(b, "allocations_until_ns", c->alloc_until_ns);
	add_tables(&c->tables, b);
	add_workers(&c->workers, b);
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

void run_counters_warn(const struct run_counters *counters, bool tags_only)
{
	const uint64_t *kernel = counters->sampled.counters;
	uint64_t accounted = kernel[STACKD_COUNT_SENT] + kernel[STACKD_COUNT_LOST_RING] +
			     kernel[STACKD_COUNT_IDLE];
	const struct recorder_counts *recorded = &counters->recorded;

	if (kernel[STACKD_COUNT_STARTED] != accounted)
		log_warning("%" PRIu64 " samples were started but %" PRIu64
			    " are accounted for: please report this",
			    kernel[STACKD_COUNT_STARTED], accounted);
	if (kernel[STACKD_COUNT_NOT_FOLLOWED])
		log_warning("%" PRIu64 " processes that the target started were not recorded, nor "
			    "what they started: too many were followed at a time",
			    kernel[STACKD_COUNT_NOT_FOLLOWED]);
	if (recorded->unproven)
		log_warning("%" PRIu64 " frames have no names: their file was overwritten while it "
			    "was mapped, and which code ran then cannot be told",
			    recorded->unproven);
	if (recorded->unwatched)
		log_warning("%" PRIu64
			    " files were not watched (fs.inotify.max_user_watches): if one "
			    "was overwritten while it was mapped, its names are of the old code",
			    recorded->unwatched);
	if (recorded->tags.wrong)
		log_warning("%" PRIu64 " walks did not have the functions of the program's tag: "
			    "is there code that is left by exceptions or longjmp() and "
			    "was not compiled with the plugin?",
			    recorded->tags.wrong);
	if (tags_only && !recorded->tag_processes)
		log_warning("no process kept a tag of its call path: compile with the stacktag "
			    "plugin, or leave out --tags only");
}
