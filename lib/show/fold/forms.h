/* SPDX-License-Identifier: MIT */
/*
 * Forms of pieces that are no polynomials. A piece of a form has its two ends, and then parameters,
 * the last one of which is not linear:
 *
 *   exponential   bend                the rate is e^bend times as large at the end as at the begin
 *   wave          sine, cosine, turn  a constant rate, and a wave that turns by `turn` (radians)
 *
 * Counters whose rate grows or decays, or goes up and down, are as often near to these as to a
 * polynomial of some degree, and they need fewer coefficients: three and five, where polynomials
 * need five to seven, or several pieces for a wave. The criterion that chooses among degrees
 * (pieces.h) chooses among forms, too, so a form is taken only where it is worth it. What is won
 * are the ends of phases: between two exponentials whose rates differ by little, a polynomial of
 * six degrees bends where the break is.
 */
#ifndef FOLD_FORMS_H
#define FOLD_FORMS_H

#include <stdbool.h>

#include "fold/pieces.h"

/* Coefficients less 1, as a polynomial's degree. */
#define EXPONENTIAL_DEGREE 2
#define WAVE_DEGREE	   4

/* Returns how far piece k is from the straight line between its ends, at t from 0 to 1; sets *slope
 * to what that changes by with t, *by_range with the difference of the ends, and by[i] with
 * parameter i. */
double form_at(const struct fold_pieces *p, uint32_t k, double t, double *slope, double *by_range,
	       double *by);

/* Whether the parameter of piece k that is not linear is one that a piece may have. */
bool form_is_possible(const struct fold_pieces *p, uint32_t k);

/* Returns the turn of the wave that is nearest to the means from..to - 1, roughly. */
double form_find_turn(const struct fold_mean *means, uint32_t from, uint32_t to);

#endif
