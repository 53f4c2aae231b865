/* SPDX-License-Identifier: MIT */
/*
 * The fit of folded curves:
 *
 *   fold_fit families [SEEDS [FAMILY]] | accuracy [SEEDS [POINTS [EACH [CASE]]]] |
 *            increments [SEEDS [CASE]] | growth
 *
 * `families` folds random curves of each family, with random noise and sampling
 * (tests/unit/fold_families.h): first with tuning seeds, which constants may be chosen with, then
 * with judging seeds; then curves of forms that the pieces do not have (tests/unit/fold_unseen.h).
 * FAMILY writes one alone, each curve. Breaks within 0.5 % are counted, and ends of phases that are
 * farther than 2 % from any true one, which are false.
 *
 * `accuracy` folds POINTS (2,000) samples, about EACH (1) in an instance, of each known curve of
 * tests/unit/fold_truth.h with each kind of noise, SEEDS (200) times. Errors of y and of x are in
 * percent; after a mean over the seeds, the number of seeds in which a limit is exceeded. The
 * coverage of bands is a mean over the grid and the seeds. CASE (10 * curve + noise) writes one
 * alone, each seed.
 *
 * `increments` does the same for curves from increments of counters that take turns
 * (tests/unit/fold_turns.h).
 *
 * `growth` gives time, and memory at its most, for 10^4 to 10^7 samples, each in a process of its
 * own; memory is without the samples themselves.
 */
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fold_turns.h"
#include "fold_unseen.h"

#define CELLS 1000

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct total {
	double mean_error, max_error, worst, break_error, rate_error;
	double in_y, in_rate, in_break, in_phase, n_phases, seconds;
	uint32_t over_mean, over_max, over_break, over_rate;
	uint32_t n_breaks, n_linear;
};

static void add(struct total *t, const struct truth_judgement *j, const struct fold_curve *curve)
{
	t->mean_error += j->mean_error;
	t->max_error += j->max_error;
	t->worst = fmax(t->worst, j->max_error);
	t->break_error += j->break_error;
	t->rate_error += j->rate_error;
	t->over_mean += j->mean_error > .003;
	t->over_max += j->max_error > .01;
	t->over_break += j->break_error > .005;
	t->over_rate += j->rate_error > .05;
	t->in_y += j->in_y;
	t->in_rate += j->in_rate;
	t->in_break += j->in_break;
	t->in_phase += j->in_phase;
	t->n_breaks += j->n_breaks;
	t->n_linear += j->n_linear;
	t->n_phases += curve->n_phases;
}

static void print(const char *name, const char *noise, const struct total *t, double n)
{
	printf("%-22s %-11s %5.2f %3u  %5.2f %5.2f %3u  %5.2f %3u  %5.1f %3u  %5.1f %5.1f %5.1f "
	       "%5.1f  %4.1f  %4.0f\n",
	       name, noise, 100 * t->mean_error / n, t->over_mean, 100 * t->max_error / n,
	       100 * t->worst, t->over_max, 100 * t->break_error / n, t->over_break,
	       100 * t->rate_error / n, t->over_rate, 100 * t->in_y / n, 100 * t->in_rate / n,
	       t->n_breaks ? 100 * t->in_break / t->n_breaks : 100,
	       t->n_linear ? 100 * t->in_phase / t->n_linear : 100, t->n_phases / n,
	       1000 * t->seconds / n);
	fflush(stdout);
}

static void show(const struct fold_curve *curve, const struct truth_judgement *j)
{
	printf("mean %.2f %% max %.2f %% (of the mean curve: %.2f, %.2f) break %.2f %% rate %.1f %% in "
	       "y %.0f rate %.0f\n  ",
	       100 * j->nominal_mean, 100 * j->nominal_max, 100 * j->mean_error, 100 * j->max_error,
	       100 * j->break_error, 100 * j->rate_error, 100 * j->in_y, 100 * j->in_rate);
	for (uint32_t i = 0; i < curve->n_phases; i++)
		printf(" %.4f:%.3f[%.3f-%.3f]", curve->phases[i].from.value,
		       curve->phases[i].rate.value, curve->phases[i].rate.low,
		       curve->phases[i].rate.high);
	printf("\n");
}

/* What is judged: samples with readings, or increments. */
struct bench {
	uint32_t seeds;
	size_t points; /* 0: increments */
	double each;
	int only; /* a case; below 0: all of them */
};

static int fit_points(const struct bench *b, const struct truth *truth,
		      const struct truth_noise *noise, uint32_t seed, struct total *total,
		      struct fold_curve **ret)
{
	struct fold_point *points = truth_sample(truth, noise, b->each, b->points, seed);
	struct fold_options options = {.cells = CELLS, .seed = seed};
	double begin = seconds();
	int err = points ? fold_curve_fit(points, b->points, &options, ret) : -ENOMEM;

	total->seconds += seconds() - begin;
	free(points);
	return err;
}

