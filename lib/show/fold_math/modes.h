/* SPDX-License-Identifier: MIT */
/*
 * Groups instances that are alike, so that a region that works in two ways is shown as two
 * pictures, not as the mean of both.
 *
 * Instances are compared by features, their duration and their totals of counters, on a logarithmic
 * scale. A set of instances is split where the density of a feature has a valley that is deeper
 * than chance and less than half as high as the lower of the two peaks beside it. The parts are
 * split in turn, by any feature, until none has a valley. Mixtures and k-means were rejected,
 * because they need to know the number of groups and the shape of the distributions, which are
 * skewed. The search takes O(n log n) for each feature and group. Instances far from their group's
 * median, or in parts too small for a group, are outliers.
 */
#ifndef FOLD_MATH_MODES_H
#define FOLD_MATH_MODES_H

#include <stddef.h>
#include <stdint.h>

#define FOLD_MAX_MODES 16
#define FOLD_OUTLIER   UINT32_MAX

/* The instances of one group: how many, and for each feature the median and the range. */
struct fold_mode {
	uint32_t count;
	double *median, *least, *most; /* by feature */
};

struct fold_modes {
	uint32_t n; /* by size, the largest first */
	struct fold_mode modes[FOLD_MAX_MODES];
	uint32_t *mode_of; /* by instance: its group, or FOLD_OUTLIER */
	uint32_t n_outliers;
};

/* Groups `n` instances by features: `features[f][i]` is feature f of instance i, finite and not
 * negative; instances with 0 make a group of their own. The caller frees *ret with
 * fold_modes_free(). Returns 0; -EINVAL: a value is not finite or negative, or there are no
 * features; -ENOMEM. */
int fold_modes_find(const double *const *features, uint32_t n_features, uint32_t n,
		    struct fold_modes **ret);

/* Frees groups; NULL is allowed. */
void fold_modes_free(struct fold_modes *modes);

#endif
