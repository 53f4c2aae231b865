/* SPDX-License-Identifier: MIT */
/* Fits pieces with given knots, and moves the knots; see pieces.h. partition.c chooses the first
 * knots. The constants of the search were chosen by hand; bench/fold_fit families shows which
 * breaks are missed (docs/FOLD.md). */
#include "fold_math/pieces.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "fold_math/forms.h"
#include "fold_math/partition.h"

#define MIN_DISTANCE 1e-5 /* least distance of two knots: the length of a jump's piece */
#define PRUNE_STEPS  12	  /* steps in which the knots move after one was removed */
#define STEPS	     30
#define BEND_STEPS   4 /* steps in which bends are fitted while the knots stay */
#define MOST_BEND    20
#define JUMP	     3.0 /* a jump has at most so many means between its two knots, on average */

/* --- one piece -------------------------------------------------------------------------------- */

/* Returns the value of piece k at x. Sets `d` to its derivatives: by value and place of the first
 * knot, by value and place of the second, and by the bubbles. */
static double value_at(const struct fold_pieces *p, uint32_t k, double x, double *d)
{
	double length = p->at[k + 1] - p->at[k], t = (x - p->at[k]) / length;
	double range = p->value[k + 1] - p->value[k], slope, by_range;
	double value = form_at(p, k, t, &slope, &by_range, d + 4);

	slope += range;
	d[0] = 1 - t - by_range;
	d[1] = -slope * (1 - t) / length;
	d[2] = t + by_range;
	d[3] = -slope * t / length;
	return p->value[k] + t * range + value;
}

static uint32_t piece_at(const struct fold_pieces *p, double x, uint32_t k)
{
	while (k > 0 && x < p->at[k])
		k--;
	while (k + 2 < p->n && x >= p->at[k + 1])
		k++;
	return k;
}

double fold_pieces_at(const struct fold_pieces *pieces, double x, uint32_t *knot)
{
	double d[4 + PIECE_BUBBLES];

	*knot = piece_at(pieces, x, *knot);
	return value_at(pieces, *knot, x, d);
}

static double squares(const struct fold_pieces *p, const struct fold_mean *means, uint32_t n)
{
	double sum = 0;
	uint32_t knot = 0;

	for (uint32_t i = 0; i < n; i++) {
		double e = means[i].y - fold_pieces_at(p, means[i].x, &knot);

		sum += means[i].w * e * e;
	}
	return sum;
}

/* --- normal equations ------------------------------------------------------------------------- */

/* unknowns that a piece shares with those beside it: value and place of each end */
#define ENDS	 4
#define LOCAL	 (ENDS + PIECE_BUBBLES)
#define UNKNOWNS (2 * FOLD_MAX_KNOTS)

/* Sums over the points of a piece. m: products of the derivatives of value_at() (upper half); g:
 * products of these derivatives with the points' distances from the curve. */
struct element {
	uint32_t n;
	double m[LOCAL][LOCAL], g[LOCAL];
};

struct system {
	uint32_t pieces;
	struct element of[FOLD_MAX_KNOTS];
	double m[UNKNOWNS][ENDS]; /* m[i][j] is the element (i, i + j) */
	/* right-hand side, then the solution: for each knot, its value and its place */
	double g[UNKNOWNS];
};

static void sum_points(const struct fold_pieces *p, const struct fold_mean *means, uint32_t n,
		       bool may_bend, struct system *s)
{
	uint32_t k = 0;

	s->pieces = p->n - 1;
	memset(s->of, 0, s->pieces * sizeof(s->of[0]));
	for (uint32_t i = 0; i < s->pieces; i++)
		s->of[i].n =
			ENDS + p->degree[i] - 1 - (p->form[i] != PIECE_POLYNOMIAL && !may_bend);
	for (uint32_t i = 0; i < n; i++) {
		struct element *e;
		double d[LOCAL], w = means[i].w, left;

		k = piece_at(p, means[i].x, k);
		left = means[i].y - value_at(p, k, means[i].x, d);
		e = &s->of[k];
		for (uint32_t a = 0; a < e->n; a++) {
			e->g[a] += w * d[a] * left;
			for (uint32_t b = a; b < e->n; b++)
				e->m[a][b] += w * d[a] * d[b];
		}
	}
}

