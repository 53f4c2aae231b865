/* SPDX-License-Identifier: MIT */
/* Kuiper's test (Kuiper 1960; p after Stephens 1970), and the parts of the time that were hit. The
 * limits of the verdict (FEWEST, UNLIKELY, CONSIDERED, HIT) were chosen by hand. */
#include "fold_math/uniform.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define FEWEST 40
/* average number of points in a part: by chance, only one of e^8 parts is empty then */
#define PER_PART   8
#define PARTS	   1000 /* most parts */
#define UNLIKELY   1e-3
#define CONSIDERED .02 /* A smaller V is ignored, however significant it is. */
/* If at least this share of the parts was hit, the sampling is not locked. */
#define HIT .9

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the probability that n uniform points have a statistic of at least V. */
static double probability(double statistic, size_t n)
{
	double root = sqrt((double)n), l = statistic * (root + 0.155 + 0.24 / root), p = 0;

	if (l < 0.4)
		return 1;
	for (int j = 1; j <= 100; j++) {
		double a = j * j * l * l, term = 2 * (4 * a - 1) * exp(-2 * a);

		p += term;
		if (fabs(term) < 1e-12 * p)
			break;
	}
	return fmin(1, fmax(0, p));
}

static void find_gap(const double *x, size_t n, struct fold_uniform *u)
{
	double last = 0;

	for (size_t i = 0; i <= n; i++) {
		double next = i < n ? x[i] : 1;

		if (next - last > u->gap) {
			u->gap = next - last;
			u->gap_from = last;
		}
		last = next;
	}
}

static double share_hit(const double *x, size_t n)
{
	size_t parts = n / PER_PART < PARTS ? n / PER_PART : PARTS, hit = 0, last = SIZE_MAX;

	if (parts == 0)
		return n > 0;
	for (size_t i = 0; i < n; i++) {
		size_t part = (size_t)(x[i] * (double)parts);

		if (part == parts)
			part--;
		hit += part != last;
		last = part;
	}
	return (double)hit / (double)parts;
}

static enum fold_uniformity judge(const struct fold_uniform *u)
{
	if (u->n < FEWEST)
		return FOLD_TOO_FEW;
	if (u->p >= UNLIKELY || u->statistic < CONSIDERED)
		return u->hit < HIT ? FOLD_LOCKED : FOLD_UNIFORM;
	return u->hit < HIT ? FOLD_LOCKED : FOLD_UNEVEN;
}

int fold_uniform_test(double *x, size_t n, struct fold_uniform *ret)
{
	struct fold_uniform u = {.n = n};
	double above = 0, below = 0;

	for (size_t i = 0; i < n; i++)
		if (!(x[i] >= 0 && x[i] <= 1))
			return -ERANGE;
	qsort(x, n, sizeof(*x), compare);
	for (size_t i = 0; i < n; i++) {
		above = fmax(above, (double)(i + 1) / (double)n - x[i]);
		below = fmax(below, x[i] - (double)i / (double)n);
	}
	u.statistic = above + below;
	u.p = n > 0 ? probability(u.statistic, n) : 1;
	find_gap(x, n, &u);
	u.hit = share_hit(x, n);
	u.verdict = judge(&u);
	*ret = u;
	return 0;
}
