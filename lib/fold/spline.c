/* SPDX-License-Identifier: MIT */
/* Terms are columns of a least-squares problem; so is, for a step, the place of each kink. */
#include "fold/spline.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS  (2 * FOLD_MAX_TERMS + FOLD_MAX_KNOTS)
#define MIN_DISTANCE 1e-5 /* of two knots */

enum kind { KINK, BEND, MOVE };

struct column {
	uint32_t knot;
	enum kind kind;
};

struct spline_solver {
	uint32_t n;
	struct column columns[MAX_COLUMNS];
	bool is_in[MAX_COLUMNS]; /* the model */
	double penalty[2];
	double m[MAX_COLUMNS][MAX_COLUMNS], l[MAX_COLUMNS][MAX_COLUMNS];
	double moments[FOLD_MAX_TERMS][5];  /* sums of w * (x - knot)^k beyond a knot */
	double products[FOLD_MAX_TERMS][3]; /* the same times the distance from the spline */
	double right[MAX_COLUMNS], scale[MAX_COLUMNS], result[MAX_COLUMNS];
};

int spline_solver_new(struct spline_solver **ret)
{
	struct spline_solver *solver = calloc(1, sizeof(*solver));

	if (!solver)
		return -ENOMEM;
	*ret = solver;
	return 0;
}

double fold_spline_at(const struct fold_spline *spline, double x, struct spline_walk *walk)
{
	double *c = walk->c;

	for (; walk->next < spline->n && spline->knots[walk->next].at <= x; walk->next++) {
		const struct fold_knot *knot = &spline->knots[walk->next];
		double u = knot->at - walk->at;

		c[0] += u * (c[1] + u * c[2]);
		c[1] += 2 * u * c[2] + knot->kink;
		c[2] += knot->bend;
		walk->at = knot->at;
	}
	x -= walk->at;
	return c[0] + x * (c[1] + x * c[2]);
}

static double squares(const struct fold_spline *spline, const struct fold_mean *means, uint32_t n)
{
	struct spline_walk walk = {0};
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		double e = means[i].y - fold_spline_at(spline, means[i].x, &walk);

		sum += means[i].w * e * e;
	}
	return sum;
}

/* --- normal equations ---------------------------------------------------------------------- */

static void list_columns(struct spline_solver *s, const struct fold_spline *spline, bool may_move)
{
	s->n = 0;
	for (uint32_t k = 0; k < spline->n; k++) {
		if (spline->knots[k].has_kink)
			s->columns[s->n++] = (struct column){k, KINK};
		if (spline->knots[k].has_bend)
			s->columns[s->n++] = (struct column){k, BEND};
		if (spline->knots[k].has_kink && k > 0 && may_move)
			s->columns[s->n++] = (struct column){k, MOVE};
	}
}

/* Adds a point at u = x - at(knot) to the sums of its piece. */
static void add_point(struct spline_solver *s, uint32_t piece, double u, double w, double e)
{
	double *m = s->moments[piece], *r = s->products[piece];
	double wu = w * u, wuu = wu * u;

	m[0] += w;
	m[1] += wu;
	m[2] += wuu;
	m[3] += wuu * u;
	m[4] += wuu * u * u;
	r[0] += w * e;
	r[1] += wu * e;
	r[2] += wuu * e;
}

/* Makes the sums of each piece those of all points beyond its knot: those of the next, moved to
 * this knot, are added. All terms of the moments are positive, so nothing cancels. */
static void accumulate(struct spline_solver *s, const struct fold_spline *spline)
{
	for (uint32_t k = spline->n - 1; k-- > 0;) {
		double d = spline->knots[k + 1].at - spline->knots[k].at, d2 = d * d;
		const double *m = s->moments[k + 1], *r = s->products[k + 1];
		double *sum = s->moments[k], *product = s->products[k];

		sum[0] += m[0];
		sum[1] += m[1] + d * m[0];
		sum[2] += m[2] + 2 * d * m[1] + d2 * m[0];
		sum[3] += m[3] + 3 * d * m[2] + 3 * d2 * m[1] + d2 * d * m[0];
		sum[4] += m[4] + 4 * d * m[3] + 6 * d2 * m[2] + 4 * d2 * d * m[1] + d2 * d2 * m[0];
		product[0] += r[0];
		product[1] += r[1] + d * r[0];
		product[2] += r[2] + 2 * d * r[1] + d2 * r[0];
	}
}

