/* SPDX-License-Identifier: MIT */
/* Splits instances at valleys of the density, which is estimated by smoothing a histogram with a
 * kernel; see modes.h. Parts wait in a list until no feature splits them. The limits below were
 * chosen by hand; tests/unit/test_fold_modes.c checks them with known modes, outliers and noise. */
#include "fold_math/modes.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BINS 4096
/* bins of the histogram per standard deviation of the smoothing kernel; fewer only for very long
 * tails */
#define PER_WIDTH 4
/* least standard deviation of the smoothing kernel, so that modes within some percent are one */
#define NARROWEST   .005
#define LEAST	    10	/* least number of members of a group */
#define LEAST_SHARE .01 /* least share of all instances that a group has */
/* A valley must be so many standard deviations below the lower peak. */
#define SIGNIFICANT 4
/* An outlier is at least so many robust deviations from the median. */
#define FAR 6
/* On the logarithmic scale, 0 is so much below the least other value. */
#define ZERO_BELOW 3

struct item {
	double value; /* value of the current feature */
	uint32_t instance;
};

struct part {
	uint32_t from, to; /* order[from .. to) */
};

struct search {
	const double *const *features;
	uint32_t n_features, n;
	double *zero;	    /* by feature: the logarithm that stands for 0 */
	uint32_t *order;    /* instances, part by part */
	struct item *items; /* n elements */
	struct part parts[FOLD_MAX_MODES];
	uint32_t n_parts;
	double density[BINS], smooth[BINS];
};

static double value_of(const struct search *s, uint32_t feature, uint32_t instance)
{
	double value = s->features[feature][instance];

	return value > 0 ? log(value) : s->zero[feature];
}

static int compare(const void *a, const void *b)
{
	double x = ((const struct item *)a)->value, y = ((const struct item *)b)->value;

	return (x > y) - (x < y);
}

static uint32_t sort_part(struct search *s, const struct part *part, uint32_t feature)
{
	uint32_t n = part->to - part->from;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t instance = s->order[part->from + i];

		s->items[i] = (struct item){value_of(s, feature, instance), instance};
	}
	qsort(s->items, n, sizeof(*s->items), compare);
	return n;
}

/* --- valleys ------------------------------------------------------------------------------- */

/* Returns the width of the smoothing kernel. It follows from the shortest range that has a quarter
 * of all values, because that is within one mode even if there are several. */
static double kernel_width(const struct item *items, uint32_t n)
{
	uint32_t quarter = n / 4 + 1;
	double shortest = INFINITY;

	for (uint32_t i = 0; i + quarter < n; i++)
		shortest = fmin(shortest, items[i + quarter].value - items[i].value);
	return fmax(NARROWEST, 0.9 * shortest / 0.64 * pow(n, -0.2));
}

/* Computes the density, in members per bin, over the range of the items and three kernel widths
 * beyond it. Returns the width of a bin; *ret_kernel is the width of the smoothing kernel in
 * bins. */
static double estimate_density(struct search *s, uint32_t n, double *ret_kernel)
{
	double width = kernel_width(s->items, n), low = s->items[0].value - 3 * width;
	double bin =
		fmax(width / PER_WIDTH, (s->items[n - 1].value + 3 * width - low) / (BINS - 1));
	int reach = (int)(3 * width / bin) + 1;
	double sum = 0;

	memset(s->density, 0, sizeof(s->density));
	memset(s->smooth, 0, sizeof(s->smooth));
	for (uint32_t i = 0; i < n; i++)
		s->density[(uint32_t)((s->items[i].value - low) / bin)]++;
	for (int d = -reach; d <= reach; d++)
		sum += exp(-0.5 * d * d * bin * bin / (width * width));
	for (int d = -reach; d <= reach; d++) {
		double weight = exp(-0.5 * d * d * bin * bin / (width * width)) / sum;

		for (int b = 0; b < BINS; b++)
			if (s->density[b] > 0 && b + d >= 0 && b + d < BINS)
				s->smooth[b + d] += weight * s->density[b];
	}
	*ret_kernel = width / bin;
	return bin;
}

