/* SPDX-License-Identifier: MIT */
/* The two least-squares problems; both matrices are banded, since a mean point has two knots. */
#include "fold/broken_line.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MIN_DISTANCE 1e-5 /* of two knots: a jump is a piece of at least this length */

double broken_line_at(const struct broken_line *line, double x, uint32_t *knot)
{
	uint32_t k = *knot;
	double t;

	while (k > 0 && x < line->at[k])
		k--;
	while (k + 2 < line->n && x >= line->at[k + 1])
		k++;
	*knot = k;
	t = (x - line->at[k]) / (line->at[k + 1] - line->at[k]);
	return line->value[k] + t * (line->value[k + 1] - line->value[k]);
}

static double squares(const struct broken_line *line, const struct fold_mean *means, uint32_t n)
{
	double sum = 0;
	uint32_t knot = 0;

	for (uint32_t i = 0; i < n; i++) {
		double e = means[i].y - broken_line_at(line, means[i].x, &knot);

		sum += means[i].w * e * e;
	}
	return sum;
}

/* The sums of the normal equations for hat functions at the knots: diag[k], next[k] between k and
 * k + 1, and right[k]. */
struct hats {
	double diag[FOLD_MAX_KNOTS], next[FOLD_MAX_KNOTS], right[FOLD_MAX_KNOTS];
};

static void sum_hats(const struct broken_line *line, const struct fold_mean *means, uint32_t n,
		     struct hats *h)
{
	uint32_t k = 0;

	memset(h, 0, sizeof(*h));
	for (uint32_t i = 0; i < n; i++) {
		double x = means[i].x, w = means[i].w, t;

		while (k + 2 < line->n && x >= line->at[k + 1])
			k++;
		t = (x - line->at[k]) / (line->at[k + 1] - line->at[k]);
		h->diag[k] += w * (1 - t) * (1 - t);
		h->diag[k + 1] += w * t * t;
		h->next[k] += w * t * (1 - t);
		h->right[k] += w * (1 - t) * means[i].y;
		h->right[k + 1] += w * t * means[i].y;
	}
}

/* Solves for the values where knot k has unknown id[k]: knots of one unknown have one value. The
 * first unknown is 0 and the last, n_ids - 1, is 1. Ids rise by at most 1. */
static void solve_tied(struct broken_line *line, const struct hats *h, const uint32_t *id)
{
	uint32_t n_ids = id[line->n - 1] + 1;
	double diag[FOLD_MAX_KNOTS] = {0}, next[FOLD_MAX_KNOTS] = {0}, v[FOLD_MAX_KNOTS] = {0};
	double largest = 0;

	for (uint32_t k = 0; k < line->n; k++) {
		diag[id[k]] += h->diag[k];
		v[id[k]] += h->right[k];
		if (k + 1 < line->n && id[k + 1] == id[k])
			diag[id[k]] += 2 * h->next[k];
		else if (k + 1 < line->n)
			next[id[k]] += h->next[k];
		largest = fmax(largest, h->diag[k]);
	}
	/* A knot between whose neighbours no point lies is drawn to the mean of these, by little.
	 */
	for (uint32_t k = 0; k + 1 < n_ids; k++) {
		double pull = largest * 1e-12 + DBL_MIN;

		diag[k] += pull;
		diag[k + 1] += pull;
		next[k] -= pull;
	}
	v[0] = 0;
	v[n_ids - 1] = 1;
	for (uint32_t k = 1; k + 1 < n_ids; k++) {
		double f = k > 1 ? next[k - 1] / diag[k - 1] : 0;

		diag[k] -= f * next[k - 1] * (k > 1);
		v[k] -= f * v[k - 1];
	}
	for (uint32_t k = n_ids - 1; k-- > 1;)
		v[k] = (v[k] - next[k] * v[k + 1]) / diag[k];
	for (uint32_t k = 0; k < line->n; k++)
		line->value[k] = v[id[k]];
}

double broken_line_solve(struct broken_line *line, const struct fold_mean *means, uint32_t n)
{
	struct hats h;
	uint32_t id[FOLD_MAX_KNOTS];

	sum_hats(line, means, n, &h);
	for (uint32_t k = 0; k < line->n; k++)
		id[k] = k;
	solve_tied(line, &h, id);
	return squares(line, means, n);
}

/* Ties neighbours whose values fall. Returns whether there are any. */
static bool tie_falling(const struct broken_line *line, uint32_t *id)
{
	uint32_t last = 0, before = id[0];
	bool any = false;

	for (uint32_t k = 1; k < line->n; k++) {
		bool is_tied = id[k] == before;
		bool is_falling = line->value[k] < line->value[k - 1] && !is_tied;

		before = id[k];
		any = any || is_falling;
		last += !is_tied && !is_falling;
		id[k] = last;
	}
	return any;
}

