/* SPDX-License-Identifier: MIT */
/*
 * Quadratic splines with kinks, from (0, 0) to (1, 1): what the curve is, but for noise.
 *
 *     y(x) = sum over knots t of  kink_t * (x - t)+  +  bend_t * (x - t)+^2
 *
 * At a kink the rate jumps; at a bend it begins to change at another speed. Each knot has either,
 * or both. So a linear phase after another is one kink, an exponential between two linear phases
 * has kinks at its ends, if the rate jumps there, and a few bends inside. A broken line would have
 * jumps of the rate everywhere.
 *
 * Terms are chosen among those at the knots of a broken line. For the curve, all bends are in at
 * first; kinks enter while one is worth its penalty, the best first; then what has become worth
 * less than its penalty leaves, the worst first. Elimination from all terms leaves kinks inside of
 * exponentials, as each bend by itself can be spared; but it is better at the places of breaks that
 * are rounded because instances differ.
 *
 * Terms are solved for by Cholesky's decomposition of normal equations, which are small: after the
 * elimination there are ten or twenty.
 */
#ifndef FOLD_SPLINE_H
#define FOLD_SPLINE_H

#include <stdbool.h>

#include "fold/broken_line.h"

#define FOLD_MAX_TERMS (3 * FOLD_MAX_KNOTS)

struct fold_knot {
	double at;
	bool has_kink, has_bend;
	double kink, bend;
};

struct fold_spline {
	uint32_t n; /* knots, in order; the first, at 0, always has a kink: its rate */
	struct fold_knot knots[FOLD_MAX_TERMS];
};

struct spline_solver;

/* Makes room for solving; the caller frees it with free(). Returns 0 or -ENOMEM. */
int spline_solver_new(struct spline_solver **ret);

struct fold_spline_choice {
	double kink, bend; /* penalties, in units of the weighted sum of squares */
	double beside;	   /* how far from the line's knots there may be bends, too; 0: nowhere */
	bool is_smooth;	   /* begins without kinks */
	unsigned steps;	   /* in which kinks move, at most */
};

/* Chooses terms at the knots of `line`, and fits them. Means are in order of x. */
void fold_spline_choose(struct spline_solver *solver, const struct broken_line *line,
			const struct fold_mean *means, uint32_t n,
			const struct fold_spline_choice *choice, struct fold_spline *ret);

/* Moves the kinks, in at most `steps` steps, and fits all terms. Returns the sum of squares. */
double fold_spline_refine(struct spline_solver *solver, struct fold_spline *spline,
			  const struct fold_mean *means, uint32_t n, unsigned steps);

/* A walk along a spline, at increasing x: one filled with zeros begins at 0. */
struct spline_walk {
	uint32_t next;	 /* knot */
	double c[3], at; /* the polynomial in x - at, at the last knot before x */
};

/* Returns the spline's value at x, which is not below that of the call before. */
double fold_spline_at(const struct fold_spline *spline, double x, struct spline_walk *walk);

#endif