static void sum_points(struct spline_solver *s, const struct fold_spline *spline,
		       const struct fold_mean *means, uint32_t n)
{
	struct spline_walk walk = {0};
	double heaviest = 0, e;

	memset(s->moments, 0, spline->n * sizeof(s->moments[0]));
	memset(s->products, 0, spline->n * sizeof(s->products[0]));
	for (uint32_t i = 0; i < n; i++) {
		e = means[i].y - fold_spline_at(spline, means[i].x, &walk);
		add_point(s, walk.next - 1, means[i].x - walk.at, means[i].w, e);
		heaviest = fmax(heaviest, means[i].w);
	}
	e = 1 - fold_spline_at(spline, 1, &walk);
	add_point(s, walk.next - 1, 1 - walk.at, heaviest * 1e4, e);
	accumulate(s, spline);
}

/* A column as a polynomial in u = x - at(knot). */
static void polynomial(const struct fold_spline *spline, const struct column *column, double *p)
{
	const struct fold_knot *knot = &spline->knots[column->knot];

	p[0] = column->kind == MOVE ? -knot->kink : 0;
	p[1] = column->kind == MOVE ? -2 * knot->bend : column->kind == KINK;
	p[2] = column->kind == BEND;
}

/* The sum over points of the product of two columns, the second of which begins no earlier. */
static double product(const struct spline_solver *s, const struct fold_spline *spline, uint32_t i,
		      uint32_t j)
{
	uint32_t a = s->columns[i].knot, b = s->columns[j].knot;
	double d = spline->knots[b].at - spline->knots[a].at, sum = 0, p[3], q[3];

	polynomial(spline, &s->columns[i], p);
	polynomial(spline, &s->columns[j], q);
	p[0] += d * (p[1] + d * p[2]);
	p[1] += 2 * d * p[2];
	for (uint32_t k = 0; k < 3; k++)
		for (uint32_t l = 0; l < 3; l++)
			sum += p[k] * q[l] * s->moments[b][k + l];
	return sum;
}

/* Sets up the equations for what is to be added to the spline's terms. A heavy point at (1, 1)
 * makes it end there. */
static void set_up(struct spline_solver *s, const struct fold_spline *spline,
		   const struct fold_mean *means, uint32_t n)
{
	sum_points(s, spline, means, n);
	for (uint32_t j = 0; j < s->n; j++) {
		const double *r = s->products[s->columns[j].knot];
		double q[3];

		polynomial(spline, &s->columns[j], q);
		s->right[j] = q[0] * r[0] + q[1] * r[1] + q[2] * r[2];
		for (uint32_t i = 0; i <= j; i++)
			s->m[j][i] = product(s, spline, i, j);
		s->scale[j] = s->m[j][j] > 0 ? 1 / sqrt(s->m[j][j]) : 0;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		for (uint32_t j = 0; j < i; j++)
			s->m[i][j] *= s->scale[i] * s->scale[j];
		s->m[i][i] = 1 + 1e-11;
		s->right[i] *= s->scale[i];
	}
}

/* Decomposes the matrix, with its diagonal enlarged, into L L^T, in the lower half of `l`. */
static void decompose(const struct spline_solver *s, double damping, double l[][MAX_COLUMNS])
{
	for (uint32_t i = 0; i < s->n; i++) {
		for (uint32_t j = 0; j <= i; j++) {
			double sum = s->m[i][j] + (i == j ? damping : 0);

			for (uint32_t k = 0; k < j; k++)
				sum -= l[i][k] * l[j][k];
			l[i][j] = i == j ? sqrt(fmax(sum, 1e-13)) : sum / l[j][j];
		}
	}
}

