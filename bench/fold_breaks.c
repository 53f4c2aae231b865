/* SPDX-License-Identifier: MIT */
/*
 * Which breaks of the judging curves (tests/unit/fold_families.h) can be found at all:
 *
 *   fold_breaks [CURVES [FAMILY]]
 *
 * folds CURVES (12) curves of each family, or of one, and writes for each break, at which the rate
 * changes by a tenth of the average or more, how far the nearest end of a phase is and whether its
 * interval holds the break; and three bounds, which need no fold:
 *
 * - `oracle`: the error of the break's place if all else about the form were known: how many phases
 *   there are, of which kind, and their bends, depths and waves. Only the ends of all phases and
 *   the shares reached there are sought, by weighted least squares in samples that are drawn anew
 *   DRAWS times. No method that has to find the form as well can do better.
 * - `pieces`: the same for polynomial pieces of the degrees that the form needs (pieces.h). Their
 *   number is known, and where they begin is sought; of waves, six are too few.
 * - `seen`: by how much the sum of squares would fall, in units of the noise and as its mean over
 *   samples, if one polynomial of the most degrees that pieces.h has gave way to the two phases. A
 *   break that costs two degrees of freedom is worth its penalty only above 2 log n.
 */
#include <inttypes.h>

#include "fold_math/pieces.h"
#include "fold_families.h"

#define CELLS  1000
#define DRAWS  30
#define MOST   16 /* parameters of the oracle */
#define DEGREE 6
#define STEPS  12

/* A curve as the oracle sees it: the form of the truth with these ends and shares. */
struct form {
	const struct truth *truth;
	uint32_t n; /* free parameters: ends, then shares, of all phases but the last */
	double at[MOST];
};

static struct truth_instance instance_of(const struct form *f)
{
	struct truth_instance in = {.truth = f->truth, .duration = 1};
	const uint32_t n = f->truth->n;

	for (uint32_t i = 1; i < n; i++) {
		in.at[i] = f->at[i - 1];
		in.y[i] = f->at[n - 1 + i - 1];
	}
	in.at[n] = in.y[n] = 1;
	return in;
}

/* The mean of the samples in each cell, and the noise of a sample there. */
struct means {
	double x[CELLS], y[CELLS], n[CELLS];
};

static void sum_up(const struct fold_point *points, size_t n, struct means *m)
{
	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < n; i++) {
		uint32_t c = points[i].x < 1 ? (uint32_t)(points[i].x * CELLS) : CELLS - 1;

		m->x[c] += points[i].x;
		m->y[c] += points[i].y;
		m->n[c]++;
	}
	for (uint32_t c = 0; c < CELLS; c++) {
		m->x[c] /= fmax(1, m->n[c]);
		m->y[c] /= fmax(1, m->n[c]);
	}
}

/* The variance of a sample by cell: of instances about their mean, and of readings. */
static void noise_of(const struct family_case *c, const double *mean, double *variance)
{
	uint64_t random = 31;
	const uint32_t draws = 4000;
	double sum = 0;

	memset(variance, 0, CELLS * sizeof(*variance));
	for (uint32_t i = 0; i < draws; i++) {
		struct truth_instance in = truth_draw(&c->truth, &c->noise, &random);

		sum += in.duration;
		for (uint32_t k = 0; k < CELLS; k++) {
			double x = (k + .5) / CELLS, y = truth_at(&in, x);
			double d = y - (mean[k] + mean[k + 1]) / 2;
			double reading = c->noise.reading * 2 * sqrt(y * (1 - y));

			variance[k] += in.duration * (d * d + reading * reading);
		}
	}
	for (uint32_t k = 0; k < CELLS; k++)
		variance[k] = variance[k] / sum + 1e-9;
}

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

