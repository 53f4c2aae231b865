/* SPDX-License-Identifier: MIT */
/*
 * Makes the timeline; see timeline.h.
 *
 * Samples are sorted by thread first. Each path is looked up once, however often it occurs: the
 * frames of all paths are in one array, and a sample refers to its path by number.
 * model/frame_runs.h gives runs as they end, inner ones before outer ones; then they are sorted by
 * start, so that outer ones come first.
 */
#include "report/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/frame_runs.h"
#include "base/vec.h"
#include "base/int_map.h"
#include "base/text.h"

#define TIMELINE_RUNS 200u /* runs that a row has at most, by default */
/* If an inner run makes up this percentage of an outer one, only the inner one is kept. */
#define TIMELINE_COVER 98u
/* A gap shorter than the threshold divided by this is too short to be seen. */
#define TIMELINE_UNSEEN 10u
/* so many times the usual distance can pass without a sample by chance, because the host of a
 * virtual machine can delay samples */
#define TIMELINE_CHANCE 8u

struct timeline_frame {
	uint32_t symbol;
	bool is_inferred;
	const char *file;
	uint32_t line;
};

struct timeline_path {
	size_t first;
	uint32_t count;
};

/* A sample, or a part of a record that has a length. */
struct timeline_sample {
	/* if it is a moment, lengthen() sets its end */
	uint64_t begin_ns, end_ns;
	uint64_t amount;
	uint32_t path;
	bool is_moment;
	/* the first part of a record; false for all parts of an estimate, which is not a record */
	bool is_first;
};

/* A wait, which is a gap in the timeline of samples. */
struct timeline_gap {
	uint64_t begin_ns, end_ns;
};

struct timeline_lane {
	VEC(struct timeline_sample) samples;
	VEC(struct timeline_gap) gaps; /* waits longer than most_ns */
	uint64_t distance_ns;	       /* time between two samples while the thread is on the CPU */
	uint64_t most_ns; /* longest time between two samples that can pass by chance */
};

struct timeline_maker {
	struct profile *profile;
	struct timeline *result;
	struct frame_runs_options options;
	uint64_t from_ns, to_ns; /* the selected time; to_ns is exclusive */
	VEC(struct timeline_frame) frames;
	VEC(struct timeline_path) paths;
	/* groups: (origin, end reason) -> number of the group; by_path: (group, node) -> path */
	struct int_map groups, by_path;
	struct timeline_lane *lanes; /* by thread */
	/* Of the current thread: */
	const struct timeline_lane *lane;
	VEC(struct timeline_run) runs;
	VEC(uint32_t) symbols;
	VEC(const struct timeline_frame *) lines;
};

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->n_threads; i++)
		free(timeline->threads[i].runs);
	free(timeline->threads);
	free(timeline);
}

static void release(struct timeline_maker *m)
{
	uint32_t n = profile_tables(m->profile)->n_threads;

	for (uint32_t i = 0; m->lanes && i < n; i++) {
		free(m->lanes[i].samples.items);
		free(m->lanes[i].gaps.items);
	}
	free(m->lanes);
	free(m->frames.items);
	free(m->paths.items);
	free(m->runs.items);
	free(m->symbols.items);
	free(m->lines.items);
	int_map_fini(&m->groups);
	int_map_fini(&m->by_path);
}

/* --- samples -------------------------------------------------------------------------------- */

static int keep_path(struct timeline_maker *m, const struct store_sample *s)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(m->profile, s->node, s->end_reason, s->origin, &n);

	if (!frames || VEC_RESERVE(&m->frames, n) < 0 || VEC_RESERVE(&m->paths, 1) < 0)
		return -ENOMEM;
	m->paths.items[m->paths.count++] = (struct timeline_path){
		.first = m->frames.count,
		.count = (uint32_t)n,
	};
	for (size_t i = 0; i < n; i++)
		m->frames.items[m->frames.count++] =
			(struct timeline_frame){.symbol = frames[i].symbol->number,
						.is_inferred = frames[i].is_inferred,
						.file = frames[i].file,
						.line = frames[i].line};
	return 0;
}

