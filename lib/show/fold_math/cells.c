/* SPDX-License-Identifier: MIT */
/* Sums points up in two passes over the points; see cells.h. The first pass finds the instances,
 * the second adds the points to the sums. */
#include "fold_math/cells.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"
#include "fold_math/curve.h"

/* The instances that have points, as one bit each. before[word] is the number of bits set before
 * that word, so it numbers the instances. */
struct instances {
	uint64_t *bits;
	uint32_t *before;
	uint32_t words, count;
};

/* Sets *ret_weight to the weight of a point. Returns 0, or an error if the point is invalid. */
static int weigh(const struct fold_point *p, const double *weights, uint32_t n_weights,
		 double *ret_weight)
{
	if (!(p->x >= 0 && p->x <= 1 && p->y >= 0 && p->y <= 1))
		return -ERANGE;
	if (weights && p->instance >= n_weights)
		return -EINVAL;
	*ret_weight = weights ? weights[p->instance] : 1;
	return isfinite(*ret_weight) && *ret_weight >= 0 ? 0 : -EINVAL;
}

static int find_instances(const struct fold_point *points, size_t n, struct instances *in)
{
	uint32_t last = 0;

	for (size_t i = 0; i < n; i++)
		last = points[i].instance > last ? points[i].instance : last;
	in->words = last / 64 + 1;
	in->bits = calloc(in->words, sizeof(*in->bits));
	in->before = calloc(in->words, sizeof(*in->before));
	return in->bits && in->before ? 0 : -ENOMEM;
}

static void count_instances(struct instances *in)
{
	in->count = 0;
	for (uint32_t i = 0; i < in->words; i++) {
		in->before[i] = in->count;
		in->count += (uint32_t)__builtin_popcountll(in->bits[i]);
	}
}

static uint32_t group_of(const struct instances *in, uint32_t instance, uint64_t seed)
{
	uint32_t word = instance / 64;
	uint64_t lower = (UINT64_C(1) << instance % 64) - 1;

	if (in->count <= FOLD_GROUPS)
		return in->before[word] + (uint32_t)__builtin_popcountll(in->bits[word] & lower);
	return (uint32_t)(hash_mix64(hash_mix64(seed) + instance) % FOLD_GROUPS);
}

/* First pass: checks the points, and finds the instances. */
static int check_points(struct fold_cells *cells, const struct fold_point *points, size_t n,
			const double *weights, uint32_t n_weights, struct instances *in)
{
	double sum = 0, squares = 0, weight;

	for (size_t i = 0; i < n; i++) {
		int err = weigh(&points[i], weights, n_weights, &weight);

		if (err < 0)
			return err;
		if (weight == 0)
			continue;
		in->bits[points[i].instance / 64] |= UINT64_C(1) << points[i].instance % 64;
		cells->n_points++;
		sum += weight;
		squares += weight * weight;
	}
	if (cells->n_points < FOLD_MIN_POINTS)
		return -ENODATA;
	cells->point_weight = squares / sum;
	return isnormal(cells->point_weight) ? 0 : -EINVAL;
}

static void add_points(struct fold_cells *cells, const struct fold_point *points, size_t n,
		       const double *weights, const struct instances *in, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		double weight = weights ? weights[points[i].instance] : 1;
		uint32_t cell = (uint32_t)(points[i].x * cells->n);
		struct fold_sum *sum;

		if (weight == 0)
			continue;
		if (cell == cells->n)
			cell--;
		sum = &cells->of_group[(size_t)group_of(in, points[i].instance, seed) * cells->n +
				       cell];
		sum->w += weight;
		sum->x += weight * (points[i].x - (cell + 0.5) / cells->n);
		sum->y += weight * points[i].y;
	}
}

static int fill(struct fold_cells *cells, const struct fold_point *points, size_t n,
		const double *weights, uint32_t n_weights, uint64_t seed, struct instances *in)
{
	double once[FOLD_GROUPS];
	int err = find_instances(points, n, in);

	if (err == 0)
		err = check_points(cells, points, n, weights, n_weights, in);
	if (err < 0)
		return err;
	count_instances(in);
	cells->n_instances = in->count;
	cells->groups = in->count < FOLD_GROUPS ? in->count : FOLD_GROUPS;
	cells->all = calloc(cells->n, sizeof(*cells->all));
	cells->of_group = calloc((size_t)cells->groups * cells->n, sizeof(*cells->of_group));
	if (!cells->all || !cells->of_group)
		return -ENOMEM;
	add_points(cells, points, n, weights, in, seed);
	for (uint32_t g = 0; g < cells->groups; g++)
		once[g] = 1;
	fold_cells_combine(cells, once, cells->all);
	return 0;
}

int fold_cells_new(const struct fold_point *points, size_t n_points, const double *weights,
		   uint32_t n_weights, uint32_t cells, uint64_t seed, struct fold_cells **ret)
{
	struct fold_cells *made = calloc(1, sizeof(*made));
	struct instances in = {0};
	int err = -ENOMEM;

	if (made) {
		made->n = cells;
		err = fill(made, points, n_points, weights, n_weights, seed, &in);
	}
	free(in.bits);
	free(in.before);
	if (err < 0)
		fold_cells_free(made);
	else
		*ret = made;
	return err;
}

void fold_cells_free(struct fold_cells *cells)
{
	if (!cells)
		return;
	free(cells->all);
	free(cells->of_group);
	free(cells);
}

void fold_cells_combine(const struct fold_cells *cells, const double *times, struct fold_sum *ret)
{
	for (uint32_t i = 0; i < cells->n; i++)
		ret[i] = (struct fold_sum){0};
	for (uint32_t g = 0; g < cells->groups; g++) {
		const struct fold_sum *sums = &cells->of_group[(size_t)g * cells->n];

		if (times[g] == 0)
			continue;
		for (uint32_t i = 0; i < cells->n; i++) {
			ret[i].w += times[g] * sums[i].w;
			ret[i].x += times[g] * sums[i].x;
			ret[i].y += times[g] * sums[i].y;
		}
	}
}
