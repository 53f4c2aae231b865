/* SPDX-License-Identifier: MIT */
/*
 * Fits the folded curve of a counter: the share of its total that has been counted at each moment
 * of a region's normalised time, from few samples of each of many instances.
 *
 * What it estimates. A sample of an instance i (one pass through the region) at x gives F_i(x), the
 * share of the instance's total that had been counted by then; the curve is the weighted mean of
 * the F_i. A point weighs 1, or weights[i]. Long instances have more samples, so points of weight 1
 * give the mean over instances weighted by duration. If a point's weight is its instance's total
 * divided by the duration, the curve is that of the sum of all instances: y(x) is the share of the
 * sum that has been counted at x, and the shares of phases are shares of the sum. With weights of 1
 * / duration, every instance counts alike.
 *
 * Bands have 95 % confidence at each x. They come from resampling instances, since samples of one
 * instance depend on each other. They are bands of the mean curve: a single instance may lie
 * outside. If a phase ends at different moments in different instances, the mean curve bends
 * slowly, and the phase ends in the middle of the bend.
 */
#ifndef FOLD_MATH_CURVE_H
#define FOLD_MATH_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fold_math/phases.h"

/* A sample: at `x` of the time of its instance, `y` of the instance's total had been counted. Both
 * are in [0, 1]. */
struct fold_point {
	double x, y;
	uint32_t instance; /* numbered by the caller from 0, dense, since memory has a bit for each
			    */
};

/* 0 means the default, where a default is given. */
struct fold_options {
	uint32_t cells;	     /* cells of the grid, 50 to 4,000; default 1,000 */
	uint32_t resamples;  /* resamples for the bands, at most 10,000; default 200 */
	uint32_t max_phases; /* at most 64; default 32 */
	uint64_t seed;	     /* seed of all random numbers: the same seed gives the same result */
	bool no_bands;	     /* computes no bands, which is ten times as fast */
	/* by instance: the weight of each of its points; NULL if all are 1. Points of weight 0 are
	 * left out. */
	const double *weights;
	uint32_t n_weights;
};

/* The curve on a grid of equal cells, and the phases. */
struct fold_curve {
	uint32_t cells;
	/* cells + 1 values at the cells' bounds, from y[0] = 0 to y[cells] = 1, never falling. */
	double *y, *y_low, *y_high;
	/* cells values: the mean slope of y in each cell, 1 on average, never negative. */
	double *rate, *rate_low, *rate_high;
	struct fold_phase *phases;
	uint32_t n_phases;
	size_t n_points;      /* points with a weight */
	uint32_t n_instances; /* instances that have such points */
	double noise; /* standard deviation of the points' distances from the curve, in shares */
	/* false with fewer than FOLD_MIN_INSTANCES instances, or with no_bands: then all bounds of
	 * bands are NAN. */
	bool has_bands;
};

#define FOLD_MIN_POINTS	   20
#define FOLD_MIN_INSTANCES 10

/* Fits a curve to `n` points in any order; `options` may be NULL. The caller frees *ret with
 * fold_curve_free(). Time is linear in the number of points; memory does not depend on it, except
 * for a bit for each instance. Returns 0; -ENODATA: fewer than FOLD_MIN_POINTS points have a
 * weight; -ERANGE: a coordinate is not in [0, 1]; -EINVAL: an option is out of its bounds, or the
 * weight of an instance is missing, negative or not finite; -ENOMEM. */
int fold_curve_fit(const struct fold_point *points, size_t n, const struct fold_options *options,
		   struct fold_curve **ret);

/* Frees a curve; NULL is allowed. */
void fold_curve_free(struct fold_curve *curve);

/* Returns the curve's y at `x`, which is clamped to [0, 1], by linear interpolation. */
double fold_curve_at(const struct fold_curve *curve, double x);

#endif
