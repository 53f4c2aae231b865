/* SPDX-License-Identifier: MIT */
/*
 * Writes the figures of a recording on one screen: what was recorded, what it cost, and every
 * counter that means trouble. `stackctl stats -v` and --json have all of them.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/conservation.h"
#include "report/hints.h"
#include "report/report_header.h"
#include "stack/end_reason.h"
#include "stack/metric.h"
#include "stackd_abi.h"

#define COLUMNS	      79
#define LINES	      20 /* of all */
#define LEAST_TROUBLE 2	 /* lines of trouble that are shown in any case */

/* The counters that should be 0. A name that ends with '.' or '_' is that of a group. Refused
 * entries and rows of unwind information are not here: where one was needed, the walk's end reason
 * tells. */
static const struct {
	const char *name, *says;
} troubles[] = {
	{"lost_ring", "samples were lost: the ring buffer was full (--ring-bytes)"},
	{"unwritten", "samples could not be written: the store was out of reach"},
	{"sideband_lost", "events of processes and mappings were lost: paths may lack names"},
	{"processes_not_followed", "processes were not followed: there was no room"},
	{"tasks_untimed", "tasks have no CPU time: there was no room"},
	{"late_cut_ns", "ns of CPU time have no sample: one came too late"},
	{"late_events", "events came too late to be put in order"},
	{"out_of_sequence", "walks continue an earlier walk whose record was lost"},
	{"stacks_evicted", "stacks were dropped before their records came"},
	{"branch_records_missing", "samples lack the branch records that were asked for"},
	{"regions_lost_ring", "passes through regions were lost (--ring-bytes)"},
	{"regions_no_memory", "threads had no memory for passes through regions"},
	{"regions_too_deep", "passes were not measured: too many were open in their thread"},
	{"regions_taken_off", "regions were passed through too often (--region-limit)"},
	{"regions_unmatched", "returns belong to passes that were not seen to begin"},
	{"readings_lost", "readings of counters were lost"},
	{"event_passes_cut", "passes have events that did not count throughout"},
	{"launches_lost", "programs of MPI have no rank: their start was lost"},
	{"allocations_lost", "sampled allocations were lost"},
	{"allocations_no_room", "sampled allocations had no room in the kernel"},
	{"allocations_untracked", "allocations have no known end: there was no room"},
	{"programs_unheard", "programs' allocations were not recorded"},
	{"waits_lost_ring", "waits were lost (--ring-bytes)"},
	{"waits_no_memory", "threads had no memory for waits"},
	{"waits_missed", "waits have no path: the kernel did not trace one of their switches"},
	{"waits_lives_lost", "beginnings and ends of threads were lost"},
	{"wakers_lost_ring", "wakers were lost (--ring-bytes)"},
	{"managed_unproven.",
	 "activations of an interpreter have functions that are not shown: they are "
	 "not proven (docs/PYTHON.md, RUBY.md, PHP.md, PERL.md)"},
	{"interpreters_unread",
	 "files have a Python, Ruby, PHP or Perl whose functions are not read (docs/PYTHON.md, "
	 "RUBY.md, PHP.md, PERL.md)"},
	{"tables_refused", "files have no unwind table: there was no room (--table-memory)"},
	{"tables_put_off", "requests of evicted unwind tables were put off (--table-memory)"},
	{"refused.file_", "files were refused: nothing is known of their code"},
	{"refused.section_", "files have unwind information that was refused"},
	{"names_unproven", "locations have no name: their file had been replaced"},
	{"frames_unproven", "frames are not shown: their file was being written to"},
	{"files_unwatched", "files could not be watched for being overwritten"},
	{"steps_wrong", "steps were contradicted by the caller's code: paths end before them"},
	{"judged_wrong", "walks differ from the second walk"},
	{"judged_made_wrong", "steps out of JIT code are contradicted by evidence"},
	{"tags_wrong", "walks differ from the program's tag"},
	{"tag_collisions", "tags belong to two call paths"},
	{"full_windows", "windows ended early, for the sake of memory"},
	{"worker_restarts", "workers were started again"},
	{"worker_server_restarts", "restarts of the process that starts workers"},
};

