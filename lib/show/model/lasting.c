/* SPDX-License-Identifier: MIT */
/*
 * Finds the time that records cover; see lasting.h.
 *
 * The length of a sampled wait follows from the time that it stands for and the mean distance of
 * the sampling. Passes are sorted by thread and end: an inner pass ends before the pass around it,
 * so a stack of ended passes has the direct children of a pass on top. For METRIC_WALL, waits and
 * samples are sorted by thread; then the time outside of waits since the previous sample belongs to
 * a sample.
 */
#include "model/lasting.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "stackd_abi.h"

#define LASTING_STEPS 64 /* most of Newton's method */
/* for at least so long after a thread's exit, no other thread has its id */
#define LASTING_EXIT_NS 50000000

/* From `time_ns` on, waits were sampled with this mean. */
struct mean {
	uint64_t time_ns, mean_ns;
};

/* A pass through a region. Its spans are lasting_maker.spans[first .. first + n). */
struct lasting_pass {
	uint64_t begin_ns, end_ns, ns;
	uint32_t thread, number; /* number: place of its record in the series */
	uint32_t first, n;
};

/* The data of a thread that METRIC_WALL needs. */
struct lasting_lane {
	VEC(struct span) waits;
	VEC(struct store_sample) samples;
	/* index of the first wait that ends after the begin of the last search */
	size_t at;
	uint64_t first_ns; /* time of the thread's first record */
	uint64_t begin_ns, end_ns;
	bool is_begun; /* The begin of the thread is known: begin_ns. */
	bool is_ended; /* The end of the thread is known: end_ns. */
};

struct lasting_maker {
	struct store_reader *reader;
	const struct store_tables *tables;
	lasting_each each;
	void *arg;
	VEC(struct mean) means;
	VEC(struct span) spans, unseen;
	VEC(struct lasting_pass) passes;
	uint32_t *pass_of; /* by a record's place in its series: index of the pass */
	size_t at;	   /* records of the current series read so far */
	uint64_t *last_ns; /* by thread: time of the previous sample */
	struct lasting_lane *lanes;
	bool is_counted; /* All waits were recorded, not only a sample of them. */
	/* the longest time that a thread can be on the CPU without a sample; 0: unknown */
	uint64_t most_ns;
};

bool lasting_is(enum metric metric)
{
	const struct metric_info *info = metric_info(metric);

	switch (info->series) {
	case SERIES_WAIT_BLOCKED:
	case SERIES_WAIT_RUNNABLE:
	case SERIES_REGION_TIME:
	case SERIES_REGION_CPU:
	case SERIES_CPU_OUTSIDE:
		return !info->is_count;
	default:
		return false;
	}
}

/* Returns how much of a span is between two times and in the reader's range. */
static uint64_t selected_ns(const struct store_tables *t, const struct span *s, uint64_t from_ns,
			    uint64_t to_ns)
{
	const uint64_t begin = s->begin_ns > from_ns ? s->begin_ns : from_ns;
	const uint64_t end = s->end_ns < to_ns ? s->end_ns : to_ns;

	if (t)
		return store_reader_selected_ns(t, begin, end);
	return end > begin ? end - begin : 0;
}

bool lasting_within(const struct lasting *l, uint64_t value, uint64_t from_ns, uint64_t to_ns,
		    uint64_t *ret_part)
{
	uint64_t within = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct span *s = &l->spans[i];

		if (!l->ns && s->begin_ns >= from_ns && s->begin_ns < to_ns &&
		    (!l->tables || store_reader_selects(l->tables, s->begin_ns))) {
			*ret_part = value;
			return true;
		}
		within += selected_ns(l->tables, s, from_ns, to_ns);
	}
	if (!within)
		return false;
	*ret_part = within == l->ns
			    ? value
			    : (uint64_t)((double)value * (double)within / (double)l->ns + 0.5);
	return true;
}

/* Calls `each` for a record. */
static int hand_out(const struct lasting_maker *m, const struct store_sample *record,
		    struct lasting *lasting)
{
	lasting->tables = m->tables;
	return m->each(m->arg, record, lasting);
}

