/* SPDX-License-Identifier: MIT */
/*
 * Iterates, places the readings, and widens the bands; see increments.h. The constants below were
 * chosen by hand with the first ten curves of tests/unit/fold_truth.h (bench/fold_fit increments).
 */
#include "fold_math/increments.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fold_math/jackknife.h"

#define CELLS	   FOLD_JACKKNIFE_CELLS
#define ITERATIONS 200u
/* LAST: iterations over all increments, after the others were over FEW of them; if there are no
 * more than FEW, all are over all */
#define LAST 10u
#define FEW  30000u
/* iterations with one group of instances left out; they begin with the curve of all groups */
#define AGAIN 20u
/* The factors of the instances are estimated once in so many iterations. */
#define EACH_FACTOR 10u
/* how strongly a factor is pulled to 1: like this share of a mean instance's count */
#define FIRM .05
/* An increment counts as whole if the counter counted for at least this share of its time. */
#define WHOLE .98
/* If whole increments together cover so many instances, no scaled ones are used. */
#define LEAST_WHOLE 20.0
/* the longest that increments that are scaled up may be, in lengths of an instance */
#define MOST_SCALED .25
#define FITS	    3u
#define MOST_ON	    .99
#define LEAST_KEPT  .1

struct estimate {
	const struct fold_increment *increments;
	size_t n;
	/* least share of its time in which the counter must have counted for an increment to be
	 * used */
	double whole;
	const double *lengths;
	uint32_t n_lengths;
	double mean_length;
	double *factor; /* by instance: its count, by what the curve expects */
	/* by instance: `seen`, what its increments should count according to the curve; `was`, what
	 * they count */
	double *seen, *was;
	double y[CELLS + 1];
	/* by cell: the counter's rate per unit of time; last element: its rate between instances */
	double rate[CELLS + 1];
	/* by cell: `result`, the rate that the last iteration gave; `moved`, how far that is from
	 * the rate before */
	double result[CELLS + 1], moved[CELLS + 1];
	bool is_moving;
	/* sums over increments, kept as differences between adjacent cells */
	double more[CELLS + 1], all[CELLS + 1];
	double edge_more[CELLS], edge_all[CELLS];
	double outside_more, outside_all;
};

/* Returns the weight of an increment in an iteration; 0 leaves it out. */
static double weight_of(const struct estimate *e, const struct fold_increment *i)
{
	return i->ran >= e->whole ? i->ran : 0;
}

static double rise(const struct estimate *e, double from, double to)
{
	double a = from * CELLS, b = to * CELLS;
	uint32_t i = a < CELLS ? (uint32_t)a : CELLS - 1, k = b < CELLS ? (uint32_t)b : CELLS - 1;

	return e->y[k] + (b - k) * (e->y[k + 1] - e->y[k]) - e->y[i] -
	       (a - i) * (e->y[i + 1] - e->y[i]);
}

/* Adds `value` times the overlap of [from, to) with each cell to the cells' sums, which are kept as
 * differences, with `edge` for the first and last cell. */
static void spread(double *differences, double *edge, double from, double to, double value)
{
	double a = from * CELLS, b = to * CELLS;
	uint32_t i = a < CELLS ? (uint32_t)a : CELLS - 1, k = b < CELLS ? (uint32_t)b : CELLS - 1;

	if (i == k) {
		edge[i] += value * (b - a);
		return;
	}
	edge[i] += value * (i + 1 - a);
	edge[k] += value * (b - k);
	differences[i + 1] += value;
	differences[k] -= value;
}

/* Loops over the instances of an increment, and over the part of each: from `begin` to `end`. */
#define PARTS(i, instance, begin, end)                                                             \
	for (uint32_t instance = (i)->first; instance <= (i)->last; instance++)                    \
		for (double begin = instance == (i)->first ? (i)->from : 0,                        \
			    end = instance == (i)->last ? (i)->to : 1, once = 1;                   \
		     once > 0; once = 0)

static double mass(const struct estimate *e, uint32_t instance)
{
	return e->lengths[instance] * e->factor[instance];
}

static double expected(const struct estimate *e, const struct fold_increment *i)
{
	double sum = i->outside * e->rate[CELLS];

	PARTS(i, instance, begin, end) sum += mass(e, instance) * rise(e, begin, end);
	return sum;
}

/* Sets y to the integral of the rate over x: y[c] is what an instance of length 1 counts up to cell
 * c. */
