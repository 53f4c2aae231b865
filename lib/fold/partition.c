/* SPDX-License-Identifier: MIT */
/* Dynamic programming over partitions; see pieces.h. */
#include "fold/partition.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS (PIECE_DEGREE + 1)
#define MORE	2 /* means than coefficients that a piece has at least: it must be judged by some */

double partition_penalty(uint32_t degree, double unit)
{
	return 2 * (1 + degree) * unit;
}

/* --- least squares, a row at a time ----------------------------------------------------------- */

/* The decomposition R^T D R of the normal equations of the columns 1, u, u^2, ..., with ones on the
 * diagonal of the triangle R, and y rotated as these are: Givens' rotations without square roots
 * (Gentleman 1974, algorithm AS 75). Of the fit by the first d + 1 columns, the sum of squares is
 * what the other columns would explain, and the rest. */
struct triangle {
	uint32_t rows;
	double origin; /* u = x - origin */
	double d[COLUMNS], r[COLUMNS][COLUMNS], z[COLUMNS];
	double rest;
};

static void add_row(struct triangle *t, const struct fold_mean *m)
{
	double row[COLUMNS], y = m->y, w = m->w, u = m->x - t->origin;

	row[0] = 1;
	for (uint32_t i = 1; i < COLUMNS; i++)
		row[i] = row[i - 1] * u;
	for (uint32_t i = 0; i < COLUMNS; i++) {
		double x = row[i], d = t->d[i] + w * x * x, c, s, z = t->z[i];

		if (x == 0 || d <= 0)
			continue;
		c = t->d[i] / d;
		s = w * x / d;
		t->d[i] = d;
		w *= c;
		for (uint32_t j = i + 1; j < COLUMNS; j++) {
			double r = t->r[i][j];

			t->r[i][j] = c * r + s * row[j];
			row[j] -= x * r;
		}
		t->z[i] = c * z + s * y;
		y -= x * z;
	}
	t->rest += w * y * y;
	t->rows++;
}

/* The cost of the best degree. */
static double cost_of(const struct triangle *t, double unit, uint32_t *ret_degree)
{
	double squares = t->rest, least = INFINITY;

	for (uint32_t d = PIECE_DEGREE; d > 0; d--) {
		double cost = squares + partition_penalty(d, unit);

		if (cost < least && t->rows > d + MORE) {
			least = cost;
			*ret_degree = d;
		}
		squares += t->d[d] * t->z[d] * t->z[d];
	}
	return least;
}

static void coefficients(const struct triangle *t, uint32_t degree, double *c)
{
	for (uint32_t i = degree + 1; i-- > 0;) {
		c[i] = t->z[i];
		for (uint32_t j = i + 1; j <= degree; j++)
			c[i] -= t->r[i][j] * c[j];
	}
}

/* --- the partition ---------------------------------------------------------------------------- */

struct partition {
	const struct fold_mean *means;
	uint32_t n;
	double unit;
	double *cost;		 /* n + 1: of the best partition of the means before one */
	uint32_t *from, *degree; /* n + 1: of the last piece of that */
};

/* A beginning is given up where what was found for a later one is better whatever comes: that can
 * begin a piece of its own there. */
static void extend(struct partition *p, uint32_t from)
{
	struct triangle t = {.origin = p->means[from].x};
	double least = p->cost[from], another = partition_penalty(PIECE_DEGREE, p->unit);

	for (uint32_t to = from + 1; to <= p->n; to++) {
		uint32_t degree = 1;
		double cost;

		add_row(&t, &p->means[to - 1]);
		if (least + t.rest > p->cost[to] + another)
			return;
		cost = least + cost_of(&t, p->unit, &degree);
		if (cost < p->cost[to]) {
			p->cost[to] = cost;
			p->from[to] = from;
			p->degree[to] = degree;
		}
	}
}

/* Returns the number of pieces; 0: there are too few means for one. */
static uint32_t partition(struct partition *p)
{
	uint32_t pieces = 0;

	for (uint32_t i = 1; i <= p->n; i++)
		p->cost[i] = INFINITY;
	p->cost[0] = 0;
	for (uint32_t from = 0; from < p->n; from++)
		if (p->cost[from] < INFINITY)
			extend(p, from);
	if (p->cost[p->n] == INFINITY)
		return 0;
	for (uint32_t to = p->n; to > 0; to = p->from[to])
		pieces++;
	return pieces;
}

