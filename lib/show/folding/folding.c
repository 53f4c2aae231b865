/* SPDX-License-Identifier: MIT */
/* Puts samples on the axis of a pass, and fits the curves of counters; see folding.h. */
#include "folding/folding.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fold_math/increments.h"
#include "folding/folding_routines.h"

static const char cpu_name[] = "cpu";

/* --- the axis --------------------------------------------------------------------------------- */

/* Returns the index of the counter of CPU time; METRIC_COUNTERS: there is none. */
static unsigned find_cpu(const struct passes *p)
{
	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		if (p->counters[i] && !strcmp(p->counters[i], cpu_name))
			return i;
	}
	return METRIC_COUNTERS;
}

static double place_of(const struct folding *f, unsigned cpu, const struct pass_sample *sample)
{
	if (!f->is_cpu_time)
		return passes_x(&f->passes, sample);
	return sample->known >> cpu & 1 ? sample->y[cpu] : NAN;
}

/* Returns the length of a pass on the axis, in ns. */
static double length_of(const struct folding *f, unsigned cpu, const struct pass *pass)
{
	return f->is_cpu_time ? (double)pass->total[cpu] : (double)(pass->end_ns - pass->start_ns);
}

static int set_axis(struct folding *f, enum folding_time time)
{
	const struct passes *p = &f->passes;
	const unsigned cpu = find_cpu(&f->passes);

	if (time == FOLDING_CPU && cpu == METRIC_COUNTERS)
		return -ENOTSUP;
	f->is_cpu_time = time != FOLDING_WALL && cpu < METRIC_COUNTERS;
	f->x = calloc(p->samples.count + 1, sizeof(*f->x));
	if (!f->x)
		return -ENOMEM;
	for (size_t i = 0; i < p->samples.count; i++) {
		f->x[i] = place_of(f, cpu, &p->samples.items[i]);
		f->samples += !isnan(f->x[i]);
	}
	for (size_t i = 0; i < p->all.count; i++) {
		const struct pass *pass = &p->all.items[i];

		f->mean_ns += length_of(f, cpu, pass) / (double)p->all.count;
		f->mean_wall_ns += (double)(pass->end_ns - pass->start_ns) / (double)p->all.count;
	}
	return f->samples ? 0 : -ENODATA;
}

static int test_uniform(struct folding *f)
{
	double *x = calloc(f->samples, sizeof(*x));
	size_t n = 0;
	int err;

	if (!x)
		return -ENOMEM;
	for (size_t i = 0; i < f->passes.samples.count; i++) {
		if (!isnan(f->x[i]))
			x[n++] = f->x[i];
	}
	err = fold_uniform_test(x, n, &f->uniform);
	free(x);
	return err;
}

/* --- counters --------------------------------------------------------------------------------- */

/* Sets the mean total of a counter, and the weights of passes. A pass has samples in proportion to
 * its length, but its share of the sum is its total, so its weight is total / length. */
static void weigh(const struct folding *f, unsigned index, struct folding_counter *counter,
		  double *weights)
{
	const struct passes *p = &f->passes;
	const unsigned cpu = find_cpu(&f->passes);
	double sum = 0, length = 0;

	for (size_t i = 0; i < p->all.count; i++) {
		const struct pass *pass = &p->all.items[i];
		double long_is = length_of(f, cpu, pass);

		weights[i] = 0;
		if (!(pass->known >> index & 1) || pass->falls >> index & 1 || long_is <= 0)
			continue;
		counter->passes++;
		sum += (double)pass->total[index];
		length += long_is;
		weights[i] = (double)pass->total[index] / long_is;
	}
	if (counter->passes)
		counter->mean = sum / (double)counter->passes;
	if (length > 0)
		counter->per_second = sum / length * 1e9;
}

static int fit(struct folding *f, unsigned index, const struct folding_options *options,
	       struct folding_counter *counter)
{
	const struct passes *p = &f->passes;
	struct fold_point *points = calloc(p->samples.count + 1, sizeof(*points));
	double *weights = calloc(p->all.count + 1, sizeof(*weights));
	size_t n = 0;