static void integrate(struct estimate *e)
{
	e->y[0] = 0;
	for (uint32_t c = 0; c < CELLS; c++)
		e->y[c + 1] = e->y[c] + e->rate[c] / CELLS;
}

static void begin_sums(struct estimate *e)
{
	memset(e->more, 0, sizeof(e->more));
	memset(e->all, 0, sizeof(e->all));
	memset(e->edge_more, 0, sizeof(e->edge_more));
	memset(e->edge_all, 0, sizeof(e->edge_all));
	e->outside_more = e->outside_all = 0;
}

static void add(struct estimate *e, const struct fold_increment *i)
{
	double w = weight_of(e, i), is = w > 0 ? expected(e, i) : 0;
	double ratio = is > 0 ? i->value / is : 0;

	if (w <= 0)
		return;
	PARTS(i, instance, begin, end)
	{
		double m = w * mass(e, instance);

		spread(e->more, e->edge_more, begin, end, m * ratio);
		spread(e->all, e->edge_all, begin, end, m);
	}
	e->outside_more += w * i->outside * ratio;
	e->outside_all += w * i->outside;
}

/* Extrapolates the iteration in the direction of its last step, as far as it keeps that direction
 * (Biggs and Andrews 1997): a hundred iterations then do the work of thousands. */
static void accelerate(struct estimate *e, const double *result)
{
	double same = 0, square = 0, on;

	for (uint32_t c = 0; c <= CELLS; c++) {
		double moved = result[c] - e->rate[c];

		same += moved * e->moved[c];
		square += e->moved[c] * e->moved[c];
		e->moved[c] = moved;
	}
	on = e->is_moving && square > 0 ? fmin(MOST_ON, fmax(0, same / square)) : 0;
	for (uint32_t c = 0; c <= CELLS; c++) {
		double next = result[c] + on * (result[c] - e->result[c]);

		e->rate[c] = fmax(next, result[c] * LEAST_KEPT);
		e->result[c] = result[c];
	}
	e->is_moving = true;
}

static void iterate(struct estimate *e, const uint8_t *group_of, uint32_t without)
{
	double result[CELLS + 1];
	double more = 0, all = 0;

	begin_sums(e);
	for (size_t k = 0; k < e->n; k++) {
		if (!group_of || group_of[e->increments[k].first] != without)
			add(e, &e->increments[k]);
	}
	for (uint32_t c = 0; c < CELLS; c++) {
		more += e->more[c];
		all += e->all[c];
		result[c] = e->rate[c];
		if (all + e->edge_all[c] > 1e-9 * e->mean_length)
			result[c] *= (more + e->edge_more[c]) / (all + e->edge_all[c]);
	}
	result[CELLS] = e->rate[CELLS];
	if (e->outside_all > 0)
		result[CELLS] *= e->outside_more / e->outside_all;
	accelerate(e, result);
	integrate(e);
}

/* Estimates the factor of each instance: the count of its increments, divided by the count that the
 * curve expects. */
