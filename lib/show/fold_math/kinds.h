/* SPDX-License-Identifier: MIT */
/*
 * Groups bursts into kinds: bursts between the same two calls, of similar length, and with similar
 * values of the counters.
 *
 *   all ─► by the calls around them ─► split at gaps ─► split at valleys ─► kinds, and noise
 *
 * González, Giménez and Labarta ("Automatic detection of parallel applications computation phases",
 * IPDPS 2009) find kinds by density, with DBSCAN over durations and counters. They and Huck
 * ("Automatic refinement of parallel applications structure detection", 2012) had to refine that
 * with further radii, since a radius that separates the short bursts splits the long ones up. So
 * here there are two steps, both on a logarithmic scale, on which a radius is a ratio:
 *
 * - DBSCAN along each feature by itself, with a radius of a factor of two (KINDS_RATIO): bursts are
 *   split where a value is more than twice the next smaller one. A part has at least four bursts
 *   (KINDS_LEAST; the number that Ester, Kriegel, Sander and Xu give for DBSCAN, KDD 1996), or is
 *   noise. If no part of the bursts between two calls has so many, each part is a kind.
 * - Parts without such a gap are split where the density has a significant valley, which needs some
 *   12 bursts on both sides and adapts to their spread (fold_math/modes.h). So the tails of large
 * kinds do not link them. An outlier belongs to the nearest kind if it is within the same factor of
 *   that kind's median, else it is noise.
 *
 * Small counts differ by chance, and by whole numbers. So KINDS_COUNTS is added to each value of a
 * counter: counts of some hundreds are then compared by their difference, larger ones by their
 * ratio. KINDS_COUNTS is twice the inverse of the narrowest smoothing kernel of fold_math/modes.c,
 * so counts that differ by 1 make no modes. The factor of two was chosen by hand. The search takes
 * O(n log n) for each feature, and uses no random numbers.
 */
#ifndef FOLD_MATH_KINDS_H
#define FOLD_MATH_KINDS_H

#include <stddef.h>
#include <stdint.h>

#define FOLD_NOISE   UINT32_MAX
#define KINDS_RATIO  2.0
#define KINDS_LEAST  4u
#define KINDS_COUNTS 400.0

struct fold_kinds {
	/* number of kinds; they are numbered in order of the sum of their bursts' weights, the
	 * largest first */
	uint32_t n;
	uint32_t *kind_of; /* by burst: its kind, or FOLD_NOISE */
	uint32_t n_noise;
};

/* Finds the kinds of `n` bursts: calls[i] is a number for the pair of calls around burst i;
 * features[0][i] is its duration, features[f][i] its total of a counter; all are finite and not
 * negative. The caller frees *ret with fold_kinds_free(). Returns 0; -EINVAL: a value is not finite
 * or negative, or there is no feature; -ENOMEM. */
int fold_kinds_find(const uint32_t *calls, const double *const *features, uint32_t n_features,
		    const double *weights, uint32_t n, struct fold_kinds **ret);

/* Frees kinds; NULL is allowed. */
void fold_kinds_free(struct fold_kinds *kinds);

#endif