static int path_of(struct timeline_maker *m, const struct store_sample *s, uint32_t *ret_path)
{
	uint32_t group;
	int err = int_map_enter(&m->groups, (uint64_t)s->origin << 8 | s->end_reason,
				(uint32_t)m->groups.used, &group);

	if (err == 0)
		err = int_map_enter(&m->by_path, (uint64_t)group << 32 | s->node,
				    (uint32_t)m->paths.count, ret_path);
	return err == 0 && *ret_path == m->paths.count ? keep_path(m, s) : err;
}

static int take_part(struct timeline_lane *lane, const struct timeline_sample *part)
{
	if (VEC_RESERVE(&lane->samples, 1) < 0)
		return -ENOMEM;
	lane->samples.items[lane->samples.count++] = *part;
	return 0;
}

/* Adds those parts of a record that covers a time that are within the selected time. Returns 0 or
 * an error. */
static int take_parts(struct timeline_maker *m, const struct store_sample *record,
		      const struct lasting *lasting, uint32_t thread, struct timeline_sample *part)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < lasting->n; i++) {
		const struct span *span = &lasting->spans[i];

		part->begin_ns = span->begin_ns > m->from_ns ? span->begin_ns : m->from_ns;
		part->end_ns = span->end_ns < m->to_ns ? span->end_ns : m->to_ns;
		if (part->begin_ns >= part->end_ns ||
		    !lasting_within(lasting, record->period, part->begin_ns, part->end_ns,
				    &part->amount))
			continue;
		err = take_part(&m->lanes[thread], part);
		part->is_first = false;
	}
	return err;
}

static int take(void *arg, const struct store_sample *record, const struct lasting *lasting)
{
	struct timeline_maker *m = arg;
	struct timeline_sample kept = {.is_first = !lasting->is_estimate,
				       .is_moment = !lasting->ns};
	struct store_sample s;
	int err;

	if (!profile_part(m->profile, record, lasting, &s))
		return 0;
	err = path_of(m, &s, &kept.path);
	if (err < 0)
		return err;
	if (lasting->ns)
		return take_parts(m, record, lasting, s.thread, &kept);
	kept.begin_ns = kept.end_ns = s.time_ns;
	kept.amount = profile_amount(m->profile, &s);
	return take_part(&m->lanes[s.thread], &kept);
}

/* --- gaps ----------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Finds the median of the times between a thread's records. */
static int median_distance(const struct timeline_lane *lane, uint64_t *ret_ns)
{
	const size_t n = lane->samples.count - 1;
	uint64_t *distances = calloc(n + 1, sizeof(*distances));

	if (!distances)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		distances[i] =
			lane->samples.items[i + 1].begin_ns - lane->samples.items[i].begin_ns;
	qsort(distances, n, sizeof(*distances), compare_numbers);
	*ret_ns = n ? distances[n / 2] : 1;
	free(distances);
	return 0;
}

/* Returns the usual time between two samples of a thread on the CPU; 0: the event is no clock. */
static uint64_t period_of(const struct store_recording *recording)
{
	if (!store_is_timed(recording))
		return 0;
	if (recording->period)
		return recording->period;
	return recording->frequency_hz ? 1000000000 / recording->frequency_hz : 0;
}

/* Returns whether a metric's records have a known begin and end. Then nothing is known of the time
 * between two records, and only gaps that are too short to be seen are closed. */
static bool is_known_whole(enum metric metric)
{
	return lasting_is(metric) && !metric_info(metric)->has_samples;
}

/* Sets the usual time between a thread's samples, and the longest time that can pass between two by
 * chance. Returns 0 or -ENOMEM. */
