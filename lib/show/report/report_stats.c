/* SPDX-License-Identifier: MIT */
/*
 * Writes the figures of a recording: how many samples, how they ended, what they cost.
 *
 * JSON: {"schema":1, the members of the report's header, "end_reasons":{name: samples},
 * "store_bytes", "store_bytes_per_sample", "kernel_ns_per_sample" (null if it was not measured),
 * "ring_bytes_per_sample" (null without the counter ring_bytes), "processes", "threads",
 * "objects", "locations", "nodes", "collisions", "metrics":[NAME, ...], "provenances":{name:
 * locations}, "steps":{verdict: pairs} (null without their counters), "counters":{name: value}}.
 * End reasons of lost samples come from the recording's counters "end.REASON": the samples are not
 * there.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/int_map.h"
#include "report/conservation.h"
#include "report/report.h"
#include "report/report_header.h"
#include "base/text.h"
#include "stackd_abi.h"
#include "stack/end_reason.h"
#include "stack/provenance.h"

struct report_stats {
	uint64_t series; /* series that have records */
	uint64_t reasons[STACKD_END_COUNT + 1];
	uint64_t collisions; /* nodes whose tag an earlier node has */
	double kernel_ns;    /* per sample; negative if not measured */
	double ring_bytes;   /* bytes of the ring buffer per sample; negative if not measured */
	double store_bytes;  /* bytes of the store's file per sample of this recording */
};

static int report_stats_collisions(struct profile *profile, uint64_t *ret_collisions)
{
	const struct store_tables *t = profile_tables(profile);
	const uint64_t *tags;
	struct int_map first = {0};
	uint64_t collisions = 0;
	int err = profile_tags(profile, &tags);

	for (uint32_t i = 0; err == 0 && i < t->n_nodes; i++) {
		uint32_t node;

		err = int_map_enter(&first, tags[i], i, &node);
		collisions += err == 0 && node != i;
	}
	int_map_fini(&first);
	*ret_collisions = collisions;
	return err;
}

static void report_stats_reasons(const struct profile *profile, struct report_stats *s)
{
	const struct store_tables *t = profile_tables(profile);

	report_header_reasons(profile, s->reasons, STACKD_END_COUNT + 1);
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		uint64_t value;
		char name[64];

		snprintf(name, sizeof(name), "end.%s", end_reason_name((uint8_t)i));
		if (profile_quality_of((uint8_t)i) == PROFILE_LOST &&
		    report_header_counter(t, name, &value))
			s->reasons[i] += value;
	}
}

static int make(struct profile *profile, struct report_stats *s)
{
	const struct store_tables *t = profile_tables(profile);
	uint64_t ring, samples = profile_totals(profile)->samples;
	int err = store_reader_series(profile_reader(profile), &s->series);

	if (err < 0)
		return err;

	report_stats_reasons(profile, s);
	s->kernel_ns = s->ring_bytes = -1;
	s->store_bytes = samples ? (double)t->store_bytes / (double)samples : 0;
	if (t->recording.kernel_runs)
		s->kernel_ns = (double)t->recording.kernel_ns / (double)t->recording.kernel_runs;
	if (report_header_counter(t, "ring_bytes", &ring) && samples)
		s->ring_bytes = (double)ring / (double)samples;
	return report_stats_collisions(profile, &s->collisions);
}

/* Counts a recording's locations by the provenance of their rules. */
static void count_provenances(const struct store_tables *t, uint64_t *ret_counts)
{
	memset(ret_counts, 0, PROVENANCE_COUNT * sizeof(*ret_counts));
	for (uint32_t i = 0; i < t->n_locations; i++)
		ret_counts[t->locations[i].provenance]++;
}

/* The verdicts on steps, as counters and output name them. */
static const char *const verdicts[] = {"confirmed", "probable", "wrong", "unchecked"};
#define VERDICTS (sizeof(verdicts) / sizeof(verdicts[0]))

/* Counts the steps by verdict. Returns false if the recording has no such counters, because an
 * older stackd made it, which did not check steps, or because it was imported. */
static bool report_stats_steps(const struct store_tables *t, uint64_t ret_counts[VERDICTS])
{
	char name[64];

	for (size_t i = 0; i < VERDICTS; i++) {
		snprintf(name, sizeof(name), "steps_%s", verdicts[i]);
		if (!report_header_counter(t, name, &ret_counts[i]))
			return false;
	}
	return true;
}