/* Eliminates the bubbles of a piece from the equations of its ends, the last first. */
static void eliminate(struct element *e, double damping)
{
	for (uint32_t c = e->n; c-- > ENDS;) {
		double pivot = e->m[c][c] * (1 + damping + 1e-12) + DBL_MIN;

		e->m[c][c] = pivot;
		for (uint32_t a = 0; a < c; a++) {
			double f = e->m[a][c] / pivot;

			for (uint32_t b = a; b < c; b++)
				e->m[a][b] -= f * e->m[b][c];
			e->g[a] -= f * e->g[c];
		}
	}
}

static void assemble(struct system *s, double damping)
{
	memset(s->m, 0, sizeof(s->m));
	memset(s->g, 0, sizeof(s->g));
	for (uint32_t k = 0; k < s->pieces; k++) {
		struct element *e = &s->of[k];

		eliminate(e, damping);
		for (uint32_t a = 0; a < ENDS; a++) {
			s->g[2 * k + a] += e->g[a];
			for (uint32_t b = a; b < ENDS; b++)
				s->m[2 * k + a][b - a] += e->m[a][b];
		}
	}
}

/* Changes the equations so that unknown i stays as it is. */
static void fix(struct system *s, uint32_t i)
{
	for (uint32_t j = 1; j < ENDS; j++) {
		s->m[i][j] = 0;
		if (i >= j)
			s->m[i - j][j] = 0;
	}
	s->m[i][0] = 1;
	s->g[i] = 0;
}

/* Solves the equations by Cholesky's decomposition. */
static void solve_banded(struct system *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 1; j < ENDS && i + j < n; j++) {
			double f = s->m[i][j] / s->m[i][0];

			for (uint32_t l = j; l < ENDS && i + l < n; l++)
				s->m[i + j][l - j] -= f * s->m[i][l];
			s->g[i + j] -= f * s->g[i];
		}
	}
	for (uint32_t i = n; i-- > 0;) {
		for (uint32_t j = 1; j < ENDS && i + j < n; j++)
			s->g[i] -= s->m[i][j] * s->g[i + j];
		s->g[i] /= s->m[i][0];
	}
}

/* Solves the equations for the changes of values and bubbles, and with `may_move` of places.
 * `damping` is added to the diagonal. */
static void solve(struct system *s, double damping, bool may_move)
{
	uint32_t n = 2 * (s->pieces + 1);
	double largest = DBL_MIN;

	assemble(s, damping);
	for (uint32_t i = 0; i < n; i++)
		largest = fmax(largest, s->m[i][0]);
	for (uint32_t i = 0; i < n; i++)
		s->m[i][0] += damping * s->m[i][0] + (1e-9 * damping + 1e-13) * largest;
	for (uint32_t i = 0; i < n; i++)
		if (i < 2 || i >= n - 2 || (i % 2 && !may_move))
			fix(s, i);
	solve_banded(s, n);
}

/* Adds the solution to the pieces. Returns whether the knots are still in order. */
static bool add_solution(const struct system *s, struct fold_pieces *p)
{
	for (uint32_t k = 0; k < p->n; k++) {
		p->value[k] += s->g[2 * k];
		p->at[k] += s->g[2 * k + 1];
	}
	for (uint32_t k = 0; k + 1 < p->n; k++) {
		const struct element *e = &s->of[k];
		double d[LOCAL];

		memcpy(d, &s->g[2 * k], ENDS * sizeof(d[0]));
		for (uint32_t c = ENDS; c < e->n; c++) {
			d[c] = e->g[c];
			for (uint32_t a = 0; a < c; a++)
				d[c] -= e->m[a][c] * d[a];
			d[c] /= e->m[c][c];
			p->bubble[k][c - ENDS] += d[c];
		}
	}
	for (uint32_t k = 1; k < p->n; k++) {
		if (!(p->at[k] - p->at[k - 1] >= MIN_DISTANCE))
			return false;
		if (!form_is_possible(p, k - 1))
			return false;
	}
	return true;
}