static int find_distance(struct timeline_maker *m, struct timeline_lane *lane)
{
	const struct metric_info *metric = metric_info(m->result->metric);
	uint64_t ns = 0;
	int err = 0;

	if (metric->series == SERIES_CPU || metric->has_samples)
		ns = period_of(&profile_tables(m->profile)->recording);
	if (!ns)
		err = median_distance(lane, &ns);
	lane->distance_ns = ns;
	lane->most_ns = ns * TIMELINE_CHANCE;
	return err;
}

static int take_gap(void *arg, const struct store_sample *record, const struct lasting *lasting)
{
	struct timeline_maker *m = arg;
	struct timeline_lane *lane = &m->lanes[record->thread];
	const struct span *span = lasting->spans;

	if (!lane->samples.count || span->end_ns - span->begin_ns <= lane->most_ns)
		return 0;
	if (VEC_RESERVE(&lane->gaps, 1) < 0)
		return -ENOMEM;
	lane->gaps.items[lane->gaps.count++] = (struct timeline_gap){span->begin_ns, span->end_ns};
	return 0;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct timeline_gap *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Makes each sample, which is a moment, last until the next sample. If the next one is too far away
 * for chance, the sample lasts for the usual distance; if a long wait begins before the sample's
 * end, until the wait begins. */
static void lengthen(struct timeline_lane *lane)
{
	size_t gap = 0;

	for (size_t i = 0; i < lane->samples.count; i++) {
		struct timeline_sample *s = &lane->samples.items[i];
		uint64_t next = i + 1 < lane->samples.count ? s[1].begin_ns : UINT64_MAX;

		if (!s->is_moment)
			continue;
		s->end_ns = next - s->begin_ns <= lane->most_ns ? next
								: s->begin_ns + lane->distance_ns;
		while (gap < lane->gaps.count && lane->gaps.items[gap].begin_ns < s->begin_ns)
			gap++;
		if (gap < lane->gaps.count && lane->gaps.items[gap].begin_ns < next &&
		    lane->gaps.items[gap].begin_ns > s->begin_ns)
			s->end_ns = lane->gaps.items[gap].begin_ns;
	}
}

static int find_gaps(struct timeline_maker *m)
{
	const uint32_t n = profile_tables(m->profile)->n_threads;
	struct store_reader *reader = profile_reader(m->profile);
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < n; i++)
		if (m->lanes[i].samples.count)
			err = find_distance(m, &m->lanes[i]);
	if (err || m->result->metric != METRIC_CPU)
		return err;
	err = lasting_records(reader, METRIC_WAIT_BLOCKED, take_gap, m);
	if (err == 0)
		err = lasting_records(reader, METRIC_WAIT_RUNNABLE, take_gap, m);
	for (uint32_t i = 0; err == 0 && i < n; i++)
		if (m->lanes[i].gaps.count)
			qsort(m->lanes[i].gaps.items, m->lanes[i].gaps.count,
			      sizeof(struct timeline_gap), compare_gaps);
	return err;
}

/* --- runs ----------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
	const struct timeline_frame *x = *(const struct timeline_frame *const *)a;
	const struct timeline_frame *y = *(const struct timeline_frame *const *)b;

	if (x->file != y->file)
		return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Finds the source line that most samples of a run hit, and adds up the run's amounts. Returns 0 or
 * -ENOMEM. */
static int find_line(struct timeline_maker *m, const struct frame_run *run, struct timeline_run *to)
{
	size_t best = 0, same = 0;

	m->lines.count = 0;
	for (uint64_t i = run->first; i <= run->last; i++) {
		uint32_t path = m->lane->samples.items[i].path;
		const struct timeline_frame *frame =
			&m->frames.items[m->paths.items[path].first + run->depth - 1];

		to->samples += m->lane->samples.items[i].is_first;
		to->inferred += frame->is_inferred && m->lane->samples.items[i].is_first;
		to->amount += m->lane->samples.items[i].amount;
		if (VEC_RESERVE(&m->lines, 1) < 0)
			return -ENOMEM;
		if (frame->file)
			m->lines.items[m->lines.count++] = frame;
	}
	if (m->lines.count)
		qsort(m->lines.items, m->lines.count, sizeof(*m->lines.items), compare_lines);
	for (size_t i = 0; i < m->lines.count; i++) {
		same = i && !compare_lines(&m->lines.items[i - 1], &m->lines.items[i]) ? same + 1
										       : 1;
		if (same <= best)
			continue;
		best = same;
		to->file = m->lines.items[i]->file;
		to->line = m->lines.items[i]->line;
	}
	return 0;
}