static void json_rules(struct json *j, const struct store_tables *t)
{
	uint64_t provenances[PROVENANCE_COUNT], steps[VERDICTS];

	count_provenances(t, provenances);
	json_put_object(j, "provenances");
	for (unsigned i = 0; i < PROVENANCE_COUNT; i++)
		json_put_uint(j, provenance_name((uint8_t)i), provenances[i]);
	json_put_end(j);
	if (!report_stats_steps(t, steps)) {
		json_put_null(j, "steps");
		return;
	}
	json_put_object(j, "steps");
	for (size_t i = 0; i < VERDICTS; i++)
		json_put_uint(j, verdicts[i], steps[i]);
	json_put_end(j);
}

static void json_measured(struct json *j, const char *name, double value)
{
	if (value < 0)
		json_put_null(j, name);
	else
		json_put_fixed(j, name, value, 1);
}

static void json_reasons(struct json *j, const struct report_stats *s)
{
	json_put_object(j, "end_reasons");
	for (unsigned i = 0; i <= STACKD_END_COUNT; i++)
		if (s->reasons[i])
			json_put_uint(j, end_reason_name((uint8_t)i), s->reasons[i]);
	json_put_end(j);
}

static void json_metrics(struct json *j, uint64_t series, bool is_timed)
{
	json_put_array(j, "metrics");
	for (unsigned i = 0; i < METRIC_COUNT; i++)
		if (metric_is_of(i, series, is_timed))
			json_put_string(j, NULL, metric_info(i)->name);
	json_put_end(j);
}

static void json_sizes(struct json *j, const struct store_tables *t, const struct report_stats *s)
{
	json_put_uint(j, "store_bytes", t->store_bytes);
	json_measured(j, "store_bytes_per_sample", s->store_bytes);
	json_measured(j, "kernel_ns_per_sample", s->kernel_ns);
	json_measured(j, "ring_bytes_per_sample", s->ring_bytes);
	json_put_uint(j, "processes", t->n_processes);
	json_put_uint(j, "threads", t->n_threads);
	json_put_uint(j, "objects", t->n_objects);
	json_put_uint(j, "locations", t->n_locations);
	json_put_uint(j, "nodes", t->n_nodes);
	json_put_uint(j, "collisions", s->collisions);
}

int report_write_stats_json(struct profile *profile, FILE *out)
{
	const struct store_tables *t = profile_tables(profile);
	struct report_stats s;
	struct json j = {.out = out};
	int err = make(profile, &s);

	report_header_begin_json(profile, &j);
	json_reasons(&j, &s);
	json_sizes(&j, t, &s);
	json_metrics(&j, s.series, store_is_timed(&t->recording));
	json_rules(&j, t);
	json_put_object(&j, "counters");
	for (uint32_t i = 0; i < t->n_counters; i++)
		json_put_uint(&j, t->counters[i].name, t->counters[i].value);
	return json_put_finish(&j, err);
}