static int fit_increments(const struct truth *truth, const struct truth_noise *noise, uint32_t seed,
			  struct total *total, struct fold_curve **ret)
{
	struct turns *t = turns_make(truth, noise, seed);
	struct fold_options options = {.cells = CELLS, .seed = seed};
	double begin = seconds(), sum;
	size_t whole;
	int err = t ? fold_increments_fit(t->made, t->n, t->lengths, t->instance + 1, &options, ret,
					  &sum, &whole)
		    : -ENOMEM;

	total->seconds += seconds() - begin;
	free(t);
	return err;
}

static int accuracy_of(const struct bench *b, const struct truth *truth,
		       const struct truth_noise *noise)
{
	double *mean = truth_mean(truth, noise, CELLS, 50000);
	struct total total = {0};

	for (uint32_t seed = 0; seed < b->seeds; seed++) {
		struct truth_judgement j;
		struct fold_curve *curve;
		int err = b->points ? fit_points(b, truth, noise, seed, &total, &curve)
				    : fit_increments(truth, noise, seed, &total, &curve);

		if (err < 0 || !mean) {
			fprintf(stderr, "fold_fit: %s: %s\n", truth->name, strerror(-err));
			return 1;
		}
		j = truth_judge(curve, truth, mean);
		add(&total, &j, curve);
		if (b->only >= 0)
			show(curve, &j);
		fold_curve_free(curve);
	}
	print(truth->name, noise->name, &total, b->seeds);
	free(mean);
	return 0;
}

static void print_head(void)
{
	printf(". The mean of each, and how many exceed 0.3 %%, 1 %%, 0.5 %%, 5 %%\n"
	       "%-22s %-11s %-9s  %-15s  %-9s  %-9s  %-23s  %-5s  %s\n",
	       "curve", "noise", "mean", "max, worst", "break", "rate", "in y, rate, break, phase",
	       "found", "ms");
}

static int accuracy(const struct bench *b)
{
	printf("%u seeds, ", b->seeds);
	if (b->points)
		printf("%zu samples, %g in an instance", b->points, b->each);
	else
		printf("%u increments, %u in an instance", TURNS_SAMPLE, TURNS_EACH / 2);
	print_head();
	for (size_t i = 0; i < N_TRUTHS; i++) {
		for (size_t k = 0; k < N_TRUTH_NOISES; k++) {
			int number = (int)(10 * i + k);

			if (i == FOLD_TUNED && k == 0 && b->only < 0)
				printf("-- added afterwards:\n");
			if ((b->only < 0 || b->only == number) &&
			    accuracy_of(b, &truths[i], &truth_noises[k]))
				return 1;
		}
	}
	return 0;
}

/* The largest error, by curve, that nine in ten curves do not exceed. */
static double of_most(double *errors, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k > 0 && errors[k] < errors[k - 1]; k--) {
			double e = errors[k];

			errors[k] = errors[k - 1];
			errors[k - 1] = e;
		}
	return n ? errors[(n - 1) * 9 / 10] : 0;
}

enum set { SET_TUNING, SET_JUDGING, SET_UNSEEN, N_SETS };

static const char *const set_names[N_SETS] = {"tuning", "judging", "unseen"};

static struct family_case case_of(enum set set, int family, uint32_t i)
{
	if (set == SET_UNSEEN)
		return unseen_make((enum unseen)family, i);
	return family_make((enum family)family, (set == SET_JUDGING ? FAMILY_JUDGED : 0) + i);
}

struct ends {
	uint32_t true_ones, within, held, false_ones;
};

static void count_ends(const struct truth *truth, const struct fold_curve *curve, struct ends *e)
{
	const struct truth_instance nominal = truth_draw(truth, NULL, NULL);

	for (uint32_t i = 1; i < truth->n; i++) {
		const struct fold_estimate *nearest = NULL;
		double distance = 1;

		if (!truth_is_break(truth, i))
			continue;
		for (uint32_t k = 1; k < curve->n_phases; k++)
			if (fabs(curve->phases[k].from.value - nominal.at[i]) < distance) {
				nearest = &curve->phases[k].from;
				distance = fabs(nearest->value - nominal.at[i]);
			}
		e->true_ones++;
		e->within += distance <= .005;
		e->held +=
			nearest && nearest->low <= nominal.at[i] && nearest->high >= nominal.at[i];
	}
	for (uint32_t k = 1; k < curve->n_phases; k++) {
		double distance = 1;

		for (uint32_t i = 1; i < truth->n; i++)
			distance =
				fmin(distance, fabs(curve->phases[k].from.value - nominal.at[i]));
		e->false_ones += distance > .02;
	}
}

static void show_case(uint32_t i, const struct family_case *c)
{
	printf("%" PRIu32 ": %zu samples, %.1f a pass, length %.1f %%;", i, c->n, c->each,
	       100 * c->noise.length);
	for (uint32_t k = 0; k < c->truth.n; k++)
		printf(" %.3f:%.2f/%.1f/%.0f", c->truth.phases[k].length,
		       c->truth.phases[k].share / c->truth.phases[k].length,
		       c->truth.phases[k].bend, c->truth.phases[k].waves);
	printf("\n  ");
}

/* The deviation of the mean of n values, of which these are the sum and the sum of squares. */
static double deviation(double sum, double squares, double n)
{
	return n > 1 ? sqrt(fmax(0, squares / n - sum * sum / n / n) / (n - 1)) : 0;
}