/* Fits the values and bubbles, on which the curve depends linearly; places, bends and turns stay.
 * Returns the sum of squares. */
static double fit_linear(struct fold_pieces *p, const struct fold_mean *means, uint32_t n)
{
	struct system s;

	sum_points(p, means, n, false, &s);
	solve(&s, 0, false);
	add_solution(&s, p);
	return squares(p, means, n);
}

static bool has_bends(const struct fold_pieces *p)
{
	for (uint32_t k = 0; k + 1 < p->n; k++)
		if (p->form[k] != PIECE_POLYNOMIAL)
			return true;
	return false;
}

/* Moves the non-linear parameters, and with `may_move` the knots, towards a minimum of the sum of
 * squares in at most `steps` steps. `left` is the sum before. Returns the sum afterwards. */
static double descend(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
		      unsigned steps, bool may_move, double left)
{
	double damping = 1e-3;
	struct system sums, step;
	bool is_stale = true;

	for (unsigned i = 0; i < steps && damping < 1e6; i++) {
		struct fold_pieces moved = *pieces;
		double now = INFINITY;

		if (is_stale)
			sum_points(pieces, means, n, true, &sums);
		step.pieces = sums.pieces;
		memcpy(step.of, sums.of, sums.pieces * sizeof(sums.of[0]));
		solve(&step, damping, may_move);
		if (add_solution(&step, &moved))
			now = squares(&moved, means, n);
		is_stale = now < left;
		damping *= is_stale ? 0.1 : 10;
		if (!is_stale)
			continue;
		*pieces = moved;
		if (left - now < (may_move ? 1e-5 : 1e-3) * left)
			return now;
		left = now;
	}
	return left;
}

static double fit_values(struct fold_pieces *p, const struct fold_mean *means, uint32_t n)
{
	double left = fit_linear(p, means, n);

	return has_bends(p) ? descend(p, means, n, BEND_STEPS, false, left) : left;
}

double fold_pieces_refine(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
			  unsigned steps)
{
	if (steps == 0)
		return fit_values(pieces, means, n);
	return descend(pieces, means, n, steps, true, fit_linear(pieces, means, n));
}

/* --- the choice ------------------------------------------------------------------------------- */

static double penalty_of(const struct fold_pieces *p, double unit)
{
	double sum = 0;

	for (uint32_t k = 0; k + 1 < p->n; k++)
		sum += partition_penalty(p->degree[k], unit);
	return sum;
}

/* Sets the form and degree of piece k, and its bubbles to 0. */
static void set_form(struct fold_pieces *p, uint32_t k, enum piece_form form, uint32_t degree)
{
	p->form[k] = form;
	p->degree[k] = degree;
	memset(p->bubble[k], 0, sizeof(p->bubble[k]));
}

/* Sets `ret` to the pieces of `p`, with one straight piece in place of the two pieces at knot k. */
static void remove_knot(const struct fold_pieces *p, uint32_t k, struct fold_pieces *ret)
{
	*ret = *p;
	ret->n--;
	for (uint32_t i = k; i < ret->n; i++) {
		ret->at[i] = p->at[i + 1];
		ret->value[i] = p->value[i + 1];
		ret->form[i] = p->form[i + 1];
		ret->degree[i] = p->degree[i + 1];
		memcpy(ret->bubble[i], p->bubble[i + 1], sizeof(ret->bubble[i]));
	}
	set_form(ret, k - 1, PIECE_POLYNOMIAL, 1);
}

/* Fits `p`, and makes it *best if its cost is below *least. */
static void consider(struct fold_pieces *p, const struct fold_mean *means, uint32_t n, double unit,
		     struct fold_pieces *best, double *least)
{
	double cost = fit_values(p, means, n) + penalty_of(p, unit);