static const struct profile_symbol *timeline_symbol(const struct timeline_maker *m, uint32_t symbol)
{
	return symbol == UINT32_MAX ? NULL : profile_symbol_at(m->profile, symbol);
}

static int timeline_run(void *arg, const struct frame_run *run)
{
	struct timeline_maker *m = arg;
	uint64_t start = profile_tables(m->profile)->recording.start_ns;
	struct timeline_run to = {
		.symbol = timeline_symbol(m, run->symbol),
		.parent = timeline_symbol(m, run->parent),
		.grandparent = timeline_symbol(m, run->grandparent),
		.start_ns = run->start > start ? run->start - start : 0,
		.end_ns = run->end > start ? run->end - start : 0,
		.items = run->last - run->first + 1,
		.depth = run->depth,
		.first = run->first,
	};
	int err = find_line(m, run, &to);

	if (err == 0 && to.samples < m->result->options.samples)
		return 0;
	if (err < 0 || VEC_RESERVE(&m->runs, 1) < 0)
		return -ENOMEM;
	m->runs.items[m->runs.count++] = to;
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	const struct timeline_run *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static bool contains(const struct timeline_run *outer, const struct timeline_run *inner)
{
	return inner->first < outer->first + outer->items;
}

/* Removes runs of which an inner run makes up nearly all, and sets the rows of the others. `runs`
 * is sorted by start. Returns 0 or -ENOMEM. */
static int nest(struct timeline_run *runs, size_t n, size_t *ret_n, uint32_t *ret_rows)
{
	VEC(size_t) open = {0}; /* the kept runs around the current one, outermost first */
	size_t kept = 0;

	*ret_rows = 0;
	for (size_t i = 0; i < n; i++) {
		struct timeline_run run = runs[i];

		while (open.count && !contains(&runs[open.items[open.count - 1]], &run))
			open.count--;
		/* The next run is inside the newest one, or begins after it. */
		if (open.count && open.items[open.count - 1] == kept - 1 &&
		    run.items * 100 >= runs[kept - 1].items * TIMELINE_COVER) {
			open.count--;
			kept--;
		}
		if (VEC_RESERVE(&open, 1) < 0) {
			free(open.items);
			return -ENOMEM;
		}
		run.row = (uint32_t)open.count;
		*ret_rows = run.row + 1 > *ret_rows ? run.row + 1 : *ret_rows;
		open.items[open.count++] = kept;
		runs[kept++] = run;
	}
	free(open.items);
	*ret_n = kept;
	return 0;
}

/* --- threads -------------------------------------------------------------------------------- */

/* Passes the thread's samples to `runs`. All runs end where the next sample is too far away for
 * chance. Returns 0 or an error. */
static int pass(struct timeline_maker *m, struct frame_runs *runs)
{
	uint64_t end = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < m->lane->samples.count; i++) {
		const struct timeline_sample *s = &m->lane->samples.items[i];
		const struct timeline_path *path = &m->paths.items[s->path];

		m->symbols.count = 0;
		if (VEC_RESERVE(&m->symbols, path->count) < 0)
			return -ENOMEM;
		for (uint32_t k = 0; k < path->count; k++)
			m->symbols.items[k] = m->frames.items[path->first + k].symbol;
		if (i && s->begin_ns > end &&
		    (s->begin_ns - end > m->lane->most_ns || s[-1].is_moment))
			err = frame_runs_end(runs, end);
		if (err == 0)
			err = frame_runs_add(runs, s->begin_ns, m->symbols.items, path->count);
		end = s->end_ns > end ? s->end_ns : end;
	}
	return err == 0 ? frame_runs_end(runs, end) : err;
}