/* Calls `each` for a record that covers one span: the last `ns` nanoseconds before its time. */
static int emit(struct lasting_maker *m, const struct store_sample *record, uint64_t ns,
		double variance)
{
	struct span span = {record->time_ns - (ns < record->time_ns ? ns : record->time_ns),
			    record->time_ns};
	struct lasting l = {.spans = &span,
			    .n = 1,
			    .ns = span.end_ns - span.begin_ns,
			    .variance = variance,
			    .is_stored = true};

	return hand_out(m, record, &l);
}

static int emit_moment(void *arg, const struct store_sample *record)
{
	return emit(arg, record, 0, 0);
}

/* Returns the variance that a sample adds to a sum: samples come like a Poisson process. */
static double sample_variance(const struct store_sample *sample)
{
	return (double)sample->period * (double)sample->period;
}

static int emit_sample_moment(void *arg, const struct store_sample *sample)
{
	return emit(arg, sample, 0, sample_variance(sample));
}

/* --- waits ----------------------------------------------------------------------------------- */

/* With x = d / T for a wait of length d and y = w / T for the time w that it stands for, y = x / (1
 * - exp(-x)). So x is the larger zero of x - y (1 - exp(-x)), which is convex, and Newton's method
 * descends to it from y. */
uint64_t lasting_wait_ns(uint64_t stands_for_ns, uint64_t mean_ns)
{
	const double mean = (double)mean_ns, y = (double)stands_for_ns / mean;
	double x = y;

	if (!mean_ns || !stands_for_ns)
		return stands_for_ns;
	if (stands_for_ns <= mean_ns) /* shorter than what rounding leaves */
		return 1;
	for (int i = 0; i < LASTING_STEPS; i++) {
		double next = x - (x + y * expm1(-x)) / (1 - y * exp(-x));

		if (!(next > 0) || !(x - next > x * 1e-12))
			break;
		x = next;
	}
	return x * mean < 1 ? 1 : (uint64_t)(x * mean + 0.5);
}

static int take_mean(void *arg, const struct store_sample *record)
{
	struct lasting_maker *m = arg;

	if (VEC_RESERVE(&m->means, 1) < 0)
		return -ENOMEM;
	m->is_counted = m->is_counted && !record->period;
	m->means.items[m->means.count++] = (struct mean){record->time_ns, record->period};
	return 0;
}

/* Reads the sampling means. Older stores have none, so in these a wait lasts as long as it stands
 * for. */
static int read_means(struct lasting_maker *m)
{
	int err;

	m->is_counted = true;
	err = store_reader_all_records(m->reader, SERIES_WAIT_MEAN, take_mean, m);
	m->is_counted = m->is_counted && m->means.count;
	for (uint32_t i = 0; i < m->tables->n_counters; i++)
		if (strcmp(m->tables->counters[i].name, "waits_short") == 0 &&
		    m->tables->counters[i].value)
			m->is_counted = false;
	return err;
}

/* Returns how long a wait lasted. */
static uint64_t wait_ns(const struct lasting_maker *m, const struct store_sample *wait)
{
	size_t low = 0, high = m->means.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->means.items[middle].time_ns <= wait->time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!m->means.count)
		return wait->period;
	return lasting_wait_ns(wait->period, m->means.items[low ? low - 1 : 0].mean_ns);
}

/* Calls `each` for a wait. A wait of length d that was kept with the probability p = d / w adds w
 * to the sum, with the variance w^2 (1 - p). */
static int emit_wait(void *arg, const struct store_sample *wait)
{
	const uint64_t ns = wait_ns(arg, wait);
	const double w = (double)wait->period, left_out = w - (double)ns;

	return emit(arg, wait, ns, left_out > 0 ? w * left_out : 0);
}

static int each_wait(struct lasting_maker *m, const struct metric_info *metric)
{
	int err = store_reader_all_records(m->reader, metric->series, emit_wait, m);

	return err || metric->also == SERIES_CPU
		       ? err
		       : store_reader_all_records(m->reader, metric->also, emit_wait, m);
}

