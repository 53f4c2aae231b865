/* SPDX-License-Identifier: MIT */
/* Finds the best partition by dynamic programming; see pieces.h. The constants of the search were
 * chosen by hand; bench/fold_fit families shows the breaks that are missed (docs/FOLD.md). */
#include "fold_math/partition.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fold_math/forms.h"

#define COLUMNS (PIECE_DEGREE + 1)
/* A piece has at least so many more means than coefficients, so that its fit can be judged. */
#define MORE 2

double partition_penalty(uint32_t degree, double unit)
{
	return 2 * (1 + degree) * unit;
}

/* --- least squares, a row at a time ----------------------------------------------------------- */

/* The decomposition R^T D R of the normal equations for the columns 1, u, u^2, ...; the triangle R
 * has ones on its diagonal. It grows by a row at a time, by Givens' rotations without square roots
 * (Gentleman 1974, algorithm AS 75), which rotate y as well, to z. A fit by the first d + 1 columns
 * leaves a sum of squares of `rest` plus what the other columns would explain. */
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

struct choice {
	uint32_t degree;
	double bend; /* bend of an exponential; 0: a polynomial */
};

/* Returns the cost of the best polynomial, and its degree in `ret`. */
static double cost_of(const struct triangle *t, double unit, struct choice *ret)
{
	double squares = t->rest, least = INFINITY;

	ret->bend = 0;
	for (uint32_t d = PIECE_DEGREE; d > 0; d--) {
		double cost = squares + partition_penalty(d, unit);

		if (cost < least && t->rows > d + MORE) {
			least = cost;
			ret->degree = d;
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

/* --- exponentials ------------------------------------------------------------------------------
 */

#define BENDS	  100
#define BEND_STEP .1
#define SEARCHED  16 /* The whole table of bends is searched once in so many rows. */

/* For each bend of the table: exp(bend t), t from 0 to 1, as a polynomial whose error is at most
 * 1e-4 of the range. */
struct bends {
	double c[BENDS][COLUMNS];
};

/* Returns a bend by its number in the table. 0 is not among the bends. */
static double bend_of(double number)
{
	return BEND_STEP * (number - (BENDS - 1) / 2.0);
}

/* Sets the coefficients of exp(bend t) by interpolation at Chebyshev's nodes (Newton's divided
 * differences). */
static void bend_coefficients(double bend, double *c)
{
	double at[COLUMNS], f[COLUMNS];

	for (uint32_t i = 0; i < COLUMNS; i++) {
		at[i] = (1 + cos(M_PI * (2 * i + 1) / (2 * COLUMNS))) / 2;
		f[i] = exp(bend * at[i]);
	}
	for (uint32_t k = 1; k < COLUMNS; k++)
		for (uint32_t i = COLUMNS; i-- > k;)
			f[i] = (f[i] - f[i - 1]) / (at[i] - at[i - k]);
	memset(c, 0, COLUMNS * sizeof(*c));
	for (uint32_t i = COLUMNS; i-- > 0;) {
		for (uint32_t j = COLUMNS - 1; j > 0; j--)
			c[j] = c[j - 1] - at[i] * c[j];
		c[0] = f[i] - at[i] * c[0];
	}
}

/* Returns by how much the best exponential with the bend of `c` lowers the sum of squares, compared
 * with the mean of the points; *ret_factor receives its factor. `per_length` is 1 / the length of
 * the piece. */
static double gain_of(const struct triangle *t, const double *c, double per_length,
		      double *ret_factor)
{
	double with = 0, self = 0, scaled[COLUMNS], scale = 1;

	for (uint32_t j = 1; j < COLUMNS; j++)
		scaled[j] = c[j] * (scale *= per_length);
	for (uint32_t i = 1; i < COLUMNS; i++) {
		double e = scaled[i];

		for (uint32_t j = i + 1; j < COLUMNS; j++)
			e += t->r[i][j] * scaled[j];
		with += t->d[i] * e * t->z[i];
		self += t->d[i] * e * e;
	}
	*ret_factor = self > 0 ? with / self : 0;
	return self > 0 ? with * with / self : 0;
}

/* Finds the best bend of the whole table. */
static uint32_t search(const struct triangle *t, const struct bends *b, double per_length)
{
	uint32_t low = 0, high = BENDS - 1;
	double factor;

	while (low < high) {
		uint32_t m = (low + high) / 2;

		if (gain_of(t, b->c[m], per_length, &factor) <
		    gain_of(t, b->c[m + 1], per_length, &factor))
			low = m + 1;
		else
			high = m;
	}
	return low;
}

/* Finds the bend of the exponential that fits the points best. The search in the table of bends
 * begins at *number, which the previous search has set, and sets it. Returns by how much the sum of
 * squares falls. */
static double find_bend(const struct triangle *t, const struct bends *b, double per_length,
			uint32_t *number, double *ret_bend)
{
	uint32_t m = t->rows % SEARCHED ? *number : search(t, b, per_length);
	double factor, before, here, after, curved, move;

	m = m < 1 ? 1 : m > BENDS - 2 ? BENDS - 2 : m;
	before = gain_of(t, b->c[m - 1], per_length, &factor);
	here = gain_of(t, b->c[m], per_length, &factor);
	after = gain_of(t, b->c[m + 1], per_length, &factor);
	for (; after > here && m < BENDS - 2; m++) {
		before = here;
		here = after;
		after = gain_of(t, b->c[m + 2], per_length, &factor);
	}
	for (; before > here && m > 1; m--) {
		after = here;
		here = before;
		before = gain_of(t, b->c[m - 2], per_length, &factor);
	}
	curved = before - 2 * here + after;
	move = curved < 0 ? fmax(-1, fmin(1, (before - after) / 2 / curved)) : 0;
	*number = m;
	*ret_bend = bend_of(m + move);
	return here + move * ((after - before) / 2 + move * curved / 2);
}

/* --- the partition ---------------------------------------------------------------------------- */

/* A place where a piece may begin that can still be part of the best partition up to a later
 * mean. */
struct beginning {
	uint32_t at;
	uint32_t bend; /* number in the table of the bend that was best last */
	struct triangle sums;
};

struct partition {
	const struct fold_mean *means;
	uint32_t n;
	double unit;
	/* n + 1 elements: cost of the best partition of the means before that index */
	double *cost;
	uint32_t *from;	       /* n + 1 elements: where the last piece of that partition begins */
	struct choice *choice; /* n + 1 elements: form of that last piece */
	struct beginning *open;
	uint32_t n_open;
	struct bends bends;
};

static void improve(struct partition *p, uint32_t to, uint32_t from, double cost,
		    const struct choice *choice)
{
	if (!(cost < p->cost[to]))
		return;
	p->cost[to] = cost;
	p->from[to] = from;
	p->choice[to] = *choice;
}

static double explained(const struct triangle *t)
{
	double sum = 0;

	for (uint32_t i = 1; i < COLUMNS; i++)
		sum += t->d[i] * t->z[i] * t->z[i];
	return sum;
}

/* Tries an exponential as the last piece, but only where even a perfect fit by one could lower the
 * cost: it cannot fit better than a polynomial of the highest degree. */
static void try_exponentials(struct partition *p, uint32_t to)
{
	double penalty = partition_penalty(EXPONENTIAL_DEGREE, p->unit);

	for (uint32_t i = 0; i < p->n_open; i++) {
		struct beginning *b = &p->open[i];
		const double least = p->cost[b->at] + b->sums.rest + penalty;
		struct choice choice = {.degree = EXPONENTIAL_DEGREE};
		double gain;

		if (least >= p->cost[to] || b->sums.rows <= EXPONENTIAL_DEGREE + MORE)
			continue;
		gain = find_bend(&b->sums, &p->bends, 1 / (p->means[to - 1].x - b->sums.origin),
				 &b->bend, &choice.bend);
		improve(p, to, b->at, least + explained(&b->sums) - gain, &choice);
	}
}

/* Finds the best partition of the means before `to`. Drops a beginning that can no longer become
 * the best, because a partition that begins a new piece at `to` is better by more than a piece
 * costs. */
static void extend(struct partition *p, uint32_t to)
{
	const double another = partition_penalty(PIECE_DEGREE, p->unit);
	uint32_t kept = 0;

	if (p->cost[to - 1] < INFINITY)
		p->open[p->n_open++] = (struct beginning){
			.at = to - 1, .bend = BENDS / 2, .sums = {.origin = p->means[to - 1].x}};
	for (uint32_t i = 0; i < p->n_open; i++) {
		struct beginning *b = &p->open[i];
		struct choice choice = {.degree = 1};

		add_row(&b->sums, &p->means[to - 1]);
		improve(p, to, b->at, p->cost[b->at] + cost_of(&b->sums, p->unit, &choice),
			&choice);
	}
	try_exponentials(p, to);
	for (uint32_t i = 0; i < p->n_open; i++) {
		const struct beginning *b = &p->open[i];

		if (p->cost[b->at] + b->sums.rest > p->cost[to] + another)
			continue;
		if (kept < i)
			p->open[kept] = *b;
		kept++;
	}
	p->n_open = kept;
}

/* Finds the best partition of all means. Returns the number of its pieces; 0: there are too few
 * means even for one piece. */
static uint32_t partition(struct partition *p)
{
	uint32_t pieces = 0;

	for (uint32_t i = 1; i <= p->n; i++)
		p->cost[i] = INFINITY;
	p->cost[0] = 0;
	p->n_open = 0;
	for (uint32_t to = 1; to <= p->n; to++)
		extend(p, to);
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
	struct choice choice;
};

static double polynomial_at(const struct polynomial *p, double x)
{
	double sum = 0;

	for (uint32_t i = p->degree + 1; i-- > 0;)
		sum = sum * (x - p->origin) + p->c[i];
	return sum;
}

/* Sets the coefficients of the polynomial that approximates an exponential. */
static void coefficients_of_bend(const struct triangle *t, double bend, double length, double *c)
{
	double factor, scale = 1;

	bend_coefficients(bend, c);
	gain_of(t, c, 1 / length, &factor);
	c[0] = t->z[0];
	for (uint32_t j = 1; j < COLUMNS; j++) {
		c[j] *= factor * (scale /= length);
		c[0] -= t->r[0][j] * c[j];
	}
}

static struct polynomial fit(const struct partition *p, uint32_t to)
{
	const struct choice *choice = &p->choice[to];
	struct polynomial made = {.origin = p->means[p->from[to]].x,
				  .degree = choice->bend != 0 ? PIECE_DEGREE : choice->degree,
				  .choice = *choice};
	struct triangle t = {.origin = made.origin};

	for (uint32_t i = p->from[to]; i < to; i++)
		add_row(&t, &p->means[i]);
	if (choice->bend != 0)
		coefficients_of_bend(&t, choice->bend, p->means[to - 1].x - t.origin, made.c);
	else
		coefficients(&t, made.degree, made.c);
	return made;
}

/* Sets `at` to one knot where two pieces cross, if that is near the border between them; else to
 * two knots, one on each side of the border. Returns the number of knots. */
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

static void set_piece(struct fold_pieces *p, uint32_t k, const struct choice *choice)
{
	p->form[k] = choice->bend != 0 ? PIECE_EXPONENTIAL : PIECE_POLYNOMIAL;
	p->degree[k] = choice->degree;
	p->bubble[k][0] = choice->bend;
}

static void join(const struct partition *p, uint32_t pieces, struct fold_pieces *ret)
{
	static const struct choice straight = {.degree = 1};
	bool may_jump = 2 * pieces <= FOLD_MAX_KNOTS;
	uint32_t end[FOLD_MAX_KNOTS], i = pieces;
	struct polynomial last, next;

	for (uint32_t to = p->n; to > 0; to = p->from[to])
		end[--i] = to;
	*ret = (struct fold_pieces){.n = 1};
	last = fit(p, end[0]);
	set_piece(ret, 0, &last.choice);
	for (i = 1; i < pieces; i++, last = next) {
		uint32_t made;

		next = fit(p, end[i]);
		made = place_knots(p, end[i - 1], &last, &next, may_jump, &ret->at[ret->n]);
		for (uint32_t k = 0; k < made; k++, ret->n++) {
			ret->at[ret->n] = fmax(ret->at[ret->n], ret->at[ret->n - 1] + 2e-5);
			set_piece(ret, ret->n, k + 1 == made ? &next.choice : &straight);
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
			      .choice = calloc(n + 1, sizeof(*p.choice)),
			      .open = calloc(n + 1, sizeof(*p.open))};
	int err = p.cost && p.from && p.choice && p.open ? 0 : -ENOMEM;
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < BENDS; i++)
		bend_coefficients(bend_of(i), p.bends.c[i]);

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
	free(p.choice);
	free(p.open);
	return err;
}