	if (cost < *least) {
		*least = cost;
		*best = *p;
	}
}

static double slope_at(const struct fold_pieces *p, uint32_t k, double x)
{
	double h = (p->at[k + 1] - p->at[k]) * 1e-3, d[LOCAL];

	return (value_at(p, k, x + h, d) - value_at(p, k, x - h, d)) / (2 * h);
}

/* Makes piece k of `ret` an exponential whose slope at the begin is that of piece `from` of `p` and
 * whose slope at the end is that of piece `to`. Returns false if there is no such exponential. */
static bool make_exponential(const struct fold_pieces *p, uint32_t from, uint32_t to,
			     struct fold_pieces *ret, uint32_t k)
{
	double length = p->at[to + 1] - p->at[from];
	double a = slope_at(p, from, p->at[from] + length * .01);
	double b = slope_at(p, to, p->at[to + 1] - length * .01);

	if (!(a > 0 && b > 0) || a == b || !(fabs(log(b / a)) < MOST_BEND))
		return false;
	set_form(ret, k, PIECE_EXPONENTIAL, EXPONENTIAL_DEGREE);
	ret->bubble[k][0] = log(b / a);
	return true;
}

/* Makes piece k of `p` a wave. */
static void make_wave(struct fold_pieces *p, uint32_t k, const struct fold_mean *means, uint32_t n)
{
	uint32_t from = 0, to;

	while (from < n && means[from].x < p->at[k])
		from++;
	for (to = from; to < n && means[to].x < p->at[k + 1];)
		to++;
	set_form(p, k, PIECE_WAVE, WAVE_DEGREE);
	p->bubble[k][2] = form_find_turn(means, from, to);
}

/* Considers replacing the two pieces at knot k by one piece: a polynomial, an exponential or a
 * wave. */
static void consider_joint(const struct fold_pieces *p, uint32_t k, const struct fold_mean *means,
			   uint32_t n, double unit, struct fold_pieces *best, double *least)
{
	uint32_t a = p->degree[k - 1], b = p->degree[k], most = a > b ? a : b;
	struct fold_pieces next;

	for (uint32_t d = most; d <= PIECE_DEGREE && d <= most + 1; d++) {
		remove_knot(p, k, &next);
		set_form(&next, k - 1, PIECE_POLYNOMIAL, d);
		consider(&next, means, n, unit, best, least);
	}
	remove_knot(p, k, &next);
	if (most > 1 && make_exponential(p, k - 1, k, &next, k - 1))
		consider(&next, means, n, unit, best, least);
	if (a + b <= WAVE_DEGREE)
		return;
	remove_knot(p, k, &next);
	make_wave(&next, k - 1, means, n);
	consider(&next, means, n, unit, best, least);
}

/* Removes one knot, or lowers one degree: the one whose removal costs least, if that lowers the
 * cost or there are more than `max_knots` knots. Returns whether it did. */
static bool prune(struct fold_pieces *p, double *cost, const struct fold_mean *means, uint32_t n,
		  double unit, uint32_t max_knots)
{
	struct fold_pieces next, best;
	double least = INFINITY;

	for (uint32_t k = 1; k + 1 < p->n; k++)
		consider_joint(p, k, means, n, unit, &best, &least);
	for (uint32_t k = 0; k + 1 < p->n && p->n <= max_knots; k++) {
		if (p->degree[k] == 1)
			continue;
		next = *p;
		set_form(&next, k, PIECE_POLYNOMIAL, p->degree[k] - 1);
		consider(&next, means, n, unit, &best, &least);
		next = *p;
		if (p->degree[k] > EXPONENTIAL_DEGREE && make_exponential(p, k, k, &next, k))
			consider(&next, means, n, unit, &best, &least);
		if (p->degree[k] > WAVE_DEGREE) {
			make_wave(&next, k, means, n);
			consider(&next, means, n, unit, &best, &least);
		}
	}
	if (least == INFINITY)
		return false;
	least = fold_pieces_refine(&best, means, n, PRUNE_STEPS) + penalty_of(&best, unit);
	if (least > *cost && p->n <= max_knots)
		return false;
	*cost = least;
	*p = best;
	return true;
}