/* --- passes ---------------------------------------------------------------------------------- */

static int take_pass(void *arg, const struct store_sample *record)
{
	struct lasting_maker *m = arg;
	uint64_t end = record->time_ns;

	if (VEC_RESERVE(&m->passes, 1) < 0)
		return -ENOMEM;
	m->passes.items[m->passes.count] =
		(struct lasting_pass){.begin_ns = record->period < end ? end - record->period : 0,
				      .end_ns = end,
				      .thread = record->thread,
				      .number = (uint32_t)m->passes.count};
	m->passes.count++;
	return 0;
}

static int compare_passes(const void *a, const void *b)
{
	const struct lasting_pass *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the outermost pass of a thread that ended at a record's time, which is the last one in
 * `passes`; NULL: there is none. */
static struct lasting_pass *last_pass(struct lasting_maker *m, const struct store_sample *record)
{
	const struct lasting_pass key = {
		.thread = record->thread, .end_ns = record->time_ns, .number = UINT32_MAX};
	size_t low = 0, high = m->passes.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_passes(&m->passes.items[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || m->passes.items[low - 1].thread != record->thread ||
	    m->passes.items[low - 1].end_ns != record->time_ns)
		return NULL;
	return &m->passes.items[low - 1];
}

static int take_nested(void *arg, const struct store_sample *record)
{
	struct lasting_pass *pass = last_pass(arg, record);

	if (pass)
		pass->begin_ns -= record->period < pass->begin_ns ? record->period : pass->begin_ns;
	return 0;
}

static int put_span(struct lasting_maker *m, uint64_t begin, uint64_t end)
{
	if (VEC_RESERVE(&m->spans, 1) < 0)
		return -ENOMEM;
	m->spans.items[m->spans.count++] = (struct span){begin, end};
	return 0;
}

/* Adds the spans of a pass in which none of its children ran. `children` has the indices of the `n`
 * children. */
static int put_pass(struct lasting_maker *m, struct lasting_pass *pass, const uint32_t *children,
		    size_t n)
{
	uint64_t at = pass->begin_ns;
	int err = 0;

	pass->first = (uint32_t)m->spans.count;
	for (size_t i = 0; !err && i < n; i++) {
		const struct lasting_pass *child = &m->passes.items[children[i]];

		if (child->begin_ns > at)
			err = put_span(m, at, child->begin_ns);
		at = child->end_ns > at ? child->end_ns : at;
	}
	if (!err && at < pass->end_ns)
		err = put_span(m, at, pass->end_ns);
	if (!err && m->spans.count == pass->first)
		err = put_span(m, pass->end_ns, pass->end_ns);
	pass->n = (uint32_t)(m->spans.count - pass->first);
	for (uint32_t i = 0; !err && i < pass->n; i++)
		pass->ns += m->spans.items[pass->first + i].end_ns -
			    m->spans.items[pass->first + i].begin_ns;
	return err;
}

static int nest_passes(struct lasting_maker *m)
{
	VEC(uint32_t) ended = {0};
	int err = 0;

	for (uint32_t i = 0; !err && i < m->passes.count; i++) {
		struct lasting_pass *pass = &m->passes.items[i];
		size_t n = ended.count;

		while (n && m->passes.items[ended.items[n - 1]].thread == pass->thread &&
		       m->passes.items[ended.items[n - 1]].begin_ns >= pass->begin_ns)
			n--;
		err = put_pass(m, pass, &ended.items[n], ended.count - n);
		ended.count = n;
		if (!err)
			err = VEC_RESERVE(&ended, 1);
		if (!err)
			ended.items[ended.count++] = i;
		m->pass_of[pass->number] = i;
	}
	free(ended.items);
	return err;
}

static int find_passes(struct lasting_maker *m)
{
	int err = store_reader_all_records(m->reader, SERIES_REGION_TIME, take_pass, m);

	if (err || !m->passes.count)
		return err;
	m->pass_of = calloc(m->passes.count, sizeof(*m->pass_of));
	if (!m->pass_of)
		return -ENOMEM;
	qsort(m->passes.items, m->passes.count, sizeof(*m->passes.items), compare_passes);
	err = store_reader_all_records(m->reader, SERIES_REGION_NESTED_TIME, take_nested, m);
	return err ? err : nest_passes(m);
}

/* Calls `each` for a pass. Both series of instances (own time and nested time) have one record of
 * each pass, in the same order. */
static int emit_pass(void *arg, const struct store_sample *record)
{
	struct lasting_maker *m = arg;
	const struct lasting_pass *pass =
		m->at < m->passes.count ? &m->passes.items[m->pass_of[m->at++]] : NULL;
	struct lasting l = {.is_stored = true};

	if (!pass || pass->thread != record->thread || pass->end_ns != record->time_ns)
		return emit_moment(m, record);
	l.spans = &m->spans.items[pass->first];
	l.n = pass->n;
	l.ns = pass->ns;
	return hand_out(m, record, &l);
}

static int each_pass(struct lasting_maker *m, enum metric_series series)
{
	int err = find_passes(m);

	m->at = 0;
	return err ? err : store_reader_all_records(m->reader, series, emit_pass, m);
}

/* Calls `each` for a sample outside of passes, which covers the time since the thread's previous
 * sample, but at most its period. */
static int emit_outside(void *arg, const struct store_sample *record)
{
	struct lasting_maker *m = arg;
	uint64_t *last = &m->last_ns[record->thread], ns = record->period;

	if (*last && *last <= record->time_ns && record->time_ns - *last < ns)
		ns = record->time_ns - *last;
	*last = record->time_ns;
	return emit(m, record, ns, sample_variance(record));
}

static int each_cpu_time(struct lasting_maker *m)
{
	int err;

	m->last_ns = calloc((size_t)m->tables->n_threads + 1, sizeof(*m->last_ns));
	if (!m->last_ns)
		return -ENOMEM;
	err = store_reader_all_records(m->reader, SERIES_CPU_OUTSIDE, emit_outside, m);
	return err ? err : each_pass(m, SERIES_REGION_CPU);
}

/* --- wall time ------------------------------------------------------------------------------- */

static int take_sample(void *arg, const struct store_sample *sample)
{
	struct lasting_maker *m = arg;
	struct lasting_lane *lane = &m->lanes[sample->thread];

	if (VEC_RESERVE(&lane->samples, 1) < 0)
		return -ENOMEM;
	lane->samples.items[lane->samples.count++] = *sample;
	return 0;
}

static int take_wait(void *arg, const struct store_sample *wait)
{
	struct lasting_maker *m = arg;
	struct lasting_lane *lane = &m->lanes[wait->thread];
	uint64_t ns = wait_ns(m, wait);

	if (VEC_RESERVE(&lane->waits, 1) < 0)
		return -ENOMEM;
	lane->waits.items[lane->waits.count++] =
		(struct span){ns < wait->time_ns ? wait->time_ns - ns : 0, wait->time_ns};
	return 0;
}

static int take_begin(void *arg, const struct store_sample *begin)
{
	struct lasting_lane *lane = &((struct lasting_maker *)arg)->lanes[begin->thread];

	if (!lane->is_begun)
		lane->begin_ns = begin->time_ns;
	lane->is_begun = true;
	return 0;
}

static int take_end(void *arg, const struct store_sample *end)
{
	struct lasting_maker *m = arg;

	m->lanes[end->thread].end_ns = end->time_ns;
	m->lanes[end->thread].is_ended = true;
	return 0;
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Adds the spans between `from` and `to` in which a thread was not in a wait. `from` must not fall
 * from call to call. Returns 0 or an error. */
static int put_free(struct lasting_maker *m, struct lasting_lane *lane, uint64_t from, uint64_t to)
{
	const struct span *waits = lane->waits.items;
	uint64_t at = from;
	int err = 0;

	while (lane->at < lane->waits.count && waits[lane->at].end_ns <= from)
		lane->at++;
	for (size_t i = lane->at; !err && i < lane->waits.count && waits[i].begin_ns < to; i++) {
		if (waits[i].begin_ns > at)
			err = put_span(m, at, waits[i].begin_ns);
		at = waits[i].end_ns > at ? waits[i].end_ns : at;
	}
	return err || at >= to ? err : put_span(m, at, to);
}

/* Cuts off all but the last `most_ns` of the spans. Returns the length that is left; `ret_first`
 * receives the index of the first span that is left. */
static uint64_t keep_last(struct lasting_maker *m, uint64_t most_ns, size_t *ret_first)
{
	uint64_t ns = 0;

	for (size_t i = m->spans.count; i-- > 0;) {
		struct span *s = &m->spans.items[i];

		if (ns == most_ns) {
			*ret_first = i + 1;
			return ns;
		}
		if (s->end_ns - s->begin_ns > most_ns - ns)
			s->begin_ns = s->end_ns - (most_ns - ns);
		ns += s->end_ns - s->begin_ns;
	}
	*ret_first = 0;
	return ns;
}

/* Moves to `unseen` the spans that are too long for a thread to be on the CPU without any sample:
 * in these, the thread was in a wait that the kernel did not trace (docs/WAITS.md). */
static int part_unseen(struct lasting_maker *m)
{
	size_t kept = 0;

	m->unseen.count = 0;
	for (size_t i = 0; i < m->spans.count; i++) {
		const struct span s = m->spans.items[i];

		if (!m->is_counted || !m->most_ns || s.end_ns - s.begin_ns <= m->most_ns) {
			m->spans.items[kept++] = s;
			continue;
		}
		if (VEC_RESERVE(&m->unseen, 1) < 0)
			return -ENOMEM;
		m->unseen.items[m->unseen.count++] = s;
	}
	m->spans.count = kept;
	return 0;
}

/* Calls `each` for spans of a thread that belong to no record, with a record that is made for them
 * and has no path. */
static int emit_without(struct lasting_maker *m, uint32_t thread, uint8_t end_reason,
			const struct span *spans, size_t n)
{
	struct store_sample s = {.thread = thread, .end_reason = end_reason};
	struct lasting l = {.spans = spans, .n = n};

	for (size_t i = 0; i < n; i++)
		l.ns += spans[i].end_ns - spans[i].begin_ns;
	if (!l.ns)
		return 0;
	s.period = l.ns;
	s.time_ns = spans[n - 1].end_ns;
	return hand_out(m, &s, &l);
}

static int emit_unseen(struct lasting_maker *m, uint32_t thread)
{
	return emit_without(m, thread, STACKD_END_LOST_RECORD, m->unseen.items, m->unseen.count);
}

/* Calls `each` for sample `i` of a thread, with the CPU time since `from`, the time of the thread's
 * previous sample. The last sample also gets the time up to the thread's end. */
static int emit_sample(struct lasting_maker *m, struct lasting_lane *lane, size_t i, uint64_t from)
{
	struct store_sample s = lane->samples.items[i];
	const struct span moment = {s.time_ns, s.time_ns};
	struct lasting l = {.is_stored = true};
	uint64_t to = s.time_ns;
	size_t first = 0;
	int err;

	if (m->is_counted && i + 1 == lane->samples.count && lane->end_ns > to)
		to = lane->end_ns;
	m->spans.count = 0;
	err = put_free(m, lane, from, to);
	if (!err)
		err = part_unseen(m);
	if (!err)
		err = emit_unseen(m, s.thread);
	if (err)
		return err;
	l.ns = keep_last(m, m->is_counted ? UINT64_MAX : s.period, &first);
	if (m->is_counted)
		s.period = l.ns;
	l.variance = sample_variance(&s);
	l.spans = l.ns ? &m->spans.items[first] : &moment;
	l.n = l.ns ? m->spans.count - first : 1;
	return hand_out(m, &s, &l);
}

/* Calls `each` for all CPU time of a thread without samples, which was on the CPU between its
 * waits, but never long enough for a sample to hit it. */
static int emit_unsampled(struct lasting_maker *m, struct lasting_lane *lane, uint32_t thread)
{
	int err;

	if (!m->is_counted || !lane->waits.count)
		return 0;
	m->spans.count = 0;
	err = put_free(m, lane, lane->begin_ns, lane->end_ns);
	if (!err)
		err = part_unseen(m);
	if (!err)
		err = emit_unseen(m, thread);
	return err ? err
		   : emit_without(m, thread, STACKD_END_NO_USER, m->spans.items, m->spans.count);
}

/* Returns when the time begins for which a thread's first sample stands: one period before the
 * sample, unless the begin of the thread is known. */
static uint64_t begin_of_sample(const struct lasting_maker *m, const struct lasting_lane *lane)
{
	const struct store_sample *first = lane->samples.items;
	const uint64_t start = m->tables->recording.start_ns;

	/* A new thread first waits for a CPU, so its first wait shows when the thread began. */
	if (lane->is_begun ||
	    (m->is_counted && lane->waits.count && lane->waits.items[0].begin_ns < first->time_ns))
		return first->time_ns;
	if (first->time_ns > start + first->period)
		return first->time_ns - first->period;
	return start < first->time_ns ? start : first->time_ns;
}

/* Sorts a thread's waits, and finds when the thread begins and ends. Unless its begin is known, it
 * begins with its first wait, or at begin_of_sample() if that is earlier; unless its end is known,
 * it ends with its last record. */
static void bound_lane(const struct lasting_maker *m, struct lasting_lane *lane)
{
	const size_t n = lane->samples.count;
	uint64_t begin, end;

	if (lane->waits.count)
		qsort(lane->waits.items, lane->waits.count, sizeof(struct span), compare_spans);
	begin = n ? begin_of_sample(m, lane) : UINT64_MAX;
	lane->first_ns = n ? lane->samples.items[0].time_ns : UINT64_MAX;
	end = n ? lane->samples.items[n - 1].time_ns : 0;
	for (size_t i = 0; i < lane->waits.count; i++)
		if (lane->waits.items[i].end_ns > end)
			end = lane->waits.items[i].end_ns;
	if (lane->waits.count && lane->waits.items[0].begin_ns < begin)
		begin = lane->waits.items[0].begin_ns;
	if (lane->waits.count && lane->waits.items[0].begin_ns < lane->first_ns)
		lane->first_ns = lane->waits.items[0].begin_ns;
	if (!lane->is_begun || begin < lane->begin_ns)
		lane->begin_ns = begin;
	/* perf reports an exit before the kernel has released the thread, which can still wait
	 * until then. The time of the thread's last switch is more exact; older stores lack it. */
	if (!lane->is_ended || end > lane->end_ns)
		lane->end_ns = end;
}

static int compare_threads(const void *a, const void *b, void *arg)
{
	const struct lasting_maker *m = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int32_t tids[] = {m->tables->threads[x].tid, m->tables->threads[y].tid};
	const uint64_t begins[] = {m->lanes[x].first_ns, m->lanes[y].first_ns};

	if (tids[0] != tids[1])
		return tids[0] < tids[1] ? -1 : 1;
	if (begins[0] != begins[1])
		return begins[0] < begins[1] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Finds when threads begin. When a thread's name changes, as by an exec, the tables have a new
 * thread for it, which begins when the old one was last seen. */
static int bound_lanes(struct lasting_maker *m)
{
	const uint32_t n = m->tables->n_threads;
	uint32_t *order = calloc((size_t)n + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		bound_lane(m, &m->lanes[i]);
		order[i] = i;
	}
	qsort_r(order, n, sizeof(*order), compare_threads, m);
	for (uint32_t i = 1; i < n; i++) {
		const struct lasting_lane *before = &m->lanes[order[i - 1]];
		struct lasting_lane *lane = &m->lanes[order[i]];

		if (m->tables->threads[order[i]].tid == m->tables->threads[order[i - 1]].tid &&
		    before->end_ns &&
		    (!before->is_ended || lane->begin_ns < before->end_ns + LASTING_EXIT_NS))
			lane->begin_ns = before->end_ns;
	}
	free(order);
	return 0;
}

static int emit_lane(struct lasting_maker *m, uint32_t thread)
{
	struct lasting_lane *lane = &m->lanes[thread];
	uint64_t from = lane->begin_ns;
	int err = 0;

	if (!lane->samples.count)
		return emit_unsampled(m, lane, thread);
	for (size_t i = 0; !err && i < lane->samples.count; i++) {
		err = emit_sample(m, lane, i, from);
		from = lane->samples.items[i].time_ns;
	}
	return err;
}

static uint64_t most_unsampled_ns(const struct store_recording *recording)
{
	return recording->samples ? STORE_UNSAMPLED * store_period_ns(recording) : 0;
}

static int each_wall(struct lasting_maker *m, const struct metric_info *metric)
{
	int err;

	m->lanes = calloc((size_t)m->tables->n_threads + 1, sizeof(*m->lanes));
	m->most_ns = most_unsampled_ns(&m->tables->recording);
	err = m->lanes ? store_reader_all_records(m->reader, metric->series, take_wait, m)
		       : -ENOMEM;
	if (!err)
		err = store_reader_all_records(m->reader, metric->also, take_wait, m);
	if (!err)
		err = store_reader_all_records(m->reader, SERIES_THREAD_BEGIN, take_begin, m);
	if (!err)
		err = store_reader_all_records(m->reader, SERIES_THREAD_END, take_end, m);
	if (!err)
		err = store_reader_all_records(m->reader, SERIES_CPU, take_sample, m);
	if (!err)
		err = bound_lanes(m);
	for (uint32_t i = 0; !err && i < m->tables->n_threads; i++) {
		err = emit_lane(m, i);
		free(m->lanes[i].samples.items);
		m->lanes[i].samples.items = NULL;
	}
	return err ? err : each_wait(m, metric);
}

/* --- entry points ----------------------------------------------------------------------------- */

static void release(struct lasting_maker *m)
{
	for (uint32_t i = 0; m->lanes && i < m->tables->n_threads; i++) {
		free(m->lanes[i].waits.items);
		free(m->lanes[i].samples.items);
	}
	free(m->lanes);
	free(m->means.items);
	free(m->spans.items);
	free(m->unseen.items);
	free(m->passes.items);
	free(m->pass_of);
	free(m->last_ns);
}

static int each_moment(struct lasting_maker *m, const struct metric_info *metric)
{
	int err = store_reader_records(
		m->reader, metric->series,
		metric->series == SERIES_CPU ? emit_sample_moment : emit_moment, m);

	return err || metric->also == SERIES_CPU
		       ? err
		       : store_reader_records(m->reader, metric->also, emit_moment, m);
}

/* Calls `each` for the sum of many instances, which lies in the time right before its record's: the
 * sums of a thread lie one after the other (daemon/recorder/recorder_call.c). */
static int emit_sum(void *arg, const struct store_sample *record)
{
	return emit(arg, record, record->period, 0);
}

/* Calls `each` for the sums of a metric. */
static int each_sum(struct lasting_maker *m, enum metric metric)
{
	const struct metric_info *info = metric_info(metric);

	if (info->sums == SERIES_CPU)
		return 0;
	return lasting_is(metric) ? store_reader_all_records(m->reader, info->sums, emit_sum, m)
				  : store_reader_records(m->reader, info->sums, emit_moment, m);
}

int lasting_records(struct store_reader *reader, enum metric metric, lasting_each each, void *arg)
{
	struct lasting_maker m = {
		.reader = reader, .tables = store_reader_tables(reader), .each = each, .arg = arg};
	const struct metric_info *info = metric_info(metric);
	int err;

	if (!lasting_is(metric)) {
		err = each_moment(&m, info);
	} else if (info->series == SERIES_CPU_OUTSIDE) {
		err = each_cpu_time(&m);
	} else if (info->series == SERIES_REGION_TIME || info->series == SERIES_REGION_CPU) {
		err = each_pass(&m, info->series);
	} else {
		err = read_means(&m);
		if (!err)
			err = info->has_samples ? each_wall(&m, info) : each_wait(&m, info);
	}
	if (!err)
		err = each_sum(&m, metric);
	release(&m);
	return err;
}