/* --- knots ------------------------------------------------------------------------------------ */

struct polynomial {
	double origin, c[COLUMNS];
	uint32_t degree;
};

static double polynomial_at(const struct polynomial *p, double x)
{
	double sum = 0;

	for (uint32_t i = p->degree + 1; i-- > 0;)
		sum = sum * (x - p->origin) + p->c[i];
	return sum;
}

static struct polynomial fit(const struct partition *p, uint32_t to)
{
	struct polynomial made = {.origin = p->means[p->from[to]].x, .degree = p->degree[to]};
	struct triangle t = {.origin = made.origin};

	for (uint32_t i = p->from[to]; i < to; i++)
		add_row(&t, &p->means[i]);
	coefficients(&t, made.degree, made.c);
	return made;
}

/* Puts one knot where two pieces cross near their border, else two beside it. */
static uint32_t place_knots(const struct partition *p, uint32_t border, const struct polynomial *a,
			    const struct polynomial *b, bool may_jump, double *at)
{
	uint32_t from = border > 2 ? border - 3 : 0;
	uint32_t to = border + 2 < p->n ? border + 2 : p->n - 1;
	double x0 = p->means[border - 1].x, x1 = p->means[border].x, before = 0;

	for (uint32_t i = from; i <= to; i++) {
		double x = p->means[i].x, more = polynomial_at(b, x) - polynomial_at(a, x);

		if (i > from && before * more <= 0 && before != more) {
			double last = p->means[i - 1].x;

			at[0] = last + (x - last) * before / (before - more);
			return 1;
		}
		before = more;
	}
	at[0] = may_jump ? x0 + (x1 - x0) * 0.1 : (x0 + x1) / 2;
	at[1] = x0 + (x1 - x0) * 0.9;
	return may_jump ? 2 : 1;
}

static void join(const struct partition *p, uint32_t pieces, struct fold_pieces *ret)
{
	bool may_jump = 2 * pieces <= FOLD_MAX_KNOTS;
	uint32_t end[FOLD_MAX_KNOTS], i = pieces;
	struct polynomial last, next;

	for (uint32_t to = p->n; to > 0; to = p->from[to])
		end[--i] = to;
	*ret = (struct fold_pieces){.n = 1};
	last = fit(p, end[0]);
	ret->degree[0] = last.degree;
	for (i = 1; i < pieces; i++, last = next) {
		uint32_t made;

		next = fit(p, end[i]);
		made = place_knots(p, end[i - 1], &last, &next, may_jump, &ret->at[ret->n]);
		for (uint32_t k = 0; k < made; k++, ret->n++) {
			ret->at[ret->n] = fmax(ret->at[ret->n], ret->at[ret->n - 1] + 2e-5);
			ret->degree[ret->n] = k + 1 == made ? next.degree : 1;
		}
	}
	ret->at[ret->n] = ret->value[ret->n] = 1;
	ret->n++;
	for (uint32_t k = ret->n - 1; k-- > 1;)
		ret->at[k] = fmin(ret->at[k], ret->at[k + 1] - 2e-5);
	for (uint32_t k = 1; k + 1 < ret->n; k++)
		ret->value[k] = ret->at[k];
}

int partition_find(const struct fold_mean *means, uint32_t n, double unit, struct fold_pieces *ret)
{
	struct partition p = {.means = means,
			      .n = n,
			      .unit = unit,
			      .cost = calloc(n + 1, sizeof(*p.cost)),
			      .from = calloc(n + 1, sizeof(*p.from)),
			      .degree = calloc(n + 1, sizeof(*p.degree))};
	int err = p.cost && p.from && p.degree ? 0 : -ENOMEM;
	uint32_t pieces = 0;

	if (!err)
		pieces = partition(&p);
	while (pieces > FOLD_MAX_KNOTS - 1) {
		p.unit *= 1.5;
		pieces = partition(&p);
	}
	if (!err && pieces)
		join(&p, pieces, ret);
	else if (!err)
		*ret = (struct fold_pieces){
			.n = 2, .at = {0, 1}, .value = {0, 1}, .degree = {1, 1}};
	free(p.cost);
	free(p.from);
	free(p.degree);
	return err;
}
