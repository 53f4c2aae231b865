/* SPDX-License-Identifier: MIT */
/*
 * Searches for markers of periods; see periods.h.
 *
 * Samples are sorted by thread. One pass over a thread's samples notes each function that is in a
 * path and not in the previous one. These beginnings are then sorted by function, and each function
 * is judged by itself.
 */
#include "folding/periods.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/int_map.h"
#include "store/store_reader.h"

/* A distance is near a length if it differs by at most this share of the length. */
#define NEAR 0.25
/* share of the distances that must be near the length itself, not near twice the length */
#define ONCE  0.6
#define PAUSE 3.0 /* least length of a pause, in distances of samples */
/* Of two markers whose regularity differs by less, the one with more passes is chosen. */
#define AS_GOOD 0.05

struct sample {
	uint64_t time_ns;
	uint32_t thread, path;
};

/* The moment at which a blocked thread was woken. */
struct waking {
	uint64_t time_ns;
	uint32_t thread;
};

/* The functions of a path, each once: numbers[first .. first + count). */
struct path {
	size_t first;
	uint32_t count;
};

/* A moment at which a function begins to be in the paths of samples. `symbol`: number of the
 * function + 1; 0: it is the end of a pause. */
struct beginning {
	struct period_moment moment;
	uint32_t symbol;
};

struct finder {
	struct profile *profile;
	struct periods *periods;
	VEC(struct sample) samples;
	VEC(struct waking) wakings; /* sorted as the samples are */
	/* index of the first wake-up that is not before the current sample */
	size_t next_waking;
	bool has_waits;
	struct int_map by_path;
	VEC(struct path) paths;
	VEC(uint32_t) symbols;
	/* Of the current thread: */
	VEC(struct beginning) beginnings;
	uint32_t *last; /* by symbol: number of the last sample with it + 1 */
	/* by symbol: end of its moments in `moments`, after sort() */
	size_t *ends;
	size_t n_symbols;
	struct period_moment *moments; /* moments of all symbols, sorted by symbol */
	double *distances;	       /* room to sort the distances of one symbol */
	size_t n_samples;
	double gap_ns; /* usual time between two samples */
};

/* --- samples ---------------------------------------------------------------------------------- */

static int add_path(struct finder *f, const struct store_sample *s)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(f->profile, s->node, s->end_reason, s->origin, &n);
	struct path path = {.first = f->symbols.count};

	if (!frames || VEC_RESERVE(&f->symbols, n) || VEC_RESERVE(&f->paths, 1))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		bool is_known = frames[i].symbol->is_mark;

		for (size_t k = path.first; k < f->symbols.count && !is_known; k++)
			is_known = f->symbols.items[k] == frames[i].symbol->number + 1;
		if (!is_known)
			f->symbols.items[f->symbols.count++] = frames[i].symbol->number + 1;
	}
	path.count = (uint32_t)(f->symbols.count - path.first);
	f->paths.items[f->paths.count++] = path;
	return 0;
}

static int add_sample(void *arg, const struct store_sample *record)
{
	struct finder *f = arg;
	struct store_sample shown;
	uint32_t path;

	if (!profile_sample(f->profile, record, &shown))
		return 0;
	if (int_map_enter_wide(&f->by_path, shown.node, shown.origin << 8 | shown.end_reason,
			       (uint32_t)f->paths.count, &path) ||
	    VEC_RESERVE(&f->samples, 1))
		return -ENOMEM;
	if (path == f->paths.count && add_path(f, &shown))
		return -ENOMEM;
	f->samples.items[f->samples.count++] =
		(struct sample){.time_ns = record->time_ns, .thread = record->thread, .path = path};
	return 0;
}

static int add_waking(void *arg, const struct store_sample *record)
{
	struct finder *f = arg;

	f->has_waits = true;
	if (VEC_RESERVE(&f->wakings, 1))
		return -ENOMEM;
	f->wakings.items[f->wakings.count++] =
		(struct waking){.time_ns = record->time_ns, .thread = record->thread};
	return 0;
}

static int note_runnable(void *arg, const struct store_sample *record)
{
	struct finder *f = arg;

	(void)record;
	f->has_waits = true;
	return 0;
}

static int read_waits(struct finder *f)
{
	struct store_reader *reader = profile_reader(f->profile);
	int err = store_reader_all_records(reader, SERIES_WAIT_BLOCKED, add_waking, f);

	return err ? err : store_reader_all_records(reader, SERIES_WAIT_RUNNABLE, note_runnable, f);
}

