/* SPDX-License-Identifier: MIT */
/*
 * The two operations that turn pieces into the curve, both linear in the number of cells
 * (and the first in the bandwidth): what is left of the means beside them, as a smooth
 * function, by local linear regression; and the nearest curve that never falls, by pooling adjacent
 * violators (Ayer et al. 1955).
 */
#ifndef FOLD_SMOOTH_H
#define FOLD_SMOOTH_H

#include "fold/pieces.h"

struct smoother;

/* Makes room to smooth up to `n` values. Returns 0 or -ENOMEM; the caller frees *ret with
 * smoother_free(). */
int smoother_new(uint32_t n, struct smoother **ret);

/* Frees a smoother; NULL is allowed. */
void smoother_free(struct smoother *smoother);

/* Smooths `n` values y, in order of x, with a kernel that reaches `bandwidth` (below 1/2) to each
 * side, at nodes 0, 1/cells, ..., 1; adds that to `ret`, of cells + 1 values. At both ends it is 0:
 * values are reflected there, those outside with the opposite sign. Where a window has too few of
 * them to tell, nothing is added. */
void smoother_add(struct smoother *smoother, const struct fold_mean *values, uint32_t n,
		  double bandwidth, double *ret, uint32_t cells);

/* Replaces y, of cells + 1 values, by the nearest, in squares, that begins with 0, ends with 1 and
 * never falls. */
void fold_make_rising(double *y, uint32_t cells);

#endif
