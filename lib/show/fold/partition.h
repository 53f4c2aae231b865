/* SPDX-License-Identifier: MIT */
/* Divides means into polynomial pieces that need not meet; pieces.h makes a curve of these. */
#ifndef FOLD_PARTITION_H
#define FOLD_PARTITION_H

#include "fold/pieces.h"

/* Returns what a piece of a degree costs: its coefficients, one of which is shared with its
 * neighbour, and where it begins; each twice, as they are chosen among many (Zhang and Siegmund
 * 2007, "A modified Bayes information criterion", derive more than log n for it). */
double partition_penalty(uint32_t degree, double unit);

/* Finds the partition of `n` means in order of x that costs least, and knots for a curve of the
 * same pieces: places and degrees alone. A jump is a piece between two knots. Returns 0 or -ENOMEM.
 */
int partition_find(const struct fold_mean *means, uint32_t n, double unit, struct fold_pieces *ret);

#endif
