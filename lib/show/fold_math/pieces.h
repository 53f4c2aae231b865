/* SPDX-License-Identifier: MIT */
/*
 * Fits continuous curves from (0, 0) to (1, 1) that consist of pieces, and chooses the pieces.
 *
 * A phase of constant rate is a straight piece. A phase whose rate grows or decays is a piece of a
 * higher degree, an exponential, or a wave (forms.h). So an exponential between two straight phases
 * is three pieces, which end where the rate, or its derivative, jumps. One criterion chooses the
 * number of pieces, their ends, and the form and degree of each: the weighted sum of squares plus a
 * penalty for each piece and each coefficient is least (Fearnhead 2005, "Exact Bayesian curve
 * fitting and signal segmentation", has the same model, for polynomials). Dynamic programming finds
 * the minimum over all partitions of the means (Jackson et al. 2005, "An algorithm for optimal
 * partitioning of data on an interval"; partitions that can no longer become the best are pruned as
 * in Killick, Fearnhead and Eckley 2012). The sums of squares of all degrees come from one QR
 * decomposition that grows by a row at a time (Givens). The sums of squares of exponentials come
 * from the same decomposition: an exponential is nearly a polynomial of the highest degree, so for
 * each bend that polynomial's coefficients are compared with the fitted ones.
 *
 * The pieces of the partition need not meet, so that it finds jumps. Then they are made to meet: a
 * knot is put where two pieces cross, or two knots where there is a jump. Then all knots are moved
 * to where the sum of squares is least (Levenberg and Marquardt). A knot, or a degree, whose
 * removal raises the sum of squares by less than its penalty is removed, the cheapest first. In
 * this step a piece of a high degree, or two pieces, may become an exponential or a wave: as a
 * polynomial of degree six cannot follow two waves, the partition has several pieces for them.
 * Finally, knots beside waves are tried at other places, since the descent can stop at a place
 * where the waves of two pieces have the same phase.
 *
 * A piece is the straight line between its ends plus functions that are 0 at both ends: bubbles, t
 * (1 - t) times Legendre polynomials, or the part of an exponential or wave that is not the
 * straight line. So pieces meet by construction, and once the other parameters of each piece are
 * eliminated, the normal equations are banded.
 */
#ifndef FOLD_MATH_PIECES_H
#define FOLD_MATH_PIECES_H

#include <stdint.h>

/* with the knots at 0 and 1 */
#define FOLD_MAX_KNOTS 66
#define PIECE_DEGREE                                                                               \
	6 /* the highest; exp(3x) is within 1e-5 of its range, by Chebyshev's bound                \
	   */
#define PIECE_BUBBLES (PIECE_DEGREE - 1)

/* The mean point of a cell, and its weight: 1 / the variance of y. */
struct fold_mean {
	double x, y, w;
};

enum piece_form {
	PIECE_POLYNOMIAL,
	PIECE_EXPONENTIAL,
	PIECE_WAVE,
};

struct fold_pieces {
	uint32_t n; /* number of knots; the first is at (0, 0), the last at (1, 1) */
	double at[FOLD_MAX_KNOTS], value[FOLD_MAX_KNOTS];
	/* By knot, for the piece that begins there. `form`; `degree`, the number of its
	 * coefficients minus 1, two of which are its values at both ends; `bubble`, the other
	 * coefficients: factors of bubbles, or parameters of the form. */
	enum piece_form form[FOLD_MAX_KNOTS];
	uint32_t degree[FOLD_MAX_KNOTS];
	double bubble[FOLD_MAX_KNOTS][PIECE_BUBBLES];
};

/* Chooses pieces for `n` means in order of x, with at most `max_knots` knots. `unit` is the penalty
 * of a degree of freedom, in the unit of the sum of squares; log n is Schwarz's (BIC). Returns 0 or
 * -ENOMEM. */
int fold_pieces_find(const struct fold_mean *means, uint32_t n, double unit, uint32_t max_knots,
		     struct fold_pieces *ret);

/* Removes knots and lowers degrees as long as that lowers the sum of squares plus the penalties, or
 * there are more than `max_knots` knots; then moves the remaining knots. */
void fold_pieces_prune(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
		       double unit, uint32_t max_knots);

/* Tries distant places for the knots beside waves, and keeps those with the lowest cost. */
void fold_pieces_explore(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
			 double unit, uint32_t max_knots);

/* Moves the knots, which stay in order, towards a minimum of the sum of squares in at most `steps`
 * steps, and sets values and bubbles. Returns the sum of squares. */
double fold_pieces_refine(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
			  unsigned steps);

/* Returns the value at x in [0, 1]. *knot (at first 0) is where the search for the piece begins; it
 * is set to the knot before x, so that for increasing x a search takes constant time on average. */
double fold_pieces_at(const struct fold_pieces *pieces, double x, uint32_t *knot);

#endif
