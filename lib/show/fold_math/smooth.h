/* SPDX-License-Identifier: MIT */
/*
 * The two operations that make the curve from pieces. Both are linear in the number of cells (the
 * first also in the bandwidth). Local linear regression smooths the residuals, the distances of the
 * means from the pieces. Pooling adjacent violators (Ayer et al. 1955) finds the nearest curve that
 * never falls.
 */
#ifndef FOLD_MATH_SMOOTH_H
#define FOLD_MATH_SMOOTH_H

#include "fold_math/pieces.h"

struct smoother;

/* Makes room to smooth up to `n` values. Returns 0 or -ENOMEM; the caller frees *ret with
 * smoother_free(). */
int smoother_new(uint32_t n, struct smoother **ret);

/* Frees a smoother; NULL is allowed. */
void smoother_free(struct smoother *smoother);

/* Smooths `n` values y, in order of x, with a kernel that reaches `bandwidth` (below 1/2) to each
 * side, and adds the result at 0, 1/cells, ..., 1 to `ret`, of cells + 1 values. The result is 0 at
 * both ends, because values are reflected there with the opposite sign. Nothing is added where too
 * few values are within reach. */
void smoother_add(struct smoother *smoother, const struct fold_mean *values, uint32_t n,
		  double bandwidth, double *ret, uint32_t cells);

/* Replaces y, of cells + 1 values, by the values nearest in squares that begin with 0, end with 1
 * and never fall. */
void fold_make_rising(double *y, uint32_t cells);

#endif
