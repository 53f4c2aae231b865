/* SPDX-License-Identifier: MIT */
/*
 * Sums points up in cells: these sums are all that the fit needs, and their memory does not grow
 * with the number of points.
 *
 * A cell is one of the equal parts of the normalised time. It keeps the sums of weights, of x and
 * of y, and so the mean point of its points. If all points of a cell are on a straight piece of the
 * curve, their mean point is on it, too, wherever in the cell they are. So the resolution is finer
 * than a cell.
 *
 * Bands come from resampling instances. Sums for every instance would take as much memory as the
 * points, and each resample as much time as a pass over them, so instances are put into at most
 * FOLD_GROUPS groups at random, and groups are resampled. If there are at most so many instances,
 * each is a group of its own, and this is the plain bootstrap. Otherwise the variance among
 * resamples has the same expectation, and a relative error of sqrt(2 / FOLD_GROUPS), 10 %, which a
 * bootstrap with 200 resamples has anyway. Rejected: Poisson weights for each instance and
 * resample, which would take points times resamples.
 */
#ifndef FOLD_MATH_CELLS_H
#define FOLD_MATH_CELLS_H

#include <stddef.h>
#include <stdint.h>

struct fold_point;

#define FOLD_GROUPS    200
#define FOLD_MAX_CELLS 4000

/* Sums over points. w: of weights; x: of weight * (x - the middle of the cell); y: of weight * y.
 */
struct fold_sum {
	double w, x, y;
};

struct fold_cells {
	uint32_t n, groups;	   /* numbers of cells and groups */
	struct fold_sum *all;	   /* n elements */
	struct fold_sum *of_group; /* groups * n elements, by group, then cell */
	size_t n_points;
	uint32_t n_instances;
	double point_weight; /* the mean weight of a point, weighted by weight: sum w^2 / sum w */
};

/* Sums up `n_points` points in `cells` cells, with weights as in struct fold_options. `seed`: for
 * the random groups. The caller frees *ret with fold_cells_free(). Returns 0 or an error of
 * fold_curve_fit(). */
int fold_cells_new(const struct fold_point *points, size_t n_points, const double *weights,
		   uint32_t n_weights, uint32_t cells, uint64_t seed, struct fold_cells **ret);

/* Frees cells; NULL is allowed. */
void fold_cells_free(struct fold_cells *cells);

/* Sets the cells->n elements of `ret` to a sum over the groups in which group g counts times[g]
 * times. */
void fold_cells_combine(const struct fold_cells *cells, const double *times, struct fold_sum *ret);

#endif