/* Replaces each jump by one knot, if that lowers the cost once the knots have moved, because two
 * pieces that meet at a small angle may by chance cross far from their border and look like a
 * jump. */
static void close_jumps(struct fold_pieces *p, double *cost, const struct fold_mean *means,
			uint32_t n, double unit)
{
	for (uint32_t k = p->n - 2; k > 1; k--) {
		struct fold_pieces next;
		double now;

		if (k + 1 >= p->n || p->at[k] - p->at[k - 1] > JUMP / n || p->degree[k - 1] > 1)
			continue;
		remove_knot(p, k, &next);
		set_form(&next, k - 1, p->form[k], p->degree[k]);
		memcpy(next.bubble[k - 1], p->bubble[k], sizeof(next.bubble[k - 1]));
		now = fold_pieces_refine(&next, means, n, PRUNE_STEPS) + penalty_of(&next, unit);
		if (now >= *cost)
			continue;
		*cost = now;
		*p = next;
	}
}

void fold_pieces_prune(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
		       double unit, uint32_t max_knots)
{
	double cost = fold_pieces_refine(pieces, means, n, STEPS) + penalty_of(pieces, unit);

	close_jumps(pieces, &cost, means, n, unit);
	while (prune(pieces, &cost, means, n, unit, max_knots))
		;
	fold_pieces_refine(pieces, means, n, STEPS);
}

/* --- other places ----------------------------------------------------------------------------- */

#define PLACES	      8
#define EXPLORE_STEPS 8
#define ROUNDS	      4

/* Turns piece k into a wave if it is a polynomial of a degree high enough to stand for one. */
static void prefer_wave(struct fold_pieces *p, uint32_t k, const struct fold_mean *means,
			uint32_t n)
{
	if (p->degree[k] >= WAVE_DEGREE)
		make_wave(p, k, means, n);
}

/* Tries other places for knot k between the knots beside it, if one of its pieces is a wave or may
 * be one, because the descent stops at a place where the waves of two pieces have the same
 * phase. */
static void explore_knot(const struct fold_pieces *p, uint32_t k, const struct fold_mean *means,
			 uint32_t n, double unit, struct fold_pieces *best, double *least)
{
	double from = p->at[k - 1], length = p->at[k + 1] - from;

	if (p->degree[k - 1] < WAVE_DEGREE && p->degree[k] < WAVE_DEGREE)
		return;
	for (uint32_t i = 0; i < PLACES; i++) {
		struct fold_pieces next = *p;
		double cost;

		next.at[k] = from + length * (i + 1) / (PLACES + 1);
		prefer_wave(&next, k - 1, means, n);
		prefer_wave(&next, k, means, n);
		cost = fold_pieces_refine(&next, means, n, EXPLORE_STEPS) + penalty_of(&next, unit);
		if (cost < *least) {
			*least = cost;
			*best = next;
		}
	}
}

void fold_pieces_explore(struct fold_pieces *pieces, const struct fold_mean *means, uint32_t n,
			 double unit, uint32_t max_knots)
{
	double cost = fold_pieces_refine(pieces, means, n, STEPS) + penalty_of(pieces, unit);

	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct fold_pieces best = *pieces;
		double least = cost;

		for (uint32_t k = 1; k + 1 < pieces->n; k++)
			explore_knot(pieces, k, means, n, unit, &best, &least);
		if (cost - least < unit / 2)
			return;
		*pieces = best;
		fold_pieces_prune(pieces, means, n, unit, max_knots);
		cost = fold_pieces_refine(pieces, means, n, STEPS) + penalty_of(pieces, unit);
	}
}

int fold_pieces_find(const struct fold_mean *means, uint32_t n, double unit, uint32_t max_knots,
		     struct fold_pieces *ret)
{
	int err = partition_find(means, n, unit, ret);

	if (err == 0)
		fold_pieces_prune(ret, means, n, unit, max_knots);
	return err;
}