static uint64_t report_stats_value(const struct store_tables *t, const char *name)
{
	uint64_t value;

	return report_header_counter(t, name, &value) ? value : 0;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Writes the results of the walks in the kernel, from the BPF program's counters. */
static void text_walks(struct buf *b, const struct store_tables *t, const struct report_stats *s)
{
	uint64_t walks = report_stats_value(t, "kernel_walks");
	uint64_t walked = report_stats_value(t, "kernel_frames");
	uint64_t kept = report_stats_value(t, "kernel_kept_frames");
	uint64_t hits = report_stats_value(t, "kernel_rule_hits");
	uint64_t misses = report_stats_value(t, "kernel_rule_misses");
	double frames = walks ? (double)(walked + kept) / (double)walks : 0;

	if (!walks)
		return;
	text_printf(b, "walks: %" PRIu64 " in the kernel, %" PRIu64 " of them left to stackd\n",
		    walks, report_stats_value(t, "kernel_fallbacks"));
	text_printf(b, "frames: %.1f a walk, %.1f%% kept by the prefix", frames,
		    percent(kept, walked + kept));
	if (s->kernel_ns >= 0 && frames > 0)
		text_printf(b, ", %.1f ns a frame", s->kernel_ns / frames);
	text_printf(b, "\nrule cache: %.1f%% hits (%" PRIu64 " %s)\n", percent(hits, hits + misses),
		    misses, text_plural(misses, "miss", "misses"));
}

/* Writes the provenances of the rules of walks, unless all are unwind information, and the verdicts
 * on the steps by the other rules. */
static void text_rules(struct buf *b, const struct store_tables *t)
{
	uint64_t provenances[PROVENANCE_COUNT], steps[VERDICTS], weak = 0, checked = 0;

	count_provenances(t, provenances);
	for (unsigned i = 0; i < PROVENANCE_COUNT; i++)
		weak += provenance_is_weak((uint8_t)i) ? provenances[i] : 0;
	if (!weak)
		return;
	text_put_raw(b, "rules of locations:");
	for (unsigned i = PROVENANCE_CFI; i < PROVENANCE_COUNT; i++)
		if (provenances[i])
			text_printf(b, " %s %" PRIu64, provenance_name((uint8_t)i), provenances[i]);
	text_put_raw(b, "\n");
	if (!report_stats_steps(t, steps))
		return;
	for (size_t i = 0; i < VERDICTS; i++)
		checked += steps[i];
	text_printf(b, "steps by other rules than cfi: %" PRIu64, checked);
	for (size_t i = 0; i < VERDICTS; i++)
		text_printf(b, ", %" PRIu64 " %s", steps[i], verdicts[i]);
	text_put_raw(b, "\n");
}

static void text_costs(struct buf *b, const struct store_tables *t, const struct report_stats *s)
{
	const struct conservation conservation = conservation_of(t);

	text_printf(b, "store: %" PRIu64 " bytes, %.1f a sample\n", t->store_bytes, s->store_bytes);
	if (s->kernel_ns >= 0)
		text_printf(b, "kernel: %.0f ns a sample\n", s->kernel_ns);
	else
		text_put_raw(b, "kernel: time not measured\n");
	if (s->ring_bytes >= 0)
		text_printf(b, "ring buffer: %.1f bytes a sample\n", s->ring_bytes);
	text_put_raw(b, "cpu time: ");
	conservation_text(&conservation, b);
	text_put_raw(b, "\n");
	text_printf(b, "processes: %u\nthreads: %u\nobjects: %u\nlocations: %u\n", t->n_processes,
		    t->n_threads, t->n_objects, t->n_locations);
	text_printf(b, "paths: %u nodes, %" PRIu64 " tag collisions\n", t->n_nodes, s->collisions);
}

/* Writes which debug files were needed but not installed, from the counters with this prefix. */
#define MISSING "missing."
static void text_missing(struct buf *b, const struct store_tables *t)
{
	for (uint32_t i = 0; i < t->n_counters; i++) {
		const char *name = t->counters[i].name;

		if (strncmp(name, MISSING, strlen(MISSING)) != 0)
			continue;
		text_put_raw(b, "debug information: ");
		text_put(b, name + strlen(MISSING), NULL);
		text_put_raw(b, "\n");
	}
}

int report_write_stats_text(struct profile *profile, FILE *out)
{
	const struct store_tables *t = profile_tables(profile);
	struct report_options options = {.utf8 = true};
	struct report_stats s;
	struct buf b = {0};
	int err = make(profile, &s);

	if (err == 0)
		err = report_header_text(profile, &options, out);
	text_put_raw(&b, "end reasons:\n");
	for (unsigned i = 0; i <= STACKD_END_COUNT; i++)
		if (s.reasons[i])
			text_printf(&b, "  %-14s %" PRIu64 "\n", end_reason_name((uint8_t)i),
				    s.reasons[i]);
	text_put_raw(&b, "metrics: ");
	metric_put_names(s.series, store_is_timed(&t->recording), &b);
	text_put_raw(&b, "\n");
	text_costs(&b, t, &s);
	text_walks(&b, t, &s);
	text_rules(&b, t);
	text_missing(&b, t);
	if (t->n_counters)
		text_put_raw(&b, "counters:\n");
	for (uint32_t i = 0; i < t->n_counters; i++) {
		text_put_raw(&b, "  ");
		text_put(&b, t->counters[i].name, NULL);
		text_printf(&b, " %" PRIu64 "\n", t->counters[i].value);
	}
	return text_end(&b, out, err);
}
