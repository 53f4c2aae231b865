/* SPDX-License-Identifier: MIT */
/* Finds kinds of bursts; see kinds.h. Bursts are sorted by the calls around them; those between the
 * same two calls are split feature by feature, and the parts by fold_math/modes.h. */
#include "fold_math/kinds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "fold_math/modes.h"

struct part {
	uint32_t from, to; /* order[from .. to) */
};

struct search {
	const uint32_t *calls;
	const double *weights;
	uint32_t n_features, n;
	double **values;  /* by feature, then burst; the logarithm of the value */
	double **of_part; /* by feature, then burst of the current part */
	/* numbers of bursts, sorted by the two calls, then by part */
	uint32_t *order;
	VEC(struct part) parts; /* parts of the bursts between the current two calls */
	const double *sort_by;
	struct fold_kinds *kinds;
};

/* --- parts without gaps ----------------------------------------------------------------------- */

static int by_calls(const void *a, const void *b, void *arg)
{
	const struct search *s = arg;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (s->calls[i] != s->calls[k])
		return s->calls[i] < s->calls[k] ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int by_value(const void *a, const void *b, void *arg)
{
	const struct search *s = arg;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (s->sort_by[i] < s->sort_by[k] || s->sort_by[i] > s->sort_by[k])
		return s->sort_by[i] < s->sort_by[k] ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Splits order[from .. to) where `feature` has a gap, and each part in the same way by the features
 * after it. Returns 0 or -ENOMEM. */
static int part(struct search *s, uint32_t feature, uint32_t from, uint32_t to)
{
	const double *values;
	int err = 0;

	if (feature == s->n_features) {
		if (VEC_RESERVE(&s->parts, 1))
			return -ENOMEM;
		s->parts.items[s->parts.count++] = (struct part){from, to};
		return 0;
	}
	values = s->sort_by = s->values[feature];
	qsort_r(s->order + from, to - from, sizeof(*s->order), by_value, s);
	for (uint32_t i = from + 1; i <= to && !err; i++) {
		if (i < to && values[s->order[i]] <= KINDS_RATIO * values[s->order[i - 1]])
			continue;
		err = part(s, feature + 1, from, i);
		from = i;
	}
	return err;
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Returns the number of the mode whose median is nearest to a burst, if the median is within
 * KINDS_RATIO in each feature; else FOLD_NOISE. */
static uint32_t next_mode(const struct search *s, const struct fold_modes *modes, uint32_t index)
{
	double least = log(KINDS_RATIO);
	uint32_t best = FOLD_NOISE;

	for (uint32_t m = 0; m < modes->n; m++) {
		double far = 0;

		for (uint32_t f = 0; f < s->n_features; f++)
			far = fmax(far,
				   fabs(log(s->of_part[f][index] / modes->modes[m].median[f])));
		if (far > least || (far == least && best != FOLD_NOISE))
			continue;
		least = far;
		best = m;
	}
	return best;
}

/* Makes a kind of each mode of a part. */
static int take_modes(struct search *s, const struct part *part)
{
	struct fold_kinds *kinds = s->kinds;
	const uint32_t n = part->to - part->from;
	struct fold_modes *modes = NULL;
	int err;

	for (uint32_t f = 0; f < s->n_features; f++) {
		for (uint32_t i = 0; i < n; i++)
			s->of_part[f][i] = s->values[f][s->order[part->from + i]];
	}
	err = fold_modes_find((const double *const *)s->of_part, s->n_features, n, &modes);
	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t mode = modes->mode_of[i];

		if (mode == FOLD_OUTLIER)
			mode = next_mode(s, modes, i);
		kinds->kind_of[s->order[part->from + i]] =
			mode == FOLD_NOISE ? FOLD_NOISE : kinds->n + mode;
		kinds->n_noise += mode == FOLD_NOISE;
	}
	if (!err)
		kinds->n += modes->n;
	fold_modes_free(modes);
	return err;
}

/* Makes kinds of the bursts between the same two calls, which are order[from .. to). */
static int take_calls(struct search *s, uint32_t from, uint32_t to)
{
	uint32_t most = 0;
	int err;

	s->parts.count = 0;
	err = part(s, 0, from, to);
	for (size_t i = 0; i < s->parts.count; i++) {
		const uint32_t n = s->parts.items[i].to - s->parts.items[i].from;

		most = n > most ? n : most;
	}
	for (size_t i = 0; i < s->parts.count && !err; i++) {
		const struct part *p = &s->parts.items[i];
		const uint32_t n = p->to - p->from;

		if (n >= KINDS_LEAST) {
			err = take_modes(s, p);
			continue;
		}
		for (uint32_t k = p->from; k < p->to; k++)
			s->kinds->kind_of[s->order[k]] =
				most < KINDS_LEAST ? s->kinds->n : FOLD_NOISE;
		s->kinds->n += most < KINDS_LEAST;
		s->kinds->n_noise += most < KINDS_LEAST ? 0 : n;
	}
	return err;
}

struct sum {
	double sum;
	uint32_t kind;
};

static int by_sum(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->sum < y->sum || x->sum > y->sum)
		return x->sum > y->sum ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Renumbers the kinds by the sums of their weights, largest first. */
static int sort_kinds(struct search *s)
{
	struct fold_kinds *kinds = s->kinds;
	struct sum *sums = calloc((size_t)kinds->n + 1, sizeof(*sums));
	uint32_t *numbers = calloc((size_t)kinds->n + 1, sizeof(*numbers));
	int err = sums && numbers ? 0 : -ENOMEM;

	for (uint32_t k = 0; k < kinds->n && !err; k++)
		sums[k].kind = k;
	for (uint32_t i = 0; i < s->n && !err; i++) {
		if (kinds->kind_of[i] != FOLD_NOISE)
			sums[kinds->kind_of[i]].sum += s->weights[i];
	}
	if (!err && kinds->n)
		qsort(sums, kinds->n, sizeof(*sums), by_sum);
	for (uint32_t k = 0; k < kinds->n && !err; k++)
		numbers[sums[k].kind] = k;
	for (uint32_t i = 0; i < s->n && !err; i++) {
		if (kinds->kind_of[i] != FOLD_NOISE)
			kinds->kind_of[i] = numbers[kinds->kind_of[i]];
	}
	free(sums);
	free(numbers);
	return err;
}

static int find(struct search *s)
{
	int err = 0;

	qsort_r(s->order, s->n, sizeof(*s->order), by_calls, s);
	for (uint32_t from = 0, to; from < s->n && !err; from = to) {
		to = from + 1;
		while (to < s->n && s->calls[s->order[to]] == s->calls[s->order[from]])
			to++;
		err = take_calls(s, from, to);
	}
	return err ? err : sort_kinds(s);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Copies a feature to the scale on which it is compared: later its logarithm is taken. */
static int take_feature(struct search *s, uint32_t feature, const double *from)
{
	double *to = s->values[feature] = calloc((size_t)s->n + 1, sizeof(*to));

	s->of_part[feature] = calloc((size_t)s->n + 1, sizeof(*to));
	if (!to || !s->of_part[feature])
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!isfinite(from[i]) || from[i] < 0)
			return -EINVAL;
		to[i] = feature ? from[i] + KINDS_COUNTS : fmax(from[i], 1);
	}
	return 0;
}

static int take_features(struct search *s, const double *const *features)
{
	int err = 0;

	s->values = calloc((size_t)s->n_features + 1, sizeof(*s->values));
	s->of_part = calloc((size_t)s->n_features + 1, sizeof(*s->of_part));
	s->order = calloc((size_t)s->n + 1, sizeof(*s->order));
	s->kinds->kind_of = calloc((size_t)s->n + 1, sizeof(*s->kinds->kind_of));
	if (!s->values || !s->of_part || !s->order || !s->kinds->kind_of)
		return -ENOMEM;
	for (uint32_t f = 0; f < s->n_features && !err; f++)
		err = take_feature(s, f, features[f]);
	for (uint32_t i = 0; i < s->n; i++)
		s->order[i] = i;
	return err;
}

int fold_kinds_find(const uint32_t *calls, const double *const *features, uint32_t n_features,
		    const double *weights, uint32_t n, struct fold_kinds **ret)
{
	struct fold_kinds *kinds = calloc(1, sizeof(*kinds));
	struct search s = {.calls = calls,
			   .weights = weights,
			   .n_features = n_features,
			   .n = n,
			   .kinds = kinds};
	int err = !kinds ? -ENOMEM : n_features ? take_features(&s, features) : -EINVAL;

	if (!err)
		err = find(&s);
	for (uint32_t f = 0; f < n_features && s.values && s.of_part; f++) {
		free(s.values[f]);
		free(s.of_part[f]);
	}
	free(s.values);
	free(s.of_part);
	free(s.order);
	free(s.parts.items);
	if (err)
		fold_kinds_free(kinds);
	else
		*ret = kinds;
	return err;
}

void fold_kinds_free(struct fold_kinds *kinds)
{
	if (!kinds)
		return;
	free(kinds->kind_of);
	free(kinds);
}
