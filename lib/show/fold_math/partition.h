/* SPDX-License-Identifier: MIT */
/* Divides the means into pieces that need not meet; pieces.h makes a continuous curve of them. */
#ifndef FOLD_MATH_PARTITION_H
#define FOLD_MATH_PARTITION_H

#include "fold_math/pieces.h"

/* Returns the penalty of a piece of a degree: two units for each of its degree + 1 free parameters.
 * These are the degree + 1 coefficients, one less because pieces will be made to meet (pieces.h),
 * and one more for the place where the piece begins. `unit`: see fold_pieces_find(). A parameter
 * costs two units, not one, because the pieces are chosen among many (Zhang and Siegmund 2007, "A
 * modified Bayes information criterion", derive more than log n for that). */
double partition_penalty(uint32_t degree, double unit);

/* Finds the partition of `n` means, in order of x, that has the least sum of squares plus
 * penalties. Sets only the knots' places and the pieces' degrees in `ret`, not their values. A jump
 * becomes a piece between two knots. Returns 0 or -ENOMEM. */
int partition_find(const struct fold_mean *means, uint32_t n, double unit, struct fold_pieces *ret);

#endif