static void find_factors(struct estimate *e)
{
	double firm = FIRM * e->mean_length * e->y[CELLS], sum = 0, lengths = 0;

	memset(e->seen, 0, e->n_lengths * sizeof(*e->seen));
	memset(e->was, 0, e->n_lengths * sizeof(*e->was));
	for (size_t k = 0; k < e->n; k++) {
		const struct fold_increment *i = &e->increments[k];

		if (i->first != i->last || weight_of(e, i) <= 0)
			continue;
		e->was[i->first] += i->ran * i->value;
		e->seen[i->first] += i->ran * e->lengths[i->first] * rise(e, i->from, i->to);
	}
	for (uint32_t i = 0; i < e->n_lengths; i++) {
		e->factor[i] = (e->was[i] + firm) / (e->seen[i] + firm);
		sum += e->factor[i] * e->lengths[i];
		lengths += e->lengths[i];
	}
	for (uint32_t i = 0; i < e->n_lengths; i++)
		e->factor[i] *= lengths / sum;
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* Chooses the increments from which the curve is made: only whole ones, if there are enough. Scaled
 * ones are usable only if they are short compared with an instance. Returns 0; -ENODATA: they are
 * not. */
static int choose(struct estimate *e, size_t *ret_whole)
{
	double whole = 0, all = 0;

	*ret_whole = 0;
	for (size_t k = 0; k < e->n; k++) {
		const struct fold_increment *i = &e->increments[k];
		double time = 0;

		PARTS(i, instance, begin, end) time += e->lengths[instance] * (end - begin);
		all += time;
		if (i->ran < WHOLE)
			continue;
		++*ret_whole;
		whole += time;
	}
	if (whole >= LEAST_WHOLE * e->mean_length) {
		e->whole = WHOLE;
		return 0;
	}
	*ret_whole = 0;
	return all <= MOST_SCALED * e->mean_length * (double)e->n ? 0 : -ENODATA;
}

/* Guesses the rates for the first iteration: within instances, the mean rate of increments that lie
 * in one instance; between instances, by how much the other increments exceed that rate. */
static void guess(struct estimate *e)
{
	/* [0]: increments within one instance; [1]: the others */
	double value[2] = {0}, time[2] = {0}, outside = 0, rate;

	for (size_t k = 0; k < e->n; k++) {
		const struct fold_increment *i = &e->increments[k];
		const bool is_other = i->outside > 0;
		double w = weight_of(e, i);

		value[is_other] += w * i->value;
		outside += w * i->outside;
		PARTS(i, instance, begin, end)
		time[is_other] += w * e->lengths[instance] * (end - begin);
	}
	if (time[0] > 0)
		rate = value[0] / time[0];
	else
		rate = value[1] / (time[1] + outside);
	for (uint32_t c = 0; c < CELLS; c++)
		e->rate[c] = rate;
	e->rate[CELLS] = outside > 0 ? (value[1] - rate * time[1]) / outside : rate;
	e->rate[CELLS] = fmax(e->rate[CELLS], rate * LEAST_KEPT);
	integrate(e);
}

static int begin(struct estimate *e)
{
	double sum = 0;

	e->factor = calloc(e->n_lengths + 1, sizeof(*e->factor));
	e->seen = calloc(e->n_lengths + 1, sizeof(*e->seen));
	e->was = calloc(e->n_lengths + 1, sizeof(*e->was));
	if (!e->factor || !e->seen || !e->was)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->n_lengths; i++) {
		e->factor[i] = 1;
		sum += e->lengths[i];
	}
	e->mean_length = e->n_lengths ? sum / e->n_lengths : 0;
	return e->mean_length > 0 ? 0 : -ENODATA;
}

static void release(struct estimate *e)
{
	free(e->factor);
	free(e->seen);
	free(e->was);
}

/* --- points ----------------------------------------------------------------------------------- */

/* Connected readings: the ends of increments from..upto - 1. */
struct chain {
	size_t from, upto;
};

/* Finds the next chain. Returns false if there is none. */
static bool next_chain(const struct estimate *e, struct chain *chain)
{
	size_t k = chain->upto;

	while (k < e->n && weight_of(e, &e->increments[k]) <= 0)
		k++;
	chain->from = k;
	if (k == e->n)
		return false;
	for (k++; k < e->n; k++) {
		if (!e->increments[k].follows || weight_of(e, &e->increments[k]) <= 0)
			break;
	}
	chain->upto = k;
	return true;
}

/* Returns the value of `curve` at x; if it is NULL, of the iteration's curve. */
static double at(const struct estimate *e, const struct fold_curve *curve, double x)
{
	return curve ? fold_curve_at(curve, x) : rise(e, 0, x) / e->y[CELLS];
}

/* A reading of a chain (connected increments), relative to the chain's begin: `before` is the
 * expected value at the begin of the reading's instance, `is` the value at the reading. */
struct reading {
	double x, before, is;
	uint32_t instance;
};

static void step(const struct estimate *e, const struct fold_increment *i, struct reading *r)
{
	for (uint32_t instance = i->first; instance < i->last; instance++)
		r->before += mass(e, instance) * e->y[CELLS];
	r->before += i->outside * e->rate[CELLS];
	r->is += i->value;
	r->x = i->to;
	r->instance = i->last;
}

