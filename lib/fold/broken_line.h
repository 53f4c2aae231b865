/* SPDX-License-Identifier: MIT */
/*
 * Continuous piecewise linear curves from (0, 0) to (1, 1), fitted by least squares.
 *
 * A broken line is its knots. For knots at given x, the least-squares values are a tridiagonal
 * system, as each mean point lies between two knots. Where they lie in x is not a linear problem:
 * Levenberg's and Marquardt's method moves them, to anywhere, not only to the grid's nodes. Both
 * are linear in the number of cells.
 */
#ifndef FOLD_BROKEN_LINE_H
#define FOLD_BROKEN_LINE_H

#include <stdint.h>

/* With those at 0 and 1. */
#define FOLD_MAX_KNOTS 66

/* The mean point of a cell, with its weight, 1 / variance of y. */
struct fold_mean {
	double x, y, w;
};

struct broken_line {
	uint32_t n; /* knots, the first at (0, 0), the last at (1, 1) */
	double at[FOLD_MAX_KNOTS], value[FOLD_MAX_KNOTS];
};

/* Returns the line's value at x in [0, 1]; *knot, from 0, is where the search begins, and is set to
 * the knot before x. For increasing x, a search takes constant time on average. */
double broken_line_at(const struct broken_line *line, double x, uint32_t *knot);

/* Sets the values of the inner knots, and returns the weighted sum of squares that is left. The
 * means are in order of x. Values may fall. */
double broken_line_solve(struct broken_line *line, const struct fold_mean *means, uint32_t n);

/* The same with values that never fall: knots between which they would have one value. */
double broken_line_solve_rising(struct broken_line *line, const struct fold_mean *means,
				uint32_t n);

/* Moves the knots to where the sum of squares is least, in at most `steps` steps, from where they
 * are, in their order, and sets their values. Returns the sum of squares. */
double broken_line_refine(struct broken_line *line, const struct fold_mean *means, uint32_t n,
			  unsigned steps);

#endif