/* Solves a x = b for symmetric a, n x n, in place; false: it is singular. */
static bool solve(double *a, double *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t pivot = i;

		for (uint32_t k = i + 1; k < n; k++)
			pivot = fabs(a[k * n + i]) > fabs(a[pivot * n + i]) ? k : pivot;
		if (fabs(a[pivot * n + i]) < 1e-300)
			return false;
		for (uint32_t k = 0; k < n; k++)
			swap(&a[i * n + k], &a[pivot * n + k]);
		swap(&b[i], &b[pivot]);
		for (uint32_t k = i + 1; k < n; k++) {
			double f = a[k * n + i] / a[i * n + i];

			for (uint32_t l = i; l < n; l++)
				a[k * n + l] -= f * a[i * n + l];
			b[k] -= f * b[i];
		}
	}
	for (uint32_t i = n; i-- > 0;) {
		for (uint32_t k = i + 1; k < n; k++)
			b[i] -= a[i * n + k] * b[k];
		b[i] /= a[i * n + i];
	}
	return true;
}

static bool is_in_order(const struct form *f)
{
	const uint32_t n = f->truth->n;

	for (uint32_t i = 0; i < n - 1; i++) {
		if (f->at[i] <= (i ? f->at[i - 1] : 0) + 1e-4 || f->at[i] >= 1 - 1e-4)
			return false;
		if (f->at[n - 1 + i] < (i ? f->at[n - 2 + i] : 0) || f->at[n - 1 + i] > 1)
			return false;
	}
	return true;
}

static double misfit(const struct form *f, const struct means *m, const double *variance)
{
	struct truth_instance in = instance_of(f);
	double sum = 0;

	for (uint32_t c = 0; c < CELLS; c++)
		if (m->n[c] > 0) {
			double d = m->y[c] - truth_at(&in, m->x[c]);

			sum += m->n[c] * d * d / variance[c];
		}
	return sum;
}

/* One step of Levenberg and Marquardt. */
static bool step(struct form *f, const struct means *m, const double *variance, double damping)
{
	double a[MOST * MOST] = {0}, b[MOST] = {0}, slope[MOST];
	const struct truth_instance in = instance_of(f);
	const double h = 1e-5, before = misfit(f, m, variance);
	struct form next = *f;

	for (uint32_t c = 0; c < CELLS; c++) {
		double y, w = m->n[c] / variance[c];

		if (!(w > 0))
			continue;
		y = truth_at(&in, m->x[c]);
		for (uint32_t k = 0; k < f->n; k++) {
			struct form up = *f;
			struct truth_instance moved;

			up.at[k] += h;
			moved = instance_of(&up);
			slope[k] = (truth_at(&moved, m->x[c]) - y) / h;
		}
		for (uint32_t k = 0; k < f->n; k++) {
			b[k] += w * slope[k] * (m->y[c] - y);
			for (uint32_t l = 0; l < f->n; l++)
				a[k * f->n + l] += w * slope[k] * slope[l];
		}
	}
	for (uint32_t k = 0; k < f->n; k++)
		a[k * f->n + k] *= 1 + damping;
	if (!solve(a, b, f->n))
		return false;
	for (uint32_t k = 0; k < f->n; k++)
		next.at[k] += b[k];
	if (!is_in_order(&next) || misfit(&next, m, variance) > before)
		return false;
	*f = next;
	return true;
}

/* Fits the form, from the truth on. */
static struct form fit(const struct truth *truth, const struct means *m, const double *variance)
{
	const struct truth_instance nominal = truth_draw(truth, NULL, NULL);
	struct form f = {.truth = truth, .n = 2 * (truth->n - 1)};
	double damping = 1e-4;

	for (uint32_t i = 1; i < truth->n; i++) {
		f.at[i - 1] = nominal.at[i];
		f.at[truth->n - 1 + i - 1] = nominal.y[i];
	}
	for (int i = 0; i < STEPS; i++)
		damping = step(&f, m, variance, damping) ? damping / 4 : damping * 16;
	return f;
}

