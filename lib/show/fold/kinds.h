/* SPDX-License-Identifier: MIT */
/*
 * Kinds of bursts that are alike: between the same two calls, as long as each other, and with as
 * much of what counters count.
 *
 *   all ─► by the calls around them ─► without gaps ─► without valleys ─► kinds, and noise
 *
 * González, Giménez and Labarta ("Automatic detection of parallel applications computation phases",
 * IPDPS 2009) find kinds by density, with DBSCAN over durations and counters; they and Huck
 * ("Automatic refinement of parallel applications structure detection", 2012) had to refine that
 * with further radii, as one that parts the short bursts tears the long ones up. So here density
 * has two steps, both on a logarithmic scale, on which a radius is a ratio:
 *
 * - DBSCAN along each feature by itself, with a radius of a factor of two (KINDS_RATIO): two bursts
 *   are of two parts if one has more than twice as much as all that have less. A part has at least
 *   four bursts (KINDS_LEAST; the number that Ester, Kriegel, Sander and Xu give for DBSCAN, KDD
 *   1996), or is noise; where no part of the bursts between two calls has so many, each is a kind.
 * - What has no such gap is parted where its density has a valley that is no chance, which needs
 *   some 12 bursts on both sides and adapts to how widely they spread (fold/modes.h): so the
 *   tails of large kinds do not link them. An outlier there is of the next kind if it is within the
 *   same factor of its median, else noise.
 *
 * Counts of some hundreds differ by chance, and by whole numbers: KINDS_COUNTS is added to each
 * value of a counter, so that they are compared by their difference and larger ones by their ratio.
 * It is twice the inverse of the narrowest width that a mode has, so counts beside each other make
 * no modes. It takes O(n log n) for each feature, and nothing is drawn at random.
 */
#ifndef FOLD_KINDS_H
#define FOLD_KINDS_H

#include <stddef.h>
#include <stdint.h>

#define FOLD_NOISE   UINT32_MAX
#define KINDS_RATIO  2.0
#define KINDS_LEAST  4u
#define KINDS_COUNTS 400.0

struct fold_kinds {
	uint32_t n;	   /* by the sum of their bursts' weights, the largest first */
	uint32_t *kind_of; /* by burst: its kind, or FOLD_NOISE */
	uint32_t n_noise;
};

/* Finds the kinds of `n` bursts: calls[i] is a number for the two calls around burst i, and
 * features[f][i] its duration (f = 0) or counters; finite and not negative. The caller frees *ret
 * with fold_kinds_free(). Returns 0, -EINVAL for other values or if there is no feature, or
 * -ENOMEM. */
int fold_kinds_find(const uint32_t *calls, const double *const *features, uint32_t n_features,
		    const double *weights, uint32_t n, struct fold_kinds **ret);

/* Frees kinds; NULL is allowed. */
void fold_kinds_free(struct fold_kinds *kinds);

#endif