/* Returns whether a name stands for all counters that begin with it. */
static bool is_group(const char *name)
{
	const char last = name[strlen(name) - 1];

	return last == '.' || last == '_';
}

static uint64_t value_of(const struct store_tables *t, const char *name)
{
	uint64_t value;

	return report_header_counter(t, name, &value) ? value : 0;
}

const char *report_trouble(const char *counter)
{
	for (size_t i = 0; i < sizeof(troubles) / sizeof(*troubles); i++) {
		const size_t len = strlen(troubles[i].name);

		if (is_group(troubles[i].name) ? !strncmp(counter, troubles[i].name, len)
					       : !strcmp(counter, troubles[i].name))
			return troubles[i].says;
	}
	return NULL;
}

/* Returns the value of a counter, or of all counters of a group. */
static uint64_t trouble(const struct store_tables *t, const char *name)
{
	const size_t len = strlen(name);
	uint64_t sum = 0;

	if (!is_group(name))
		return value_of(t, name);
	for (uint32_t i = 0; i < t->n_counters; i++)
		if (!strncmp(t->counters[i].name, name, len))
			sum += t->counters[i].value;
	return sum;
}

static void put_reasons(const struct profile *profile, struct buf *b)
{
	uint64_t reasons[STACKD_END_COUNT + 1];
	const char *between = "";

	report_header_reasons(profile, reasons, STACKD_END_COUNT + 1);
	text_put_raw(b, "walks ended: ");
	for (unsigned i = 0; i <= STACKD_END_COUNT; i++) {
		if (!reasons[i])
			continue;
		text_printf(b, "%s%s %" PRIu64, between, end_reason_name((uint8_t)i), reasons[i]);
		between = ", ";
	}
	text_put_raw(b, *between ? "\n" : "none\n");
}

/* Writes what stackd itself took. */
static void put_cost(const struct store_tables *t, struct buf *b)
{
	const struct store_recording *r = &t->recording;
	const uint64_t duration_ns = r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0;
	const uint64_t cpu = value_of(t, "own_cpu_ns"), memory = value_of(t, "own_resident_bytes");

	text_put_raw(b, "cost: ");
	if (cpu)
		text_printf(b, "%.3f s of CPU time", (double)cpu / 1e9);
	else
		text_put_raw(b, "CPU time not measured");
	if (cpu && duration_ns)
		text_printf(b, ", %.2f%% of a core", 100 * (double)cpu / (double)duration_ns);
	if (memory)
		text_printf(b, ", %.1f MiB of memory", (double)memory / (1 << 20));
	if (r->kernel_runs)
		text_printf(b, ", %.0f ns a sample in the kernel",
			    (double)r->kernel_ns / (double)r->kernel_runs);
	text_put_raw(b, "\n");
}

static void put_sizes(struct profile *profile, struct buf *b)
{
	const struct store_tables *t = profile_tables(profile);
	const uint64_t samples = profile_totals(profile)->samples, ring = value_of(t, "ring_bytes");

	text_printf(b, "store: %" PRIu64 " bytes", t->store_bytes);
	if (samples)
		text_printf(b, ", %.1f a sample", (double)t->store_bytes / (double)samples);
	if (samples && ring)
		text_printf(b, "; %.1f bytes a sample in the ring buffer",
			    (double)ring / (double)samples);
	text_printf(
		b, "\nhas: %u process%s, %u thread%s, %u object%s, %u location%s, %u path node%s\n",
		t->n_processes, text_plural(t->n_processes, "", "es"), t->n_threads,
		text_plural(t->n_threads, "", "s"), t->n_objects,
		text_plural(t->n_objects, "", "s"), t->n_locations,
		text_plural(t->n_locations, "", "s"), t->n_nodes, text_plural(t->n_nodes, "", "s"));
}

/* Writes what to install for the debug information of the file that a counter names: "PATH needs
 * FILE". */
