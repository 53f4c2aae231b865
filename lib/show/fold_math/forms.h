/* SPDX-License-Identifier: MIT */
/*
 * Pieces that are not polynomials: exponentials and waves. Such a piece has its two ends and the
 * parameters of its form, the last of which is not linear:
 *
 *   exponential   bend                the rate is e^bend times as large at the end as at the begin
 *   wave          sine, cosine, turn  a constant rate, and a wave that turns by `turn` (radians)
 *
 * If a counter's rate grows, decays, or goes up and down, one of these often fits as well as a
 * polynomial, with fewer coefficients: an exponential has three and a wave five, where polynomials
 * need five to seven, or several pieces for a wave. The criterion that chooses the degree
 * (pieces.h) also chooses the form, so a form is used only if its fit is worth its coefficients.
 * They make the ends of phases more exact: between two exponentials whose rates differ by little, a
 * polynomial of degree six bends smoothly across the break.
 */
#ifndef FOLD_MATH_FORMS_H
#define FOLD_MATH_FORMS_H

#include <stdbool.h>

#include "fold_math/pieces.h"

/* The number of coefficients minus 1, which counts as a polynomial's degree does. */
#define EXPONENTIAL_DEGREE 2
#define WAVE_DEGREE	   4

/* Returns the distance of piece k from the straight line between its ends, at t from 0 to 1. Sets
 * *slope, *by_range and by[i] to the derivatives of that distance by t, by the difference of the
 * ends, and by parameter i. */
double form_at(const struct fold_pieces *p, uint32_t k, double t, double *slope, double *by_range,
	       double *by);

/* Returns whether the non-linear parameter of piece k (bend or turn) is within its limits. */
bool form_is_possible(const struct fold_pieces *p, uint32_t k);

/* Returns a rough value of `turn` for the wave that fits the means from `from` to `to` - 1 best, as
 * the start of a fit. */
double form_find_turn(const struct fold_mean *means, uint32_t from, uint32_t to);

#endif