/* Places a chain's readings on the curve where they fit best. */
static size_t lay(const struct estimate *e, const struct fold_curve *curve,
		  const struct chain *chain, struct fold_point *points)
{
	const struct fold_increment *first = &e->increments[chain->from];
	const size_t n = chain->upto - chain->from + 1;
	const struct reading start = {.x = first->from, .instance = first->first};
	struct reading r = start;
	double moved = 0;

	for (size_t k = 0; k < n; k++) {
		if (k)
			step(e, &first[k - 1], &r);
		moved += r.before + mass(e, r.instance) * e->y[CELLS] * at(e, curve, r.x) - r.is;
	}
	moved /= (double)n;
	r = start;
	for (size_t k = 0; k < n; k++) {
		if (k)
			step(e, &first[k - 1], &r);
		points[k] = (struct fold_point){
			r.x, (r.is + moved - r.before) / (mass(e, r.instance) * e->y[CELLS]),
			r.instance};
		points[k].y = fmin(1, fmax(0, points[k].y));
	}
	return n;
}

static size_t make_points(const struct estimate *e, const struct fold_curve *curve,
			  struct fold_point *points)
{
	struct chain chain = {0};
	size_t n = 0;

	while (next_chain(e, &chain))
		n += lay(e, curve, &chain, &points[n]);
	return n;
}

/* Fits a curve to the readings, which are placed on `curve` (NULL: the iteration's curve), and
 * moved back by `bias`, the bias of that curve (NULL: unknown). Returns 0 or an error of
 * fold_curve_fit(). */
static int fit_points(const struct estimate *e, const struct fold_options *options,
		      const struct fold_curve *curve, const double *bias,
		      struct fold_curve **ret_curve)
{
	struct fold_point *points = calloc(2 * e->n + 1, sizeof(*points));
	struct fold_options o = *options;
	size_t n = points ? make_points(e, curve, points) : 0;
	int err = -ENOMEM;

	for (size_t k = 0; k < n && bias; k++)
		points[k].y = fmin(1, fmax(0, points[k].y - fold_jackknife_at(bias, points[k].x)));
	o.weights = e->factor;
	o.n_weights = e->n_lengths;
	if (points)
		err = fold_curve_fit(points, n, &o, ret_curve);
	free(points);
	return err;
}

/* Fits a curve without bands, FITS times: first to readings placed on the iteration's curve, then
 * to readings placed on the curve of the fit before. Returns 0 or an error of fold_curve_fit(). */
static int fit(const struct estimate *e, const struct fold_options *options,
	       struct fold_curve **ret_curve)
{
	struct fold_options o = *options;
	struct fold_curve *curve = NULL, *next;
	int err = 0;

	o.no_bands = true;
	for (unsigned i = 0; i < FITS && !err; i++) {
		err = fit_points(e, &o, curve, NULL, &next);
		fold_curve_free(curve);
		curve = err ? NULL : next;
	}
	*ret_curve = curve;
	return err;
}

/* --- the spread and the bias ------------------------------------------------------------------ */

static int leave_out(struct estimate *e, uint64_t seed, struct fold_jackknife *j)
{
	struct estimate *again = malloc(sizeof(*again));
	uint8_t *group_of = calloc(e->n_lengths + 1, sizeof(*group_of));
	int err = again && group_of ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < e->n_lengths && !err; i++)
		group_of[i] = (uint8_t)(hash_mix64(hash_mix64(seed) + i) % FOLD_JACKKNIFE);
	for (uint32_t g = 0; g < FOLD_JACKKNIFE && !err; g++) {
		*again = *e;
		again->is_moving = false;
		for (unsigned i = 0; i < AGAIN; i++)
			iterate(again, group_of, g);
		for (uint32_t c = 0; c <= CELLS; c++)
			j->y[g][c] = again->y[c] / again->y[CELLS];
	}
	free(again);
	free(group_of);
	return err;
}

/* --- entry point ------------------------------------------------------------------------------ */

static void iterate_all(struct estimate *e, unsigned times)
{
	e->is_moving = false;
	for (unsigned i = 0; i < times; i++) {
		if (i % EACH_FACTOR == EACH_FACTOR / 2) {
			find_factors(e);
			e->is_moving = false;
		}
		iterate(e, NULL, 0);
	}
}

/* Copies the increments of one instance in so many that about FEW remain, for steps that are
 * repeated often. Returns 0 or -ENOMEM. */
static int take_few(const struct estimate *e, struct fold_increment **ret_few, size_t *ret_n)
{
	const uint64_t each = e->n / FEW + 1;
	struct fold_increment *few = calloc(e->n / each * 2 + FEW, sizeof(*few));
	size_t n = 0;

	if (!few)
		return -ENOMEM;
	for (size_t k = 0; k < e->n && n < e->n / each * 2 + FEW; k++) {
		if (hash_mix64(e->increments[k].first) % each == 0)
			few[n++] = e->increments[k];
	}
	*ret_few = few;
	*ret_n = n;
	return 0;
}