	if (!points || !weights) {
		free(points);
		free(weights);
		return -ENOMEM;
	}
	weigh(f, index, counter, weights);
	for (size_t i = 0; i < p->samples.count; i++) {
		const struct pass_sample *sample = &p->samples.items[i];

		if (!isnan(f->x[i]) && sample->known >> index & 1)
			points[n++] = (struct fold_point){
				.x = f->x[i], .y = sample->y[index], .instance = sample->pass};
	}
	counter->error = fold_curve_fit(points, n,
					&(struct fold_options){.seed = options->seed,
							       .weights = weights,
							       .n_weights = (uint32_t)p->all.count},
					&counter->curve);
	free(points);
	free(weights);
	return counter->error == -ENOMEM ? -ENOMEM : 0;
}

/* Fits the curve, over wall time, of a counter of which only increments are known. */
static int fit_increments(struct folding *f, unsigned index, const struct folding_options *options,
			  struct folding_counter *counter)
{
	const struct passes *p = &f->passes;
	const struct pass_increments *from = &p->increments[index];
	struct fold_increment *increments = calloc(from->count, sizeof(*increments));
	double *lengths = calloc(p->all.count + 1, sizeof(*lengths));
	int err = increments && lengths ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->all.count && !err; i++)
		lengths[i] = (double)(p->all.items[i].end_ns - p->all.items[i].start_ns);
	for (size_t i = 0; i < from->count && !err; i++) {
		const struct pass_increment *k = &from->items[i];
		const double ran = (double)k->counted / METRIC_COUNTED;

		increments[i] = (struct fold_increment){
			.from = k->from,
			.to = k->to,
			.outside = (double)k->outside_ns,
			.value = (double)k->value / ran,
			.ran = ran,
			.first = k->first,
			.last = k->last,
			.follows = i && from->items[i - 1].until_ns == k->since_ns &&
				   from->items[i - 1].last == k->first};
	}
	counter->increments = from->count;
	counter->passes = p->all.count;
	if (!err)
		counter->error = fold_increments_fit(
			increments, from->count, lengths, (uint32_t)p->all.count,
			&(struct fold_options){.seed = options->seed}, &counter->curve,
			&counter->mean, &counter->whole);
	if (counter->curve)
		counter->per_second = counter->mean / f->mean_wall_ns * 1e9;
	free(increments);
	free(lengths);
	return err ? err : counter->error == -ENOMEM ? -ENOMEM : 0;
}

static int fit_counters(struct folding *f, const struct folding_options *options)
{
	const unsigned cpu = find_cpu(&f->passes);
	int err = 0;

	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++) {
		struct folding_counter *counter = &f->counters[f->n_counters];

		if (!f->passes.counters[i] || (i == cpu && f->is_cpu_time))
			continue;
		counter->name = f->passes.counters[i];
		err = f->passes.increments[i].count ? fit_increments(f, i, options, counter)
						    : fit(f, i, options, counter);
		f->n_counters++;
	}
	return err;
}

/* Returns whether a counter's rate differs between phases: on average by a tenth of its mean. */
static bool does_change(const struct folding_counter *c)
{
	double sum = 0;

	for (uint32_t i = 0; i < c->curve->n_phases; i++) {
		const struct fold_phase *p = &c->curve->phases[i];

		sum += fabs(p->rate.value - 1) * (p->to.value - p->from.value);
	}
	return sum > 0.1;
}

/* Returns a rank for choosing the counter whose phases are shown: the highest wins. */
static int rank_of(const struct folding_counter *c)
{
	if (!c->curve)
		return 0;
	return !strcmp(c->name, cpu_name) ? 1 : does_change(c) ? 3 : 2;
}

/* Moves the counter with the highest rank to the front: a counter whose rate changes, else any with
 * a curve, but CPU time only if no other has one. */
static void order_counters(struct folding *f)
{
	unsigned best = 0;

	for (unsigned i = 1; i < f->n_counters; i++) {
		if (rank_of(&f->counters[i]) > rank_of(&f->counters[best]))
			best = i;
	}
	for (; best; best--) {
		struct folding_counter swapped = f->counters[best];

		f->counters[best] = f->counters[best - 1];
		f->counters[best - 1] = swapped;
	}
}

/* --- entry points ----------------------------------------------------------------------------- */