/* The root mean square of the oracle's errors of each end. */
static void ask_oracle(const struct family_case *c, const double *variance, double *ret_errors)
{
	const struct truth_instance nominal = truth_draw(&c->truth, NULL, NULL);
	struct means *m = malloc(sizeof(*m));

	for (uint32_t i = 0; i < c->truth.n; i++)
		ret_errors[i] = 0;
	for (uint32_t d = 0; m && d < DRAWS; d++) {
		struct fold_point *points =
			truth_sample(&c->truth, &c->noise, c->each, c->n, 1000 + d);
		struct form f;

		if (!points)
			break;
		sum_up(points, c->n, m);
		free(points);
		f = fit(&c->truth, m, variance);
		for (uint32_t i = 1; i < c->truth.n; i++)
			ret_errors[i] += pow(f.at[i - 1] - nominal.at[i], 2) / DRAWS;
	}
	for (uint32_t i = 0; i < c->truth.n; i++)
		ret_errors[i] = sqrt(ret_errors[i]);
	free(m);
}

/* The same for pieces as lib/show/fold_math has, of the degrees that the form needs, where only the
 * number of phases and roughly their ends are known. */
static void ask_pieces(const struct family_case *c, const double *variance, double *ret_errors)
{
	const struct truth_instance nominal = truth_draw(&c->truth, NULL, NULL);
	struct means *m = malloc(sizeof(*m));
	struct fold_mean *means = calloc(CELLS, sizeof(*means));

	for (uint32_t i = 0; i < c->truth.n; i++)
		ret_errors[i] = 0;
	for (uint32_t d = 0; m && means && d < DRAWS; d++) {
		struct fold_point *points =
			truth_sample(&c->truth, &c->noise, c->each, c->n, 1000 + d);
		struct fold_pieces p = {.n = c->truth.n + 1};
		uint32_t n = 0;

		if (!points)
			break;
		sum_up(points, c->n, m);
		free(points);
		for (uint32_t k = 0; k < CELLS; k++)
			if (m->n[k] > 0)
				means[n++] =
					(struct fold_mean){m->x[k], m->y[k], m->n[k] / variance[k]};
		for (uint32_t k = 0; k <= c->truth.n; k++) {
			const struct truth_phase *t = &c->truth.phases[k];

			p.at[k] = nominal.at[k];
			p.value[k] = nominal.y[k];
			p.degree[k] = t->waves > 0 ? 6 : t->bend != 0 ? 4 : 1;
		}
		fold_pieces_refine(&p, means, n, 30);
		for (uint32_t k = 1; k < c->truth.n; k++)
			ret_errors[k] += pow(p.at[k] - nominal.at[k], 2) / DRAWS;
	}
	for (uint32_t i = 0; i < c->truth.n; i++)
		ret_errors[i] = sqrt(ret_errors[i]);
	free(means);
	free(m);
}

/* By how much two phases differ from one polynomial: the sum over all samples of the squared
 * difference by the noise. */
static double seen(const struct family_case *c, const double *mean, const double *variance,
		   uint32_t k)
{
	const struct truth_instance nominal = truth_draw(&c->truth, NULL, NULL);
	const double from = nominal.at[k - 1], to = nominal.at[k + 1];
	const uint32_t n = DEGREE + 1;
	double a[MOST * MOST] = {0}, b[MOST] = {0}, left = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t cell = 0; cell < CELLS; cell++) {
			double x = (cell + .5) / CELLS,
			       p[MOST] = {1, 2 * (x - from) / (to - from) - 1};
			double y = (mean[cell] + mean[cell + 1]) / 2;
			double w = (double)c->n / CELLS / variance[cell];

			if (x < from || x > to)
				continue;
			for (uint32_t i = 2; i < n; i++)
				p[i] = ((2.0 * i - 1) * p[1] * p[i - 1] - (i - 1.0) * p[i - 2]) / i;
			if (pass) {
				for (uint32_t i = 0; i < n; i++)
					y -= b[i] * p[i];
				left += w * y * y;
				continue;
			}
			for (uint32_t i = 0; i < n; i++) {
				b[i] += w * p[i] * y;
				for (uint32_t l = 0; l < n; l++)
					a[i * n + l] += w * p[i] * p[l];
			}
		}
		if (!pass && !solve(a, b, n))
			return NAN;
	}
	return left;
}

