/* SPDX-License-Identifier: MIT */
/* Local linear regression over a sliding range, and isotonic regression; see smooth.h. */
#include "fold_math/smooth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fold_math/cells.h"

/* The values r, with copies of them reflected at both ends. */
struct smoother {
	double *x, *w, *r;
	uint32_t n;
};

int smoother_new(uint32_t n, struct smoother **ret)
{
	struct smoother *s = calloc(1, sizeof(*s));
	size_t room = 3 * (size_t)n;

	if (!s)
		return -ENOMEM;
	s->x = calloc(3 * room, sizeof(*s->x));
	if (!s->x) {
		free(s);
		return -ENOMEM;
	}
	s->w = s->x + room;
	s->r = s->w + room;
	*ret = s;
	return 0;
}

void smoother_free(struct smoother *smoother)
{
	if (!smoother)
		return;
	free(smoother->x);
	free(smoother);
}

static void append(struct smoother *s, double x, double w, double r)
{
	s->x[s->n] = x;
	s->w[s->n] = w;
	s->r[s->n++] = r;
}

static void reflect(struct smoother *s, const struct fold_mean *values, uint32_t n,
		    double bandwidth)
{
	s->n = 0;
	for (uint32_t i = n; i-- > 0;)
		if (values[i].x < bandwidth)
			append(s, -values[i].x, values[i].w, -values[i].y);
	for (uint32_t i = 0; i < n; i++)
		append(s, values[i].x, values[i].w, values[i].y);
	for (uint32_t i = n; i-- > 0;)
		if (values[i].x > 1 - bandwidth)
			append(s, 2 - values[i].x, values[i].w, -values[i].y);
}

/* Returns the value at x of the line through means from..to, which are weighted by Epanechnikov's
 * kernel. */
static double local_line(const struct smoother *s, uint32_t from, uint32_t to, double x,
			 double bandwidth)
{
	double s0 = 0, s1 = 0, s2 = 0, t0 = 0, t1 = 0, det;

	for (uint32_t i = from; i < to; i++) {
		double u = (s->x[i] - x) / bandwidth, w = s->w[i] * (1 - u * u);

		s0 += w;
		s1 += w * u;
		s2 += w * u * u;
		t0 += w * s->r[i];
		t1 += w * u * s->r[i];
	}
	det = s0 * s2 - s1 * s1;
	return det > 1e-3 * s0 * s0 ? (s2 * t0 - s1 * t1) / det : 0;
}

void smoother_add(struct smoother *smoother, const struct fold_mean *values, uint32_t n,
		  double bandwidth, double *ret, uint32_t cells)
{
	/* Values are computed at nodes that are much nearer to each other than the bandwidth, and
	 * joined by straight lines. */
	uint32_t step = (uint32_t)fmax(1, bandwidth * cells / 20), from = 0, to = 0;
	double before = 0;

	reflect(smoother, values, n, bandwidth);
	for (uint32_t last = 0, c = step; last < cells; last = c, c += step) {
		double x, now = 0;

		c = c < cells ? c : cells;
		x = (double)c / cells;
		while (from < smoother->n && smoother->x[from] <= x - bandwidth)
			from++;
		while (to < smoother->n && smoother->x[to] < x + bandwidth)
			to++;
		if (to >= from + 4)
			now = local_line(smoother, from, to, x, bandwidth);
		for (uint32_t i = last + 1; i <= c; i++)
			ret[i] += before + (now - before) * (i - last) / (c - last);
		before = now;
	}
}

void fold_make_rising(double *y, uint32_t cells)
{
	double mean[FOLD_MAX_CELLS + 1];
	uint32_t size[FOLD_MAX_CELLS + 1], blocks = 0, at = 0;

	for (uint32_t c = 0; c <= cells; c++) {
		mean[blocks] = y[c] < 0 ? 0 : y[c] > 1 ? 1 : y[c];
		size[blocks++] = 1;
		while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
			uint32_t both = size[blocks - 2] + size[blocks - 1];

			mean[blocks - 2] = (mean[blocks - 2] * size[blocks - 2] +
					    mean[blocks - 1] * size[blocks - 1]) /
					   both;
			size[blocks-- - 2] = both;
		}
	}
	for (uint32_t b = 0; b < blocks; b++)
		for (uint32_t i = 0; i < size[b]; i++)
			y[at++] = mean[b];
	y[0] = 0;
	y[cells] = 1;
}