/* Finds the deepest significant valley. Returns its depth, from 0 (none) to 1, and its bin. */
static double find_valley(const struct search *s, double kernel, uint32_t *ret_bin)
{
	double above[BINS], deepest = 0, highest = 0;

	for (uint32_t b = BINS; b-- > 0;) {
		above[b] = highest;
		highest = fmax(highest, s->smooth[b]);
	}
	highest = 0;
	for (uint32_t b = 0; b < BINS; b++) {
		double peak = fmin(highest, above[b]), floor = s->smooth[b];
		/* The number of members on which the heights of peak and valley are based: those
		 * within the effective width of the smoothing kernel. */
		double effective = kernel * 2 * sqrt(M_PI);
		double deviation = sqrt((peak + floor) / effective);

		highest = fmax(highest, floor);
		if (floor < peak / 2 && peak - floor > SIGNIFICANT * deviation &&
		    1 - floor / peak > deepest) {
			deepest = 1 - floor / peak;
			*ret_bin = b;
		}
	}
	return deepest;
}

/* Splits a part at the deepest valley of any feature. Returns false if there is no valley. */
static bool split(struct search *s, uint32_t number)
{
	struct part part = s->parts[number];
	double deepest = 0, at = 0, kernel;
	uint32_t best = 0, n, left = 0;

	for (uint32_t f = 0; f < s->n_features && part.to - part.from >= 2 * LEAST; f++) {
		double bin, depth, low;
		uint32_t valley = 0;

		n = sort_part(s, &part, f);
		bin = estimate_density(s, n, &kernel);
		low = s->items[0].value - 3 * kernel * bin;
		depth = find_valley(s, kernel, &valley);
		if (depth > deepest) {
			deepest = depth;
			best = f;
			at = low + (valley + 0.5) * bin;
		}
	}
	if (deepest == 0)
		return false;
	n = sort_part(s, &part, best);
	for (uint32_t i = 0; i < n; i++) {
		s->order[part.from + i] = s->items[i].instance;
		left += s->items[i].value < at;
	}
	if (left == 0 || left == n)
		return false;
	s->parts[number].to = part.from + left;
	s->parts[s->n_parts++] = (struct part){part.from + left, part.to};
	return true;
}

/* --- the result ---------------------------------------------------------------------------- */

static int new_mode(struct fold_mode *mode, uint32_t n_features)
{
	*mode = (struct fold_mode){.median = calloc(3 * (size_t)n_features, sizeof(double))};
	if (!mode->median)
		return -ENOMEM;
	mode->least = mode->median + n_features;
	mode->most = mode->median + 2 * (size_t)n_features;
	return 0;
}

/* Marks the instances that lie far from the median of their part as outliers. */
static void mark_far(struct search *s, const struct part *part, uint32_t feature, uint32_t *mode_of)
{
	uint32_t n = sort_part(s, part, feature);
	double median = s->items[n / 2].value, deviation;

	for (uint32_t i = 0; i < n; i++)
		s->items[i].value = fabs(s->items[i].value - median);
	qsort(s->items, n, sizeof(*s->items), compare);
	deviation = fmax(NARROWEST, 1.4826 * s->items[n / 2].value);
	for (uint32_t i = n; i-- > 0 && s->items[i].value > FAR * deviation;)
		mode_of[s->items[i].instance] = FOLD_OUTLIER;
}