static int fold_family(enum set set, int family, uint32_t seeds, bool is_shown)
{
	const char *name = set == SET_UNSEEN ? unseen_names[family] : family_names[family];
	double *breaks = calloc(seeds, sizeof(*breaks)), *most = calloc(seeds, sizeof(*most));
	double in_y = 0, in_rate = 0;
	struct total total = {0};
	struct ends ends = {0};

	for (uint32_t i = 0; i < seeds && breaks && most; i++) {
		struct family_case c = case_of(set, family, i);
		double *mean = truth_mean(&c.truth, &c.noise, CELLS, 20000);
		struct bench b = {.points = c.n, .each = c.each};
		struct truth_judgement j;
		struct fold_curve *curve;

		if (!mean || fit_points(&b, &c.truth, &c.noise, i, &total, &curve) < 0)
			return 1;
		j = truth_judge(curve, &c.truth, mean);
		add(&total, &j, curve);
		count_ends(&c.truth, curve, &ends);
		in_y += j.in_y * j.in_y;
		in_rate += j.in_rate * j.in_rate;
		breaks[i] = j.break_error;
		most[i] = j.max_error;
		if (is_shown) {
			show_case(i, &c);
			show(curve, &j);
		}
		fold_curve_free(curve);
		free(mean);
	}
	print(name, set_names[set], &total, seeds);
	printf("%34s of nine in ten: max %.2f, break %.2f; in y +- %.1f, rate +- %.1f; breaks: "
	       "%u of %u within 0.5 %%, %u in their intervals; %u false ends\n",
	       "", 100 * of_most(most, seeds), 100 * of_most(breaks, seeds),
	       100 * deviation(total.in_y, in_y, seeds),
	       100 * deviation(total.in_rate, in_rate, seeds), ends.within, ends.true_ones,
	       ends.held, ends.false_ones);
	fflush(stdout);
	free(breaks);
	free(most);
	return 0;
}

static int families(uint32_t seeds, int only)
{
	printf("%u curves of each family", seeds);
	print_head();
	for (int set = 0; set < N_SETS; set++)
		for (int f = 0; f < (set == SET_UNSEEN ? (int)N_UNSEEN : (int)N_FAMILIES); f++)
			if ((only < 0 || only == f) &&
			    fold_family((enum set)set, f, seeds, only >= 0))
				return 1;
	return 0;
}

static int grow(size_t n, double each)
{
	struct fold_point *points = truth_sample(&truths[9], &truth_noises[1], each, n, 1);
	struct fold_curve *curve;
	struct rusage before, after;
	double begin;
	int err;

	getrusage(RUSAGE_SELF, &before);
	begin = seconds();
	err = points ? fold_curve_fit(points, n, NULL, &curve) : -ENOMEM;
	begin = seconds() - begin;
	getrusage(RUSAGE_SELF, &after);
	if (err < 0) {
		fprintf(stderr, "fold_fit: %zu samples: %s\n", n, strerror(-err));
		return 1;
	}
	printf("%9zu  %9u  %6.3f  %8.1f  %8.1f\n", n, curve->n_instances, begin,
	       (double)(after.ru_maxrss - before.ru_maxrss) / 1024, (double)after.ru_maxrss / 1024);
	fold_curve_free(curve);
	free(points);
	return 0;
}

static int growth(void)
{
	static const double each[] = {1, 100};

	printf("  samples  instances  CPU s  more MiB  all MiB\n");
	for (size_t e = 0; e < 2; e++)
		for (size_t n = 10000; n <= 10000000; n *= 10) {
			int status;

			fflush(stdout);
			if (fork() == 0) {
				status = grow(n, each[e]);
				fflush(stdout);
				_exit(status);
			}
			if (wait(&status) < 0 || status != 0)
				return 1;
		}
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = {.seeds = argc > 2 ? (uint32_t)atoi(argv[2]) : 200,
			  .points = argc > 3 ? (size_t)atol(argv[3]) : 2000,
			  .each = argc > 4 ? atof(argv[4]) : 1,
			  .only = argc > 5 ? atoi(argv[5]) : -1};

	if (argc >= 2 && argc <= 4 && strcmp(argv[1], "families") == 0)
		return families(argc > 2 ? b.seeds : 30, argc > 3 ? atoi(argv[3]) : -1);
	if (argc == 2 && strcmp(argv[1], "growth") == 0)
		return growth();
	if (argc >= 2 && argc <= 6 && strcmp(argv[1], "accuracy") == 0 && b.points > 0)
		return accuracy(&b);
	if (argc >= 2 && argc <= 4 && strcmp(argv[1], "increments") == 0) {
		b.points = 0;
		b.only = argc > 3 ? atoi(argv[3]) : -1;
		return accuracy(&b);
	}
	fprintf(stderr,
		"usage: fold_fit families [SEEDS [FAMILY]] | accuracy [SEEDS [POINTS [EACH [CASE]]]] | "
		"increments [SEEDS [CASE]] | growth\n");
	return 2;
}