/* Finds the iteration's curve and its spread: first iterates over few increments, then over all. */
static int estimate(struct estimate *e, const struct fold_options *options,
		    struct fold_jackknife *j)
{
	const struct fold_increment *all = e->increments;
	const size_t n = e->n;
	struct fold_increment *few;
	int err = take_few(e, &few, &e->n);

	if (err)
		return err;
	e->increments = few;
	guess(e);
	if (e->y[CELLS] > 0)
		iterate_all(e, ITERATIONS);
	else
		err = -ENODATA;
	if (!err && !options->no_bands)
		err = leave_out(e, options->seed, j);
	j->part = (double)e->n / (double)n;
	e->increments = all;
	e->n = n;
	free(few);
	if (!err && j->part < 1)
		iterate_all(e, LAST);
	return err;
}

/* Replaces the values of increments by the values that a curve implies. */
static void imply(struct estimate *e, const struct fold_curve *curve,
		  struct fold_increment *increments)
{
	for (uint32_t c = 0; c <= CELLS; c++)
		e->y[c] = e->y[CELLS] * fold_curve_at(curve, (double)c / CELLS);
	for (size_t k = 0; k < e->n; k++)
		increments[k].value = expected(e, &increments[k]);
	e->increments = increments;
}

/* Finds the bias: the difference between a curve and the curve that the method finds from the
 * increments that it implies. Overwrites the factors and the curve of the estimate. */
static int find_bias(struct estimate *e, const struct fold_options *options,
		     const struct fold_curve *curve, double *ret_bias)
{
	struct fold_curve *again = NULL;
	struct fold_increment *few;
	int err = take_few(e, &few, &e->n);

	if (err)
		return err;
	imply(e, curve, few);
	guess(e);
	iterate_all(e, ITERATIONS);
	err = fit(e, options, &again);
	for (uint32_t c = 0; !err && c <= CELLS; c++)
		ret_bias[c] = fold_curve_at(again, (double)c / CELLS) -
			      fold_curve_at(curve, (double)c / CELLS);
	fold_curve_free(again);
	free(few);
	return err;
}

/* Finds the bias with a copy of the estimate, so that the estimate stays as it is. */
static int find_bias_beside(const struct estimate *e, const struct fold_options *options,
			    const struct fold_curve *curve, double *ret_bias)
{
	struct estimate *again = malloc(sizeof(*again));
	double *factor = malloc((e->n_lengths + 1) * sizeof(*factor));
	int err = -ENOMEM;

	if (again && factor) {
		*again = *e;
		again->factor = factor;
		memcpy(factor, e->factor, e->n_lengths * sizeof(*factor));
		err = find_bias(again, options, curve, ret_bias);
	}
	free(again);
	free(factor);
	return err;
}

static int fit_all(struct estimate *e, const struct fold_options *options,
		   struct fold_curve **ret_curve)
{
	struct fold_jackknife *j = calloc(1, sizeof(*j));
	struct fold_curve *first = NULL;
	int err = j ? estimate(e, options, j) : -ENOMEM;

	if (!err)
		err = fit(e, options, &first);
	if (!err)
		err = find_bias_beside(e, options, first, j->bias);
	if (!err)
		err = fit_points(e, options, first, j->bias, ret_curve);
	if (!err && (*ret_curve)->has_bands)
		fold_jackknife_widen(j, *ret_curve);
	fold_curve_free(first);
	free(j);
	return err;
}

int fold_increments_fit(const struct fold_increment *increments, size_t n, const double *lengths,
			uint32_t n_lengths, const struct fold_options *options,
			struct fold_curve **ret_curve, double *ret_total, size_t *ret_whole)
{
	struct estimate *e = calloc(1, sizeof(*e));
	size_t whole = 0;
	int err = -ENOMEM;

	if (e) {
		e->increments = increments;
		e->n = n;
		e->lengths = lengths;
		e->n_lengths = n_lengths;
		err = begin(e);
	}
	if (!err)
		err = choose(e, &whole);
	if (!err)
		err = fit_all(e, options, ret_curve);
	if (!err) {
		*ret_total = e->y[CELLS] * e->mean_length;
		*ret_whole = whole;
	}
	if (e)
		release(e);
	free(e);
	return err;
}