static void substitute(const struct spline_solver *s, double l[][MAX_COLUMNS], double *v)
{
	for (uint32_t i = 0; i < s->n; i++) {
		for (uint32_t k = 0; k < i; k++)
			v[i] -= l[i][k] * v[k];
		v[i] /= l[i][i];
	}
	for (uint32_t i = s->n; i-- > 0;) {
		for (uint32_t k = i + 1; k < s->n; k++)
			v[i] -= l[k][i] * v[k];
		v[i] /= l[i][i];
	}
}

static void solve(struct spline_solver *s, double damping)
{
	decompose(s, damping, s->l);
	memcpy(s->result, s->right, s->n * sizeof(s->right[0]));
	substitute(s, s->l, s->result);
	for (uint32_t i = 0; i < s->n; i++)
		s->result[i] *= s->scale[i];
}

static void fit_terms(struct spline_solver *s, struct fold_spline *spline,
		      const struct fold_mean *means, uint32_t n)
{
	list_columns(s, spline, false);
	set_up(s, spline, means, n);
	solve(s, 0);
	for (uint32_t i = 0; i < s->n; i++) {
		struct fold_knot *knot = &spline->knots[s->columns[i].knot];

		if (s->columns[i].kind == KINK)
			knot->kink += s->result[i];
		else
			knot->bend += s->result[i];
	}
}

/* --- moving kinks -------------------------------------------------------------------------- */

static bool move(const struct spline_solver *s, struct fold_spline *spline)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->columns[i].kind == MOVE)
			spline->knots[s->columns[i].knot].at += s->result[i];
	for (uint32_t k = 1; k < spline->n; k++)
		if (!(spline->knots[k].at - spline->knots[k - 1].at >= MIN_DISTANCE))
			return false;
	return spline->knots[spline->n - 1].at <= 1 - MIN_DISTANCE;
}

double fold_spline_refine(struct spline_solver *s, struct fold_spline *spline,
			  const struct fold_mean *means, uint32_t n, unsigned steps)
{
	double left, damping = 1e-4;

	fit_terms(s, spline, means, n);
	left = squares(spline, means, n);
	for (unsigned i = 0; i < steps && damping < 1e4; i++) {
		struct fold_spline moved = *spline;
		double now = INFINITY;

		list_columns(s, spline, true);
		set_up(s, spline, means, n);
		solve(s, damping);
		if (move(s, &moved)) {
			fit_terms(s, &moved, means, n);
			now = squares(&moved, means, n);
		}
		damping *= now < left ? 0.1 : 10;
		if (!(now < left))
			continue;
		*spline = moved;
		if (left - now < 1e-5 * left)
			return now;
		left = now;
	}
	return left;
}

/* --- the choice of terms ------------------------------------------------------------------- */

/* The sweep operator (Goodnight 1979): puts column k into the model, or takes it out again. Of
 * columns in it, the diagonal holds the inverse and `right` the coefficient; of others, what is
 * left of their squares, and of their product with y. */
static void sweep(struct spline_solver *s, uint32_t k)
{
	double pivot = s->m[k][k];

	for (uint32_t j = 0; j < s->n; j++)
		s->m[k][j] /= pivot;
	s->right[k] /= pivot;
	for (uint32_t i = 0; i < s->n; i++) {
		double f = s->m[i][k];

		if (i == k)
			continue;
		for (uint32_t j = 0; j < s->n; j++)
			s->m[i][j] -= f * s->m[k][j];
		s->m[i][k] = -f / pivot;
		s->right[i] -= f * s->right[k];
	}
	s->m[k][k] = 1 / pivot;
	s->is_in[k] = !s->is_in[k];
}

/* What column k adds to the sum of squares if it leaves the model, or takes from it if it enters,
 * over the penalty; 0 for columns that depend on those in it. */
static double worth(const struct spline_solver *s, uint32_t k)
{
	double squares = s->right[k] * s->right[k] / fmax(s->m[k][k], DBL_MIN);

	if (!s->is_in[k] && s->m[k][k] < 1e-9)
		return 0;
	return squares / s->penalty[s->columns[k].kind];
}

