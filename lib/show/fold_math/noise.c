/* SPDX-License-Identifier: MIT */
/*
 * Estimates variances; see noise.h. The variances of cells are smoothed over adjacent cells,
 * because a cell has few points. The widths of this smoothing and of the contrasts were chosen by
 * hand with the first ten curves of tests/unit/fold_truth.h (bench/fold_fit accuracy).
 */
#include "fold_math/noise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define WINDOW 20 /* a window is cells / WINDOW cells to each side */

/* Sets ret[i] to the sum of squares divided by the sum of weights, over a window of cells around i.
 * Near the ends the window is smaller, because the variance falls to 0 there. */
static void smooth(const double *squares, const double *weights, uint32_t n, double *ret)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t side = n / WINDOW, edge = i < n - 1 - i ? i : n - 1 - i;
		double s = 0, w = 0;

		if (side > edge / 2 + 2)
			side = edge / 2 + 2;
		for (uint32_t k = i > side ? i - side : 0; k <= i + side && k < n; k++) {
			s += squares[k];
			w += weights[k];
		}
		ret[i] = w > 0 ? s / w : NAN;
	}
	for (uint32_t i = 1; i < n; i++)
		if (isnan(ret[i]))
			ret[i] = ret[i - 1];
	for (uint32_t i = n - 1; i-- > 0;)
		if (isnan(ret[i]))
			ret[i] = ret[i + 1];
}

static double mean_x(const struct fold_sum *sum, uint32_t cell, uint32_t cells)
{
	return (cell + 0.5) / cells + sum->x / sum->w;
}

void fold_noise_guess(const struct fold_cells *cells, double *ret)
{
	double squares[FOLD_MAX_CELLS], weights[FOLD_MAX_CELLS];
	uint32_t a = UINT32_MAX, b = UINT32_MAX;

	for (uint32_t c = 0; c < cells->n; c++) {
		const struct fold_sum *all = cells->all;
		double xa, xb, xc, t, e, variance;

		squares[c] = weights[c] = 0;
		if (all[c].w <= 0)
			continue;
		if (a != UINT32_MAX) {
			xa = mean_x(&all[a], a, cells->n);
			xb = mean_x(&all[b], b, cells->n);
			xc = mean_x(&all[c], c, cells->n);
			t = (xb - xa) / (xc - xa);
			e = all[b].y / all[b].w - (1 - t) * all[a].y / all[a].w -
			    t * all[c].y / all[c].w;
			variance =
				(1 / all[b].w + (1 - t) * (1 - t) / all[a].w + t * t / all[c].w) *
				cells->point_weight;
			squares[b] = e * e / variance;
			weights[b] = 1;
		}
		a = b;
		b = c;
	}
	smooth(squares, weights, cells->n, ret);
}

/* --- between groups ------------------------------------------------------------------------ */

#define SCALES 3
static const uint32_t widths[SCALES] = {100, 25, 8}; /* a contrast is as wide as cells / width */

/* Sums over groups, by cell. A group's score is its sum of weight times distance from the
 * pieces. */
struct scores {
	uint32_t n;
	double *squares; /* n elements: squares of scores */
	/* n elements per scale: squares of the contrast of the scores of the cells from this one
	 * on */
	double *contrast[SCALES];
	double *before; /* n + 1 elements: running sum of the current group's scores */
};

static int scores_new(struct scores *s, uint32_t n)
{
	s->n = n;
	s->squares = calloc(n * (SCALES + 2) + 1, sizeof(*s->squares));
	if (!s->squares)
		return -ENOMEM;
	for (uint32_t i = 0; i < SCALES; i++)
		s->contrast[i] = s->squares + n * (i + 1);
	s->before = s->squares + n * (SCALES + 1);
	return 0;
}

static void add_group(struct scores *s, const struct fold_sum *sums,
		      const struct fold_pieces *pieces)
{
	uint32_t knot = 0;

	for (uint32_t c = 0; c < s->n; c++) {
		double score = 0;

		if (sums[c].w > 0)
			score = sums[c].y - sums[c].w * fold_pieces_at(pieces,
								       mean_x(&sums[c], c, s->n),
								       &knot);
		s->squares[c] += score * score;
		s->before[c + 1] = s->before[c] + score;
	}
	for (uint32_t i = 0; i < SCALES; i++) {
		uint32_t quarter = s->n / widths[i] / 4 + 1;

		/* A contrast weighs the first and the last quarter of its scores by -1 and the rest
		 * by 1, so it is 0 for scores that lie on a line. */
		for (uint32_t c = 0; c + 4 * quarter <= s->n; c++) {
			double whole = s->before[c + 4 * quarter] - s->before[c];
			double half = s->before[c + 3 * quarter] - s->before[c + quarter];

			s->contrast[i][c] += (2 * half - whole) * (2 * half - whole);
		}
	}
}

/* Returns the mean, over all positions, of a scale's squared contrast divided by the sum of the
 * squares of its scores: 1 if cells are independent. */
static double ratio_of(const struct scores *s, uint32_t scale)
{
	uint32_t width = 4 * (s->n / widths[scale] / 4 + 1), count = 0;
	double sum = 0, squares = 0;

	for (uint32_t c = 0; c < s->n; c++) {
		squares += s->squares[c];
		if (c >= width)
			squares -= s->squares[c - width];
		if (c + 1 < width || squares <= 0)
			continue;
		sum += s->contrast[scale][c + 1 - width] / squares;
		count++;
	}
	return count ? sum / count : 1;
}

int fold_noise_between(const struct fold_cells *cells, const struct fold_pieces *pieces,
		       double *ret, double *ret_ratio)
{
	struct scores s;
	double ratio = 1, few = (double)cells->groups / (cells->groups - 1 + (cells->groups == 1));
	double weights[FOLD_MAX_CELLS];

	if (scores_new(&s, cells->n) < 0)
		return -ENOMEM;
	for (uint32_t g = 0; g < cells->groups; g++)
		add_group(&s, &cells->of_group[(size_t)g * cells->n], pieces);
	for (uint32_t c = 0; c < cells->n; c++)
		weights[c] = cells->all[c].w * cells->point_weight / few;
	smooth(s.squares, weights, cells->n, ret);
	for (uint32_t i = 0; i < SCALES; i++)
		ratio = fmax(ratio, ratio_of(&s, i));
	*ret_ratio = ratio;
	free(s.squares);
	return 0;
}

uint32_t fold_means(const struct fold_sum *sums, uint32_t cells, double point_weight,
		    const double *variance, double ratio, double least, struct fold_mean *ret)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < cells; c++) {
		double count = sums[c].w / point_weight;

		if (!(count > 1e-9))
			continue;
		/* If all points of a cell are at x = 0, rounding could put their mean below it. */
		ret[n].x = fmin(1, fmax(0, mean_x(&sums[c], c, cells)));
		ret[n].y = sums[c].y / sums[c].w;
		ret[n].w = 1 / (variance[c] * ratio / count + least);
		n++;
	}
	return n;
}