static void describe(const struct search *s, const struct part *part, struct fold_modes *modes,
		     uint32_t number)
{
	struct fold_mode *mode = &modes->modes[number];

	for (uint32_t f = 0; f < s->n_features; f++) {
		uint32_t n = 0;

		for (uint32_t i = part->from; i < part->to; i++)
			if (modes->mode_of[s->order[i]] == number)
				s->items[n++] = (struct item){s->features[f][s->order[i]], 0};
		qsort(s->items, n, sizeof(*s->items), compare);
		mode->count = n;
		mode->median[f] = n ? s->items[n / 2].value : 0;
		mode->least[f] = n ? s->items[0].value : 0;
		mode->most[f] = n ? s->items[n - 1].value : 0;
	}
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *p = a, *q = b;
	uint32_t x = p->to - p->from, y = q->to - q->from;

	return (y > x) - (y < x);
}

static int make_modes(struct search *s, struct fold_modes *modes)
{
	uint32_t least = (uint32_t)fmax(LEAST, LEAST_SHARE * s->n);

	qsort(s->parts, s->n_parts, sizeof(s->parts[0]), compare_parts);
	memset(modes->mode_of, 0xff, s->n * sizeof(*modes->mode_of));
	for (uint32_t p = 0; p < s->n_parts; p++) {
		const struct part *part = &s->parts[p];

		if (part->to - part->from < least && p > 0)
			break;
		if (part->to == part->from)
			break;
		if (new_mode(&modes->modes[modes->n], s->n_features) < 0)
			return -ENOMEM;
		for (uint32_t i = part->from; i < part->to; i++)
			modes->mode_of[s->order[i]] = modes->n;
		for (uint32_t f = 0; f < s->n_features; f++)
			mark_far(s, part, f, modes->mode_of);
		describe(s, part, modes, modes->n++);
	}
	for (uint32_t i = 0; i < s->n; i++)
		modes->n_outliers += modes->mode_of[i] == FOLD_OUTLIER;
	return 0;
}

static int check_features(struct search *s)
{
	for (uint32_t f = 0; f < s->n_features; f++) {
		double least = INFINITY;

		for (uint32_t i = 0; i < s->n; i++) {
			double value = s->features[f][i];

			if (!isfinite(value) || value < 0)
				return -EINVAL;
			if (value > 0)
				least = fmin(least, value);
		}
		s->zero[f] = (least < INFINITY ? log(least) : 0) - ZERO_BELOW;
	}
	return s->n_features > 0 ? 0 : -EINVAL;
}

static int find(struct search *s, struct fold_modes *modes)
{
	int err;

	s->zero = calloc(s->n_features + 1, sizeof(*s->zero));
	s->order = calloc((size_t)s->n + 1, sizeof(*s->order));
	s->items = calloc((size_t)s->n + 1, sizeof(*s->items));
	modes->mode_of = calloc((size_t)s->n + 1, sizeof(*modes->mode_of));
	if (!s->zero || !s->order || !s->items || !modes->mode_of)
		return -ENOMEM;
	err = check_features(s);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < s->n; i++)
		s->order[i] = i;
	s->parts[0] = (struct part){0, s->n};
	s->n_parts = 1;
	for (uint32_t p = 0; p < s->n_parts;)
		if (s->n_parts == FOLD_MAX_MODES || !split(s, p))
			p++;
	return make_modes(s, modes);
}

int fold_modes_find(const double *const *features, uint32_t n_features, uint32_t n,
		    struct fold_modes **ret)
{
	struct search *s = calloc(1, sizeof(*s));
	struct fold_modes *modes = calloc(1, sizeof(*modes));
	int err = -ENOMEM;

	if (s && modes) {
		s->features = features;
		s->n_features = n_features;
		s->n = n;
		err = find(s, modes);
	}
	if (s) {
		free(s->zero);
		free(s->order);
		free(s->items);
	}
	free(s);
	if (err < 0)
		fold_modes_free(modes);
	else
		*ret = modes;
	return err;
}

void fold_modes_free(struct fold_modes *modes)
{
	if (!modes)
		return;
	for (uint32_t i = 0; i < FOLD_MAX_MODES; i++)
		free(modes->modes[i].median);
	free(modes->mode_of);
	free(modes);
}