int folding_new(struct profile *profile, struct passes *passes,
		const struct folding_options *options, struct folding **ret_folding)
{
	struct folding *f = calloc(1, sizeof(*f));
	int err;

	if (!f) {
		passes_free(passes);
		return -ENOMEM;
	}
	f->passes = *passes;
	*passes = (struct passes){0};
	err = f->passes.samples.count ? set_axis(f, options->time) : -ENODATA;
	if (!err)
		err = test_uniform(f);
	if (!err)
		err = fit_counters(f, options);
	if (!err) {
		order_counters(f);
		err = folding_find_routines(f, profile);
	}
	if (err) {
		folding_free(f);
		return err;
	}
	*ret_folding = f;
	return 0;
}

const char *folding_unit(const struct folding *folding)
{
	return folding->passes.are_bursts ? "bursts" : "passes";
}

void folding_free(struct folding *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->n_counters; i++)
		fold_curve_free(f->counters[i].curve);
	free(f->lines);
	free(f->phases);
	free(f->frames);
	free(f->x);
	passes_free(&f->passes);
	free(f);
}

/* --- groups ----------------------------------------------------------------------------------- */

#define MOST_CALLERS 8 /* caller paths that get a value each; all other paths share one value */

struct features {
	double *values[METRIC_COUNTERS + 2]; /* by feature, then pass */
	uint32_t n;
};

static double *add_feature(struct features *features, size_t passes)
{
	double *values = calloc(passes + 1, sizeof(*values));

	if (values)
		features->values[features->n++] = values;
	return values;
}

/* Adds the callers of passes as a feature. Features are compared by ratio, so each path gets
 * another power of ten as its value. Returns 0 or -ENOMEM. */
static int add_callers(const struct passes *p, struct features *features)
{
	double *values = add_feature(features, p->all.count);
	uint32_t nodes[MOST_CALLERS];
	unsigned n = 0;

	for (size_t i = 0; values && i < p->all.count; i++) {
		unsigned at = 0;

		while (at < n && nodes[at] != p->all.items[i].node)
			at++;
		if (at == n && n < MOST_CALLERS)
			nodes[n++] = p->all.items[i].node;
		values[i] = pow(10, at);
	}
	return values ? 0 : -ENOMEM;
}

/* Returns whether passes can be compared by a counter: at least nine in ten have a known total of
 * it. Otherwise the missing totals of a multiplexed counter would make a group of their own. */
static bool is_compared(const struct passes *p, unsigned counter)
{
	size_t known = 0;

	if (!p->counters[counter])
		return false;
	for (size_t i = 0; i < p->all.count; i++)
		known += p->all.items[i].known >> counter & 1;
	return known >= p->all.count - p->all.count / 10;
}

static int add_features(const struct passes *p, enum folding_time time, struct features *features)
{
	const unsigned cpu = find_cpu(p);
	const bool is_cpu = time != FOLDING_WALL && cpu < METRIC_COUNTERS;
	double *values = add_feature(features, p->all.count);

	for (size_t i = 0; values && i < p->all.count; i++) {
		const struct pass *pass = &p->all.items[i];

		values[i] =
			is_cpu ? (double)pass->total[cpu] : (double)(pass->end_ns - pass->start_ns);
	}
	for (unsigned k = 0; values && k < METRIC_COUNTERS; k++) {
		if (k == cpu || !is_compared(p, k))
			continue;
		values = add_feature(features, p->all.count);
		for (size_t i = 0; values && i < p->all.count; i++)
			values[i] = p->all.items[i].falls >> k & 1
					    ? 0
					    : (double)p->all.items[i].total[k];
	}
	return values ? add_callers(p, features) : -ENOMEM;
}

int folding_groups(const struct passes *passes, enum folding_time time,
		   struct fold_modes **ret_groups)
{
	struct features features = {0};
	int err = passes->all.count ? add_features(passes, time, &features) : -ENODATA;

	if (!err)
		err = fold_modes_find((const double *const *)features.values, features.n,
				      (uint32_t)passes->all.count, ret_groups);
	for (uint32_t i = 0; i < features.n; i++)
		free(features.values[i]);
	return err;
}