static void put_needed(const struct store_tables *t, const char *counter, struct buf *b)
{
	const char *end = strstr(counter, " needs ");
	const size_t len = end ? (size_t)(end - counter) : strlen(counter);

	text_put_raw(b, "debug information");
	for (uint32_t i = 0; i < t->n_objects; i++) {
		const char *path = t->objects[i].path;

		if (!path || strncmp(path, counter, len) != 0 || path[len])
			continue;
		text_put_raw(b, " of ");
		text_put(b, text_basename(path), NULL);
		text_put_raw(b, ": install ");
		hints_put_package(&t->objects[i], b);
		return;
	}
	text_put_raw(b, ": ");
	text_put(b, counter, NULL);
}

/* Writes how many files lack debug information, and names one of them. */
static void put_missing(const struct store_tables *t, struct buf *b)
{
	static const char prefix[] = "missing.";
	const size_t len = sizeof(prefix) - 1;
	unsigned n = 0;

	for (uint32_t i = 0; i < t->n_counters; i++)
		if (!strncmp(t->counters[i].name, prefix, len) && !n++)
			put_needed(t, t->counters[i].name + len, b);
	if (n > 1)
		text_printf(b, "; %u more file%s (-v)", n - 1,
			    text_plural(n - 1, " needs its own", "s need theirs"));
	text_put_raw(b, n ? "\n" : "");
}

static unsigned lines_of(const struct buf *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n;
}

/* Writes what should be 0 and is not, in at most so many lines. */
static void put_troubles(const struct store_tables *t, unsigned lines, struct buf *b)
{
	unsigned used = 0, left_out = 0;

	for (size_t i = 0; i < sizeof(troubles) / sizeof(*troubles); i++) {
		const uint64_t value = trouble(t, troubles[i].name);
		struct buf one = {0};

		if (!value)
			continue;
		text_printf(&one, "! %" PRIu64 " %s\n", value, troubles[i].says);
		text_wrap(&one, COLUMNS);
		used += lines_of(&one);
		if (used + 1 > lines)
			left_out++;
		else
			buf_put(b, one.data, one.len);
		b->failed |= one.failed;
		buf_free(&one);
	}
	if (left_out)
		text_printf(b, "! and %u more kind%s of trouble: stackctl stats -v\n", left_out,
			    text_plural(left_out, "", "s"));
}

/* Writes all but the troubles. */
static void put_figures(struct profile *profile, uint64_t series, struct buf *b)
{
	const struct store_tables *t = profile_tables(profile);
	const struct conservation conservation = conservation_of(t);

	if (report_header_python(t, b))
		text_put_raw(b, "\n");
	put_reasons(profile, b);
	text_put_raw(b, "metrics: ");
	metric_put_names(series, store_is_timed(&t->recording), b);
	text_put_raw(b, "\ncpu time: ");
	conservation_text(&conservation, b);
	text_put_raw(b, "\n");
	put_cost(t, b);
	put_sizes(profile, b);
	put_missing(t, b);
}

/* Appends the head of a report. */
static int put_head(const struct profile *profile, struct buf *b)
{
	const struct report_options options = {.utf8 = true, .is_brief = true};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err = out ? report_header_text(profile, &options, out) : -ENOMEM;

	if (out && fclose(out) && !err)
		err = -ENOMEM;
	if (!err)
		buf_put(b, text, size);
	free(text);
	return err;
}

int report_write_stats_short(struct profile *profile, FILE *out)
{
	struct buf b = {0};
	uint64_t series;
	unsigned lines;
	int err = store_reader_series(profile_reader(profile), &series);

	if (err >= 0)
		err = put_head(profile, &b);
	if (err < 0) {
		buf_free(&b);
		return err;
	}
	put_figures(profile, series, &b);
	text_wrap(&b, COLUMNS);
	lines = lines_of(&b) + LEAST_TROUBLE < LINES ? LINES - lines_of(&b) : LEAST_TROUBLE;
	put_troubles(profile_tables(profile), lines, &b);
	return text_end(&b, out, err);
}