/* Puts kinks in while there is one that is worth it, the best first. */
static void enter_kinks(struct spline_solver *s)
{
	for (;;) {
		uint32_t best = 0;
		double most = 1;

		for (uint32_t i = 1; i < s->n; i++)
			if (!s->is_in[i] && s->columns[i].kind == KINK && worth(s, i) > most) {
				most = worth(s, i);
				best = i;
			}
		if (best == 0)
			return;
		sweep(s, best);
	}
}

/* Takes columns out while there is one that is not worth its penalty, the worst first. */
static void eliminate(struct spline_solver *s)
{
	for (;;) {
		uint32_t worst = 0;
		double least = 1;

		for (uint32_t i = 1; i < s->n; i++) /* the first is the rate at 0 */
			if (s->is_in[i] && worth(s, i) < least) {
				least = worth(s, i);
				worst = i;
			}
		if (worst == 0)
			return;
		sweep(s, worst);
	}
}

static void keep_columns(const struct spline_solver *s, struct fold_spline *spline)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < spline->n; k++)
		spline->knots[k].has_kink = spline->knots[k].has_bend = false;
	for (uint32_t i = 0; i < s->n; i++) {
		struct fold_knot *knot = &spline->knots[s->columns[i].knot];

		if (s->is_in[i] && s->columns[i].kind == KINK)
			knot->has_kink = true;
		else if (s->is_in[i])
			knot->has_bend = true;
	}
	for (uint32_t k = 0; k < spline->n; k++)
		if (spline->knots[k].has_kink || spline->knots[k].has_bend) {
			spline->knots[kept] = spline->knots[k];
			spline->knots[kept].kink = spline->knots[kept].bend = 0;
			kept++;
		}
	spline->n = kept;
}

/* Sets up the columns of all terms, with those of the given kind in the model. */
static void begin(struct spline_solver *s, struct fold_spline *spline,
		  const struct fold_mean *means, uint32_t n, bool with_kinks)
{
	for (uint32_t k = 0; k < spline->n; k++)
		spline->knots[k].kink = spline->knots[k].bend = 0;
	list_columns(s, spline, false);
	set_up(s, spline, means, n);
	for (uint32_t i = 0; i < s->n; i++) {
		s->is_in[i] = false;
		for (uint32_t j = 0; j < i; j++)
			s->m[j][i] = s->m[i][j];
	}
	for (uint32_t i = 0; i < s->n; i++)
		if ((i == 0 || with_kinks || s->columns[i].kind == BEND) && s->m[i][i] >= 1e-9)
			sweep(s, i);
}

/* Puts terms at the knots of a line: kinks and bends, and bends alone at a distance on both sides.
 */
static void put_terms(const struct broken_line *line, double beside, struct fold_spline *ret)
{
	double last = 0;

	ret->n = 0;
	for (uint32_t k = 0; k + 1 < line->n; k++) {
		double at = line->at[k], next = line->at[k + 1];

		if (beside > 0 && at - beside > last + beside / 2)
			ret->knots[ret->n++] =
				(struct fold_knot){.at = at - beside, .has_bend = true};
		ret->knots[ret->n++] = (struct fold_knot){at, true, true, 0, 0};
		last = at;
		if (beside > 0 && at + beside < next - beside / 2)
			ret->knots[ret->n++] =
				(struct fold_knot){.at = last = at + beside, .has_bend = true};
	}
}

void fold_spline_choose(struct spline_solver *solver, const struct broken_line *line,
			const struct fold_mean *means, uint32_t n,
			const struct fold_spline_choice *choice, struct fold_spline *ret)
{
	solver->penalty[KINK] = choice->kink;
	solver->penalty[BEND] = choice->bend;
	put_terms(line, choice->beside, ret);
	begin(solver, ret, means, n, !choice->is_smooth);
	if (choice->is_smooth)
		enter_kinks(solver);
	eliminate(solver);
	keep_columns(solver, ret);
	fold_spline_refine(solver, ret, means, n, choice->steps);
	begin(solver, ret, means, n, true);
	eliminate(solver);
	keep_columns(solver, ret);
	fold_spline_refine(solver, ret, means, n, choice->steps);
}
