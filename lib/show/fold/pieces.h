/* SPDX-License-Identifier: MIT */
/*
 * Continuous curves from (0, 0) to (1, 1) in pieces, and the choice of the pieces.
 *
 * A phase at a constant rate is a straight piece, one whose rate grows or decays a piece of a
 * higher degree, an exponential, or a wave (forms.h); so an exponential between two straight phases
 * is three pieces, whose ends are where the rate, or the speed at which it changes, jumps. How many
 * pieces there are, where they end, and the form and degree of each come from one criterion: the
 * weighted sum of squares plus a penalty for each piece and each coefficient is least (Fearnhead
 * 2005, "Exact Bayesian curve fitting and signal segmentation", is the same model, of polynomials).
 * Dynamic programming finds the minimum over all partitions of the means (Jackson et al. 2005, "An
 * algorithm for optimal partitioning of data on an interval"; what cannot be the best any more is
 * left out as in Killick, Fearnhead and Eckley 2012). Sums of squares of all degrees come from one
 * QR decomposition that grows by a row at a time (Givens). Those of exponentials come from the same
 * decomposition: a polynomial of the most degrees is as near to one as matters, so its coefficients
 * are compared with those of the exponential of each bend.
 *
 * The pieces of that need not meet, which makes it see jumps. Then they are made to meet: a knot
 * goes where two pieces cross, or two knots where they jump; all knots are moved to where the sum
 * of squares is least (Levenberg and Marquardt); and a knot, or a degree, whose removal costs less
 * than its penalty is removed, the least costly first. A piece of many degrees, or two pieces, may
 * become an exponential or a wave there: two waves in one piece are no polynomial of six degrees,
 * so the partition has several pieces for them. At last, knots beside waves are tried at other
 * places, as the descent stops where the waves of two pieces are in step.
 *
 * A piece is its two ends and what is 0 at both: bubbles, t (1 - t) times Legendre polynomials, or
 * what a form adds to the straight line. So pieces meet by construction, and normal equations are
 * banded once the parameters of each piece are eliminated.
 */
#ifndef FOLD_PIECES_H
#define FOLD_PIECES_H

#include <stdint.h>

/* With those at 0 and 1. */
#define FOLD_MAX_KNOTS 66
#define PIECE_DEGREE   6 /* at most: exp(3x) to 1e-5 of its range, by Chebyshev's bound */
#define PIECE_BUBBLES  (PIECE_DEGREE - 1)

/* The mean point of a cell, with its weight, 1 / variance of y. */
struct fold_mean {
	double x, y, w;
};

enum piece_form {
	PIECE_POLYNOMIAL,
	PIECE_EXPONENTIAL,
	PIECE_WAVE,
};

struct fold_pieces {
	uint32_t n; /* knots, the first at (0, 0), the last at (1, 1) */
	double at[FOLD_MAX_KNOTS], value[FOLD_MAX_KNOTS];
	/* Of the piece that begins at a knot: its form; its coefficients less 1, of which two are
	 * its ends; and the others: factors of bubbles, or a form's parameters. */
	enum piece_form form[FOLD_MAX_KNOTS];
	uint32_t degree[FOLD_MAX_KNOTS];
	double bubble[FOLD_MAX_KNOTS][PIECE_BUBBLES];
};

/* Chooses pieces for `n` means in order of x, of at most `max_knots` knots. `unit` is the penalty
 * of a degree of freedom, in units of the sum of squares: log n is Schwarz's. Returns 0 or -ENOMEM.
 */
int fold_pieces_find(const struct fold_mean *means, uint32_t n, double unit, uint32_t max_knots,
		     struct fold_pieces *ret);

/* Removes knots and degrees while that lowers the sum of squares plus the penalties, and knots
 * until there are no more than `max_knots`; then moves those that are left. */
void fold_pieces_prune(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
		       double unit, uint32_t max_knots);

/* Tries places far from those of the knots beside waves, and takes what costs less. */
void fold_pieces_explore(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
			 double unit, uint32_t max_knots);

/* Moves the knots to where the sum of squares is least, in at most `steps` steps, from where they
 * are, in their order, and sets values and bubbles. Returns the sum of squares. */
double fold_pieces_refine(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
			  unsigned steps);

/* Returns the value at x in [0, 1]; *knot, from 0, is where the search begins, and is set to the
 * knot before x. For increasing x, a search takes constant time on average. */
double fold_pieces_at(const struct fold_pieces *pieces, double x, uint32_t *knot);

#endif