/* Returns the end of a thread's last record. */
static uint64_t timeline_end(const struct timeline_lane *lane)
{
	uint64_t end = 0;

	for (size_t i = 0; i < lane->samples.count; i++)
		if (lane->samples.items[i].end_ns > end)
			end = lane->samples.items[i].end_ns;
	return end;
}

static uint64_t count_records(const struct timeline_lane *lane)
{
	uint64_t n = 0;

	for (size_t i = 0; i < lane->samples.count; i++)
		n += lane->samples.items[i].is_first;
	return n;
}

static uint64_t sum(const struct timeline_lane *lane)
{
	uint64_t amount = 0;

	for (size_t i = 0; i < lane->samples.count; i++)
		amount += lane->samples.items[i].amount;
	return amount;
}

static int timeline_thread(struct timeline_maker *m, uint32_t thread)
{
	const struct timeline_lane *lane = &m->lanes[thread];
	struct timeline_thread *to = &m->result->threads[m->result->n_threads];
	uint64_t start = profile_tables(m->profile)->recording.start_ns;
	struct frame_runs *runs = NULL;
	int err = frame_runs_new(&m->options, timeline_run, m, &runs);

	m->lane = lane;
	m->runs.count = 0;
	if (err == 0)
		err = pass(m, runs);
	frame_runs_free(runs);
	if (err < 0)
		return err;
	*to = (struct timeline_thread){
		.thread = thread, .samples = count_records(lane), .amount = sum(lane)};
	to->start_ns = lane->samples.items[0].begin_ns - start;
	to->end_ns = timeline_end(lane) - start;
	if (!m->runs.count) {
		m->result->n_threads++;
		return 0;
	}
	qsort(m->runs.items, m->runs.count, sizeof(*m->runs.items), compare_runs);
	err = nest(m->runs.items, m->runs.count, &to->n_runs, &to->rows);
	to->runs = err == 0 ? vec_alloc(to->n_runs, sizeof(*to->runs)) : NULL;
	if (!to->runs)
		return -ENOMEM;
	for (size_t i = 0; i < to->n_runs; i++)
		to->runs[i] = m->runs.items[i];
	m->result->n_threads++;
	return 0;
}

static int compare_threads(const void *a, const void *b)
{
	const struct timeline_thread *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int compare_samples(const void *a, const void *b)
{
	const struct timeline_sample *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Sorts each thread's records by time. They are not sorted yet, because the records of a second
 * series come after all records of the first, and records that cover a time come in order of their
 * ends. */
static void put_in_order(struct timeline_maker *m)
{
	const uint32_t n = profile_tables(m->profile)->n_threads;

	if (!lasting_is(m->result->metric))
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (m->lanes[i].samples.count)
			qsort(m->lanes[i].samples.items, m->lanes[i].samples.count,
			      sizeof(struct timeline_sample), compare_samples);
	}
}

/* Finds the time of the first sample, and the end of the last. */
static void bounds(struct timeline_maker *m)
{
	const struct store_tables *t = profile_tables(m->profile);
	uint64_t first = UINT64_MAX, last = 0, start = t->recording.start_ns;

	for (uint32_t i = 0; i < t->n_threads; i++) {
		const struct timeline_lane *lane = &m->lanes[i];

		if (!lane->samples.count)
			continue;
		if (lane->samples.items[0].begin_ns < first)
			first = lane->samples.items[0].begin_ns;
		if (timeline_end(lane) > last)
			last = timeline_end(lane);
	}
	m->result->start_ns = first == UINT64_MAX ? 0 : first - start;
	m->result->end_ns = last ? last - start : 0;
}

static int timeline_all(struct timeline_maker *m, const struct timeline_options *options)
{
	const struct store_tables *t = profile_tables(m->profile);
	struct timeline *timeline = m->result;
	int err = 0;

	put_in_order(m);
	err = find_gaps(m);
	for (uint32_t i = 0; err == 0 && i < t->n_threads; i++)
		lengthen(&m->lanes[i]);
	if (err < 0)
		return err;
	bounds(m);
	timeline->options = *options;
	if (!options->samples && !options->duration_ns) {
		timeline->options.duration_ns =
			(timeline->end_ns - timeline->start_ns) / TIMELINE_RUNS;
		/* A run of a single sample may be chance. A run of a single record is not, if all
		 * records are kept, or if the record is long enough. */
		timeline->options.samples =
			metric_info(timeline->metric)->is_sampled && !lasting_is(timeline->metric)
				? 2
				: 1;
	}
	m->options.duration = timeline->options.duration_ns;
	for (uint32_t i = 0; i < t->n_threads && is_known_whole(timeline->metric); i++)
		m->lanes[i].most_ns =
			(timeline->options.duration_ns
				 ? timeline->options.duration_ns
				 : (timeline->end_ns - timeline->start_ns) / TIMELINE_RUNS) /
			TIMELINE_UNSEEN;
	timeline->threads = calloc((size_t)t->n_threads + 1, sizeof(*timeline->threads));
	if (!timeline->threads)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < t->n_threads; i++)
		if (m->lanes[i].samples.count)
			err = timeline_thread(m, i);
	if (err == 0 && timeline->n_threads)
		qsort(timeline->threads, timeline->n_threads, sizeof(*timeline->threads),
		      compare_threads);
	return err;
}