static int wakings_by_thread(const void *a, const void *b)
{
	const struct waking *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Returns whether a thread was woken between two moments. Successive calls must be in the order of
 * `wakings`. */
static bool was_woken(struct finder *f, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct waking from = {.time_ns = from_ns, .thread = thread};
	const struct waking *next;

	while (f->next_waking < f->wakings.count &&
	       wakings_by_thread(&f->wakings.items[f->next_waking], &from) < 0)
		f->next_waking++;
	next = &f->wakings.items[f->next_waking];
	return f->next_waking < f->wakings.count && next->thread == thread &&
	       next->time_ns <= to_ns;
}

static int by_thread(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns the usual time between two samples of a thread: the median of all such times. */
static double sample_distance(struct finder *f)
{
	size_t n = 0;

	for (size_t i = 1; i < f->samples.count; i++) {
		const struct sample *s = &f->samples.items[i];

		if (s->thread == s[-1].thread)
			f->distances[n++] = (double)(s->time_ns - s[-1].time_ns);
	}
	if (!n)
		return 0;
	qsort(f->distances, n, sizeof(*f->distances), by_size);
	return f->distances[n / 2];
}

/* Returns the CPU time between two samples. That is the period if the event is a clock; the wall
 * time between samples is longer on a busy machine. For another event, only the wall time is
 * known. */
static double sample_cpu_time(const struct finder *f)
{
	const struct store_recording *r = &profile_tables(f->profile)->recording;
	const char *event = r->event ? r->event : "";

	if (!strcasestr(event, "cpu-clock") && !strcasestr(event, "cpu_clock"))
		return f->gap_ns;
	if (r->frequency_hz)
		return 1e9 / (double)r->frequency_hz;
	return r->period ? (double)r->period : f->gap_ns;
}

/* --- one function ----------------------------------------------------------------------------- */

/* Returns the middle of the narrowest range that has half of the sorted distances, where a range's
 * width is the ratio of its ends. */
static double densest(const double *sorted, size_t n)
{
	size_t half = n / 2, best = 0;

	for (size_t i = 1; i + half < n; i++) {
		if (sorted[i + half] * sorted[best] < sorted[best + half] * sorted[i])
			best = i;
	}
	return sorted[best + half / 2];
}

/* Returns 1 if a distance is near a length, 2 if it is near twice the length, else 0. */
static unsigned near(double distance, double length)
{
	if (fabs(distance - length) <= NEAR * length)
		return 1;
	return fabs(distance - 2 * length) <= NEAR * length ? 2 : 0;
}

/* Returns the period that these moments would make, with the figures by which is_period()
 * decides. */
static struct period judge(struct finder *f, const struct period_moment *moments, size_t n)
{
	struct period p = {0};
	size_t once = 0, twice = 0;
	double sum = 0, length;

	for (size_t i = 1; i < n; i++)
		f->distances[i - 1] = (double)(moments[i].sample - moments[i - 1].sample);
	qsort(f->distances, n - 1, sizeof(*f->distances), by_size);
	length = densest(f->distances, n - 1);
	for (size_t i = 0; i + 1 < n; i++) {
		unsigned times = near(f->distances[i], length);

		once += times == 1;
		twice += times == 2;
		sum += times ? f->distances[i] : 0;
	}
	p.passes = once;
	p.count = n;
	p.regular = (double)once / (double)(n - 1);
	if (p.regular >= ONCE)
		p.regular = (double)(once + twice) / (double)(n - 1);
	p.ns = once ? sum / (double)(once + 2 * twice) * f->periods->sample_ns : 0;
	p.covered = sum / (double)f->n_samples;
	return p;
}

/* Returns whether a candidate is a period. If not, *ret_lack is the first condition that it does
 * not meet. */
static bool is_period(const struct finder *f, const struct period *p, enum periods_lack *ret_lack)
{
	if (p->regular < PERIODS_REGULAR)
		*ret_lack = PERIODS_IRREGULAR;
	else if (p->ns < PERIODS_SAMPLES * f->periods->sample_ns)
		*ret_lack = PERIODS_SHORT;
	else if (p->passes < PERIODS_LEAST)
		*ret_lack = PERIODS_FEW;
	else if (p->covered < PERIODS_COVERED)
		*ret_lack = PERIODS_ELSEWHERE;
	else
		return true;
	return false;
}

static int keep(struct finder *f, struct period *p, const struct period_moment *moments, size_t n)
{
	struct periods *periods = f->periods;

	if (VEC_RESERVE(&periods->found, 1) || VEC_RESERVE(&periods->moments, n))
		return -ENOMEM;
	p->first = periods->moments.count;
	p->count = n;
	memcpy(periods->moments.items + p->first, moments, n * sizeof(*moments));
	periods->moments.count += n;
	periods->found.items[periods->found.count++] = *p;
	return 0;
}

/* Notes a candidate of pauses if it would be a period: the recording does not tell whether the
 * thread was blocked in them. */
static void look_at_pauses(struct finder *f, const struct period *p)
{
	enum periods_lack lack;

	if (is_period(f, p, &lack) && p->regular > f->periods->uncertain.regular)
		f->periods->uncertain = *p;
}

static int look_at(struct finder *f, uint32_t thread, uint32_t symbol,
		   const struct period_moment *moments, size_t n)
{
	struct period p, *missed = &f->periods->best_missed;
	enum periods_lack lack;

	if (n <= PERIODS_LEAST)
		return 0;
	p = judge(f, moments, n);
	p.thread = thread;
	p.marker = symbol ? profile_symbol_at(f->profile, symbol - 1) : NULL;
	if (!symbol && !f->has_waits) {
		look_at_pauses(f, &p);
		return 0;
	}
	if (is_period(f, &p, &lack))
		return keep(f, &p, moments, n);
	if (lack > f->periods->lack || (lack == f->periods->lack && p.regular > missed->regular)) {
		f->periods->lack = lack;
		*missed = p;
	}
	return 0;
}

/* --- one thread ------------------------------------------------------------------------------- */

static int begin(struct finder *f, uint32_t symbol, struct period_moment moment)
{
	if (VEC_RESERVE(&f->beginnings, 1))
		return -ENOMEM;
	f->beginnings.items[f->beginnings.count++] =
		(struct beginning){.moment = moment, .symbol = symbol};
	f->ends[symbol]++;
	return 0;
}

static int collect(struct finder *f, const struct sample *samples, size_t n)
{
	int err = 0;

	f->beginnings.count = 0;
	memset(f->last, 0, f->n_symbols * sizeof(*f->last));
	memset(f->ends, 0, f->n_symbols * sizeof(*f->ends));
	for (size_t i = 0; i < n && !err; i++) {
		const struct path *path = &f->paths.items[samples[i].path];
		const uint64_t gap = i ? samples[i].time_ns - samples[i - 1].time_ns : 0;
		const bool is_gap = (double)gap > PAUSE * f->gap_ns;
		const bool is_pause = is_gap && (!f->has_waits || was_woken(f, samples[i].thread,
									    samples[i - 1].time_ns,
									    samples[i].time_ns));
		const struct period_moment moment = {samples[i].time_ns - gap / 2, (uint32_t)i};

		if (is_pause)
			err = begin(f, 0, moment);
		for (uint32_t k = 0; k < path->count && !err; k++) {
			const uint32_t symbol = f->symbols.items[path->first + k];

			if (i && f->last[symbol] != i)
				err = begin(f, symbol, moment);
			f->last[symbol] = (uint32_t)i + 1;
		}
	}
	return err;
}

/* Sorts the beginnings by symbol into `moments`, with a counting sort. On entry, ends[i] is the
 * number of beginnings of symbol i; on return, the index at which its moments end. */
static void sort(struct finder *f)
{
	size_t sum = 0;

	for (size_t i = 0; i < f->n_symbols; i++) {
		const size_t n = f->ends[i];

		f->ends[i] = sum;
		sum += n;
	}
	for (size_t i = 0; i < f->beginnings.count; i++) {
		const struct beginning *b = &f->beginnings.items[i];

		f->moments[f->ends[b->symbol]++] = b->moment;
	}
}

static int look_at_thread(struct finder *f, const struct sample *samples, size_t n)
{
	size_t from = 0;
	int err = collect(f, samples, n);

	if (err)
		return err;
	f->n_samples = n;
	free(f->moments);
	f->moments = calloc(f->beginnings.count + 1, sizeof(*f->moments));
	free(f->distances);
	f->distances = calloc(f->beginnings.count + 1, sizeof(*f->distances));
	if (!f->moments || !f->distances)
		return -ENOMEM;
	sort(f);
	for (uint32_t symbol = 0; symbol < f->n_symbols && !err; symbol++) {
		err = look_at(f, samples[0].thread, symbol, f->moments + from,
			      f->ends[symbol] - from);
		from = f->ends[symbol];
	}
	return err;
}

/* --- all threads ------------------------------------------------------------------------------ */

/* Compares candidates: if two are about equally regular, the shorter one, which has more passes,
 * comes first. */
static int by_goodness(const void *a, const void *b)
{
	const struct period *x = a, *y = b;

	if (fabs(x->regular - y->regular) >= AS_GOOD)
		return x->regular > y->regular ? -1 : 1;
	if (x->passes != y->passes)
		return x->passes > y->passes ? -1 : 1;
	return x->covered > y->covered ? -1 : x->covered < y->covered;
}

/* Moves the best candidate to the front. The others stay unsorted, because "about equally regular"
 * is not transitive, so there is no order of all. */
static void choose(struct periods *p)
{
	for (size_t i = 1; i < p->found.count; i++) {
		if (by_goodness(&p->found.items[i], &p->found.items[0]) < 0) {
			const struct period best = p->found.items[i];

			p->found.items[i] = p->found.items[0];
			p->found.items[0] = best;
		}
	}
}

static int search(struct finder *f)
{
	size_t n = f->samples.count, end;
	int err = 0;

	f->n_symbols = profile_symbol_count(f->profile) + 1;
	f->last = calloc(f->n_symbols, sizeof(*f->last));
	f->ends = calloc(f->n_symbols, sizeof(*f->ends));
	f->distances = calloc(n + 1, sizeof(*f->distances));
	if (!f->last || !f->ends || !f->distances)
		return -ENOMEM;
	qsort(f->samples.items, n, sizeof(*f->samples.items), by_thread);
	if (f->wakings.count)
		qsort(f->wakings.items, f->wakings.count, sizeof(*f->wakings.items),
		      wakings_by_thread);
	f->gap_ns = sample_distance(f);
	f->periods->sample_ns = sample_cpu_time(f);
	for (size_t i = 0; i < n && !err; i = end) {
		for (end = i + 1; end < n; end++) {
			if (f->samples.items[end].thread != f->samples.items[i].thread)
				break;
		}
		err = look_at_thread(f, f->samples.items + i, end - i);
	}
	return err;
}

int periods_find(struct profile *profile, struct periods *ret_periods)
{
	struct finder f = {.profile = profile, .periods = ret_periods};
	int err;

	*ret_periods = (struct periods){0};
	err = store_reader_samples(profile_reader(profile), add_sample, &f);
	if (!err)
		err = read_waits(&f);
	if (!err && f.samples.count)
		err = search(&f);
	choose(ret_periods);
	free(f.samples.items);
	free(f.wakings.items);
	free(f.paths.items);
	free(f.symbols.items);
	free(f.beginnings.items);
	free(f.last);
	free(f.ends);
	free(f.moments);
	free(f.distances);
	int_map_fini(&f.by_path);
	return err;
}

void periods_free(struct periods *p)
{
	free(p->found.items);
	free(p->moments.items);
	*p = (struct periods){0};
}

static int name_passes(const struct period *period, struct passes *passes)
{
	if (asprintf(&passes->name, "period of %s",
		     period->marker ? period->marker->name : "pauses") < 0) {
		passes->name = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int add_passes(const struct periods *periods, const struct period *period,
		      struct passes *passes, uint64_t *ret_left_out)
{
	const struct period_moment *moments = periods->moments.items + period->first;

	*ret_left_out = 0;
	for (size_t i = 1; i < period->count; i++) {
		const double ns =
			(double)(moments[i].sample - moments[i - 1].sample) * periods->sample_ns;

		if (near(ns, period->ns) != 1) {
			++*ret_left_out;
			continue;
		}
		if (VEC_RESERVE(&passes->all, 1))
			return -ENOMEM;
		passes->all.items[passes->all.count++] =
			(struct pass){.start_ns = moments[i - 1].time_ns,
				      .end_ns = moments[i].time_ns,
				      .thread = period->thread,
				      .cpu_ns = (uint64_t)ns,
				      .total[0] = (uint64_t)ns,
				      .known = 1};
	}
	return 0;
}

/* Sets the samples' places in their passes: at equal distances, the first one at random within the
 * first distance. Samples are in order of time, so the samples of a pass are, too. Returns 0 or
 * -ENOMEM. */
static int place_samples(struct passes *passes)
{
	uint32_t *seen = calloc(passes->all.count + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < passes->samples.count; i++) {
		struct pass_sample *s = &passes->samples.items[i];
		const double first = (double)(hash_mix64(s->pass + 1) >> 11) / 9007199254740992.0;

		s->y[0] = (float)((seen[s->pass]++ + first) / passes->all.items[s->pass].samples);
		s->known = 1;
	}
	free(seen);
	return 0;
}

int periods_passes(const struct periods *periods, const struct period *period,
		   struct profile *profile, struct passes *ret_passes, uint64_t *ret_left_out)
{
	int err;

	*ret_passes = (struct passes){0};
	err = name_passes(period, ret_passes);
	if (!err)
		err = add_passes(periods, period, ret_passes, ret_left_out);
	if (!err)
		err = passes_fill(profile, ret_passes);
	if (!err)
		err = place_samples(ret_passes);
	if (err)
		return err;
	ret_passes->counters[0] = strdup("cpu");
	return ret_passes->counters[0] ? 0 : -ENOMEM;
}