/* Sums of a family. */
struct sums {
	uint32_t breaks, missed, oracle_misses, piece_misses, unseen, held, missed_held;
};

static void judge_break(const struct family_case *c, const struct fold_curve *curve, uint32_t k,
			double oracle, double pieces, double chi, struct sums *s)
{
	const struct truth_instance nominal = truth_draw(&c->truth, NULL, NULL);
	const double at = nominal.at[k], penalty = 2 * log((double)curve->n_instances);
	const struct fold_phase *nearest = NULL;
	double distance = 1;
	bool holds;

	for (uint32_t i = 1; i < curve->n_phases; i++)
		if (fabs(curve->phases[i].from.value - at) < distance) {
			nearest = &curve->phases[i];
			distance = fabs(nearest->from.value - at);
		}
	holds = nearest && nearest->from.low <= at && nearest->from.high >= at;
	s->breaks++;
	s->held += holds;
	if (distance > .005) {
		s->missed++;
		s->missed_held += holds;
		s->oracle_misses += oracle > .005 / 1.96;
		s->piece_misses += pieces > .005 / 1.96;
		s->unseen += chi < penalty;
	}
	printf("  %s%.3f: rate %.2f to %.2f; nearest %.2f %% off, its interval +- %.2f %% %s it; oracle %.2f %%, pieces %.2f %%; "
	       "seen %.1f of %.1f\n",
	       distance > .005 ? "MISSED " : "", at, truth_rate(&c->truth.phases[k - 1], true),
	       truth_rate(&c->truth.phases[k], false), 100 * distance,
	       nearest ? 50 * (nearest->from.high - nearest->from.low) : 0,
	       holds ? "holds" : "lacks", 100 * oracle, 100 * pieces, chi, penalty);
}

static int judge_curve(enum family family, uint64_t seed, struct sums *s)
{
	struct family_case c = family_make(family, FAMILY_JUDGED + seed);
	double *mean = truth_mean(&c.truth, &c.noise, CELLS, 20000);
	struct fold_point *points = truth_sample(&c.truth, &c.noise, c.each, c.n, seed);
	struct fold_options options = {.cells = CELLS, .seed = seed};
	double variance[CELLS], oracle[TRUTH_PHASES + 1], pieces[TRUTH_PHASES + 1];
	struct fold_curve *curve;

	if (!mean || !points || fold_curve_fit(points, c.n, &options, &curve) < 0)
		return 1;
	printf("%s %" PRIu64 ": %zu samples, %u passes\n", family_names[family], seed, c.n,
	       curve->n_instances);
	noise_of(&c, mean, variance);
	ask_oracle(&c, variance, oracle);
	ask_pieces(&c, variance, pieces);
	for (uint32_t k = 1; k < c.truth.n; k++)
		if (truth_is_break(&c.truth, k))
			judge_break(&c, curve, k, oracle[k], pieces[k], seen(&c, mean, variance, k),
				    s);
	fflush(stdout);
	fold_curve_free(curve);
	free(points);
	free(mean);
	return 0;
}

int main(int argc, char **argv)
{
	const uint32_t n = argc > 1 ? (uint32_t)atoi(argv[1]) : 12;
	const int only = argc > 2 ? atoi(argv[2]) : -1;

	for (int family = 0; family < N_FAMILIES; family++) {
		struct sums s = {0};

		for (uint32_t i = 0; i < n && (only < 0 || only == family); i++)
			if (judge_curve((enum family)family, i, &s))
				return 1;
		if (only < 0 || only == family)
			printf("%s: %u breaks, %u in their intervals; %u farther off than 0.5 %%, "
			       "%u of these in their intervals; of these the oracle's 95 %% are wider "
			       "in %u, those of pieces in %u, and %u cannot be seen\n",
			       family_names[family], s.breaks, s.held, s.missed, s.missed_held,
			       s.oracle_misses, s.piece_misses, s.unseen);
	}
	return 0;
}