int timeline_new(struct profile *profile, const struct timeline_options *options,
		 struct timeline **ret_timeline)
{
	const uint64_t to = profile_end(profile);
	struct timeline_maker m = {.profile = profile,
				   .from_ns = profile_begin(profile),
				   .to_ns = to == UINT64_MAX ? to : to + 1};
	int err = -ENOMEM;

	m.result = calloc(1, sizeof(*m.result));
	m.lanes = calloc((size_t)profile_tables(profile)->n_threads + 1, sizeof(*m.lanes));
	if (m.result)
		m.result->metric = profile_filter(profile)->metric;
	if (m.result && m.lanes)
		err = profile_lasting(profile, m.result->metric, take, &m);
	if (err == 0)
		err = timeline_all(&m, options);
	if (err == 0)
		*ret_timeline = m.result;
	else
		timeline_free(m.result);
	release(&m);
	return err;
}

void timeline_label(struct buf *b, const struct timeline_run *run)
{
	if (run->grandparent) {
		text_put(b, run->grandparent->name, NULL);
		text_put_raw(b, " > ");
	}
	if (run->parent) {
		text_put(b, run->parent->name, NULL);
		text_put_raw(b, " > ");
	}
	text_put(b, run->symbol->name, NULL);
	if (!run->file)
		return;
	text_put_raw(b, " [");
	text_put(b, text_basename(run->file), NULL);
	text_printf(b, ":%u]", run->line);
}

bool timeline_has_amounts(const struct timeline *timeline)
{
	const struct metric_info *metric = metric_info(timeline->metric);

	return metric->series != SERIES_CPU && !metric->is_count;
}

void timeline_amount(struct buf *b, const struct timeline *timeline, uint64_t samples,
		     uint64_t amount)
{
	char text[METRIC_AMOUNT_MAX];

	metric_put_records(timeline->metric, samples, b);
	if (timeline_has_amounts(timeline))
		text_printf(b, ", %s", metric_number(timeline->metric, amount, text));
}

void timeline_threshold(struct buf *b, const struct timeline *timeline)
{
	text_put_raw(b, "routines that a thread was in for at least ");
	if (timeline->options.duration_ns)
		text_printf(b, "%.1f ms", (double)timeline->options.duration_ns / 1e6);
	if (timeline->options.duration_ns && timeline->options.samples)
		text_put_raw(b, " and ");
	if (timeline->options.samples)
		text_printf(b, "%" PRIu64 " %s", timeline->options.samples,
			    metric_info(timeline->metric)->records);
}