double broken_line_solve_rising(struct broken_line *line, const struct fold_mean *means, uint32_t n)
{
	struct hats h;
	uint32_t id[FOLD_MAX_KNOTS];

	sum_hats(line, means, n, &h);
	for (uint32_t k = 0; k < line->n; k++)
		id[k] = k;
	do
		solve_tied(line, &h, id);
	while (tie_falling(line, id));
	return squares(line, means, n);
}

/* --- moving knots -------------------------------------------------------------------------- */

/* The unknowns of the inner knots k = 1, 2, ...: value, place, value, place, ... A mean point
 * depends on those of two knots, so the matrix has three diagonals beside the main one. */
#define UNKNOWNS (2 * FOLD_MAX_KNOTS)
#define BAND	 4

struct normal {
	uint32_t n;
	double m[UNKNOWNS][BAND]; /* m[i][j] is the element (i, i + j) */
	double g[UNKNOWNS];
};

static void add_point(struct normal *normal, uint32_t first, uint32_t from, uint32_t to,
		      const double *d, double w, double e)
{
	for (uint32_t a = from; a < to; a++) {
		uint32_t i = first + a - 2; /* the knot at 0 has no unknowns */

		normal->g[i] += w * d[a] * e;
		for (uint32_t b = a; b < to; b++)
			normal->m[i][b - a] += w * d[a] * d[b];
	}
}

static void linearise(const struct broken_line *line, const struct fold_mean *means, uint32_t n,
		      struct normal *normal)
{
	uint32_t k = 0;

	memset(normal, 0, sizeof(*normal));
	normal->n = 2 * (line->n - 2);
	for (uint32_t i = 0; i < n; i++) {
		double e = means[i].y - broken_line_at(line, means[i].x, &k);
		double length = line->at[k + 1] - line->at[k];
		double t = (means[i].x - line->at[k]) / length;
		double slope = (line->value[k + 1] - line->value[k]) / length;
		double d[4] = {1 - t, -slope * (1 - t), t, -slope * t};

		add_point(normal, 2 * k, k == 0 ? 2 : 0, k + 2 == line->n ? 2 : 4, d, means[i].w,
			  e);
	}
}

/* Solves with the diagonal enlarged by `damping`, by Cholesky's decomposition; `g` becomes the
 * result. */
static void solve_banded(struct normal *s, double damping)
{
	double largest = DBL_MIN;

	for (uint32_t i = 0; i < s->n; i++)
		largest = fmax(largest, s->m[i][0]);
	for (uint32_t i = 0; i < s->n; i++)
		s->m[i][0] += damping * (s->m[i][0] + 1e-9 * largest);
	for (uint32_t i = 0; i < s->n; i++) {
		for (uint32_t j = 1; j < BAND && i + j < s->n; j++) {
			double f = s->m[i][j] / s->m[i][0];

			for (uint32_t l = j; l < BAND && i + l < s->n; l++)
				s->m[i + j][l - j] -= f * s->m[i][l];
			s->g[i + j] -= f * s->g[i];
		}
	}
	for (uint32_t i = s->n; i-- > 0;) {
		for (uint32_t j = 1; j < BAND && i + j < s->n; j++)
			s->g[i] -= s->m[i][j] * s->g[i + j];
		s->g[i] /= s->m[i][0];
	}
}

/* Whether the line has moved: its knots must stay in order. */
static bool move(struct broken_line *line, const struct normal *step)
{
	for (uint32_t k = 1; k + 1 < line->n; k++)
		line->at[k] += step->g[2 * k - 1];
	for (uint32_t k = 1; k < line->n; k++)
		if (!(line->at[k] - line->at[k - 1] >= MIN_DISTANCE))
			return false;
	return true;
}

double broken_line_refine(struct broken_line *line, const struct fold_mean *means, uint32_t n,
			  unsigned steps)
{
	double left = broken_line_solve(line, means, n), damping = 1e-3;
	struct normal normal, step;
	bool is_stale = true;

	for (unsigned i = 0; i < steps && line->n > 2 && damping < 1e8; i++) {
		struct broken_line moved = *line;
		double now;

		if (is_stale)
			linearise(line, means, n, &normal);
		step = normal;
		solve_banded(&step, damping);
		now = move(&moved, &step) ? broken_line_solve(&moved, means, n) : INFINITY;
		is_stale = now < left;
		damping *= is_stale ? 0.1 : 10;
		if (!is_stale)
			continue;
		*line = moved;
		if (left - now < 1e-6 * left)
			return now;
		left = now;
	}
	return left;
}
