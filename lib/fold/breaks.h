/* SPDX-License-Identifier: MIT */
/*
 * Where a curve breaks, and how often: piecewise linear fits with a criterion against over-fitting.
 *
 * Two stages. Dynamic programming over all partitions of the cells finds the one in pieces, each
 * with a line of its own, for which the weighted sum of squares plus a penalty for each piece is
 * least (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an interval"). Sums
 * over any range of cells come from prefix sums, so it takes cells^2 / 2 steps of constant time, 10
 * ms, whatever the number of points. Its pieces need not meet, which makes it see jumps. Then they
 * are made to meet: a knot goes where two lines cross, or two knots where they jump, all knots are
 * moved to where the sum of squares is least, and those whose removal adds less to it than the
 * penalty are removed one by one.
 *
 * The penalty is Schwarz's (BIC) for the parameters that a piece adds, its slope and its beginning,
 * doubled, as the beginning is chosen among many (Zhang and Siegmund 2007 derive more than log n
 * for it). Weights must be 1 / variance, so the criterion is only as good as the noise (noise.h).
 */
#ifndef FOLD_BREAKS_H
#define FOLD_BREAKS_H

#include "fold/broken_line.h"

/* Fits a broken line of at most `max_knots` knots to `n` means in order of x, with `penalty` for
 * each. Returns 0 or -ENOMEM. */
int fold_breaks_find(const struct fold_mean *means, uint32_t n, double penalty, uint32_t max_knots,
		     struct broken_line *ret);

#endif
