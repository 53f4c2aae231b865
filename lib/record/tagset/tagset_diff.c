/* SPDX-License-Identifier: MIT */
/* Two sides compared; see tagset_diff.h. */
#include "tagset/tagset_diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/strings.h"
#include "tagset/tagset_diff_names.h"

/* the test of a row with at most so many samples is exact */
#define TAGSET_DIFF_EXACT 20000
#define TAGSET_DIFF_95	  1.959964

const char *tagset_diff_function(const struct tagset_diff *diff, uint32_t function)
{
	return strings_at(diff->names, function);
}

const struct tagset_diff_row *tagset_diff_growth(const struct tagset_diff *diff, double percent,
						 double *ret_percent)
{
	const double whole = (double)diff->amount[0] * diff->scale[0];
	const struct tagset_diff_row *most = NULL;

	*ret_percent = percent;
	for (uint32_t i = 0; i < diff->n; i++) {
		const struct tagset_diff_row *row = &diff->rows[i];
		const double grown = 100 * row->change / whole;

		if (row->is_significant && grown > *ret_percent) {
			*ret_percent = grown;
			most = row;
		}
	}
	return most;
}

void tagset_diff_release(struct tagset_diff *diff)
{
	free(diff->rows);
	free(diff->function_of);
	free(diff->is_rebuilt);
	strings_free(diff->names);
	*diff = (struct tagset_diff){0};
}

/* --- significance -------------------------------------------------------------------------- */

static double log_binomial(double a, double n, double share)
{
	return lgamma(n + 1) - lgamma(a + 1) - lgamma(n - a + 1) + a * log(share) +
	       (n - a) * log1p(-share);
}

/* Returns the sum of the probabilities of those counts on one side of the mean that are at most as
 * likely as `limit`. Goes from the far end inwards and stops at the first likelier count, because
 * all counts between it and the mean are likelier still. */
static double tail(uint64_t n, double share, double limit, bool upper)
{
	double sum = 0;

	for (uint64_t i = 0; i <= n; i++) {
		double at = upper ? (double)(n - i) : (double)i;
		double p = exp(log_binomial(at, (double)n, share));

		if (p > limit * (1 + 1e-7))
			break;
		sum += p;
	}
	return sum;
}

/* Returns the probability of `a` or any count that is not likelier, if each of `n` events belongs
 * to the first side with the probability `share`. */
static double binomial_tail(uint64_t a, uint64_t n, double share)
{
	double mean = (double)n * share, limit, p;

	if (!n || share <= 0 || share >= 1)
		return 1;
	if (n > TAGSET_DIFF_EXACT) {
		double deviation = sqrt(mean * (1 - share));
		double z = (fabs((double)a - mean) - 0.5) / deviation;

		return z <= 0 ? 1 : erfc(z / sqrt(2));
	}
	limit = exp(log_binomial((double)a, (double)n, share));
	p = tail(n, share, limit, false) + tail(n, share, limit, true);
	return p > 1 ? 1 : p;
}

static int compare_p(const void *x, const void *y)
{
	double a = (*(struct tagset_diff_row *const *)x)->p,
	       b = (*(struct tagset_diff_row *const *)y)->p;

	return a < b ? -1 : a > b;
}

/* Marks the significant rows (Benjamini and Hochberg): if the rows are ordered by p, all up to the
 * last row whose p is at most TAGSET_DIFF_FALSE * its rank / the number of rows. */
static int tagset_diff_judge(struct tagset_diff *diff)
{
	struct tagset_diff_row **order = calloc((size_t)diff->n + 1, sizeof(*order));
	uint32_t significant = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < diff->n; i++)
		order[i] = &diff->rows[i];
	qsort(order, diff->n, sizeof(*order), compare_p);
	for (uint32_t i = 0; i < diff->n; i++)
		if (order[i]->p <= TAGSET_DIFF_FALSE * (i + 1) / diff->n)
			significant = i + 1;
	for (uint32_t i = 0; i < significant; i++)
		order[i]->is_significant = true;
	free(order);
	return 0;
}

/* Returns the probability that a row's counts are at least this far apart if its share did not
 * change. */
static double share_likelihood(const struct tagset_diff *diff, const uint64_t records[2])
{
	const uint64_t *all = diff->records;
	const double a = (double)all[0], b = (double)all[1];

	/* If the row has more than half of all records, the test takes the records outside of the
	 * row, because it assumes that counts are nearly Poisson, and only rare events are. */
	if ((double)records[0] / a + (double)records[1] / b > 1)
		return binomial_tail(all[0] - records[0], all[0] - records[0] + all[1] - records[1],
				     a / (a + b));
	return binomial_tail(records[0], records[0] + records[1], a / (a + b));
}

/* Returns the same probability if the amount did not change: takes into account how much of the
 * metric one record of each side stands for. */
static double amount_likelihood(const struct tagset_diff *diff, const uint64_t records[2])
{
	double worth[2];

	for (unsigned side = 0; side < 2; side++)
		worth[side] = diff->scale[side] * (double)diff->amount[side] /
			      (double)diff->records[side];
	return binomial_tail(records[0], records[0] + records[1], worth[1] / (worth[0] + worth[1]));
}

/* Returns the probability of at least this change, if it is normal with this variance. */
static double normal_likelihood(double change, double variance)
{
	if (variance > 0)
		return erfc(fabs(change) / sqrt(2 * variance));
	return change == 0;
}

/* Returns the variance of a row's share of its side's amount; the amount includes the row. */
static double share_variance(const struct tagset_diff *diff, const struct tagset_diff_row *row,
			     double share, unsigned side)
{
	const double whole = (double)diff->amount[side];
	double variance =
		(row->variance[side] * (1 - 2 * share) + share * share * diff->variance[side]) /
		(whole * whole);

	if (diff->ask.metric == METRIC_CPU)
		return share * (1 - share) / (double)diff->records[side];
	return variance > 0 ? variance : 0;
}

static void row_finish(const struct tagset_diff *diff, struct tagset_diff_row *row)
{
	const uint64_t *amount = diff->ask.by == TAGSET_DIFF_BY_TAG ? row->self : row->total;
	const bool is_cpu = diff->ask.metric == METRIC_CPU;
	double value[2], variance = 0;

	for (unsigned side = 0; side < 2; side++) {
		value[side] = (double)amount[side] * diff->scale[side];
		variance += diff->ask.is_share
				    ? share_variance(diff, row, value[side], side)
				    : row->variance[side] * diff->scale[side] * diff->scale[side];
	}
	row->change = value[1] - value[0];
	row->error = TAGSET_DIFF_95 * sqrt(variance);
	if (is_cpu && diff->ask.is_share)
		row->p = share_likelihood(diff, row->records);
	else if (is_cpu && !diff->ask.base)
		row->p = amount_likelihood(diff, row->records);
	else
		row->p = normal_likelihood(row->change, variance);
}

static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct tagset_diff_row *a = x, *b = y;
	double changes[2] = {fabs(a->change), fabs(b->change)};

	(void)arg;
	if (changes[0] != changes[1])
		return changes[0] < changes[1] ? 1 : -1;
	if (a->total[0] + a->total[1] != b->total[0] + b->total[1])
		return a->total[0] + a->total[1] < b->total[0] + b->total[1] ? 1 : -1;
	return a->key < b->key ? -1 : a->key > b->key;
}

/* --- rows ---------------------------------------------------------------------------------- */

static int rows_new(struct tagset_diff *diff, uint32_t n)
{
	diff->rows = calloc((size_t)n + 1, sizeof(*diff->rows));
	if (!diff->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		diff->rows[i].key = i;
	diff->n = n;
	return 0;
}

/* The sums over samples, or over the metric's records. */
struct tagset_diff_sum {
	struct tagset_diff *diff;
	const struct tagset *set;
	const char *metric; /* name of the metric in the file */
	char variance[64];  /* name of the metric that has its variances */
	uint32_t *seen; /* by function: number of the last sample that was counted for it, plus 1 */
	struct tagset_diff_row part; /* what the current sample adds to a row */
	uint32_t number;	     /* number of the current sample */
};

/* Fills a row with what a sample adds to it: amount, records or variance of the sample's side.
 * Returns false if the sample belongs to another metric. */
static bool part_of(const struct tagset_diff_sum *sum, const struct tagset_sample *sample,
		    struct tagset_diff_row *ret_part)
{
	const struct tagset_diff *diff = sum->diff;
	const char *metric = tagset_escaped(sum->set, sample->metric);
	const bool is_cpu = diff->ask.metric == METRIC_CPU;
	const double weight = (double)sample->weight, count = (double)sample->count;
	struct tagset_diff_row part = {0};

	if (strcmp(metric, sum->variance) == 0) {
		part.variance[sample->side] = weight * TAGSET_VARIANCE_UNIT;
		*ret_part = part;
		return diff->has_variances;
	}
	if (strcmp(metric, sum->metric) != 0)
		return false;
	part.total[sample->side] =
		metric_info(diff->ask.metric)->is_count || (is_cpu && !diff->has_periods)
			? sample->count
			: sample->weight;
	part.records[sample->side] = part.total[sample->side] ? sample->count : 0;
	if (!diff->has_variances && count > 0 && metric_info(diff->ask.metric)->is_sampled)
		part.variance[sample->side] =
			is_cpu && !diff->has_periods ? count : weight * weight / count;
	*ret_part = part;
	return true;
}

static void add_part(struct tagset_diff_row *row, const struct tagset_diff_row *part)
{
	for (unsigned side = 0; side < 2; side++) {
		row->total[side] += part->total[side];
		row->records[side] += part->records[side];
		row->variance[side] += part->variance[side];
	}
}

/* Finds out whether all samples have periods, and whether the sides have variances. */
static void look(struct tagset_diff_sum *sum)
{
	struct tagset_diff *diff = sum->diff;
	bool has_variances[2] = {0}, lacks_periods = false;
	uint32_t n;
	const struct tagset_sample *samples = tagset_samples(sum->set, &n);

	for (uint32_t i = 0; i < n; i++) {
		const char *metric = tagset_escaped(sum->set, samples[i].metric);

		if (strcmp(metric, sum->variance) == 0)
			has_variances[samples[i].side] = true;
		if (strcmp(metric, TAGSET_CPU) == 0 && !samples[i].weight)
			lacks_periods = true;
	}
	/* A counted metric has variances only if a part of it is estimated. */
	diff->has_variances = metric_info(diff->ask.metric)->is_sampled
				      ? has_variances[0] && has_variances[1]
				      : has_variances[0] || has_variances[1];
	diff->has_periods = !lacks_periods;
	diff->is_timed = diff->has_periods && tagset_is_timed(sum->set);
}

static void sum_all(struct tagset_diff_sum *sum)
{
	struct tagset_diff_row all = {0}, part;
	uint32_t n;
	const struct tagset_sample *samples = tagset_samples(sum->set, &n);

	for (uint32_t i = 0; i < n; i++)
		if (part_of(sum, &samples[i], &part))
			add_part(&all, &part);
	for (unsigned side = 0; side < 2; side++) {
		sum->diff->amount[side] = all.total[side];
		sum->diff->records[side] = all.records[side];
		sum->diff->variance[side] = all.variance[side];
	}
}

static int by_tag(struct tagset_diff_sum *sum)
{
	uint32_t n_nodes, n;
	const struct tagset_sample *samples = tagset_samples(sum->set, &n);
	struct tagset_diff_row part;
	int err;

	tagset_nodes(sum->set, &n_nodes);
	err = rows_new(sum->diff, n_nodes);
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		struct tagset_diff_row *row = &sum->diff->rows[samples[i].node];

		if (!part_of(sum, &samples[i], &part))
			continue;
		add_part(row, &part);
		row->self[samples[i].side] += part.total[samples[i].side];
	}
	return err;
}

static int tagset_diff_count(void *arg, uint32_t function)
{
	struct tagset_diff_sum *sum = arg;

	if (sum->seen[function] != sum->number + 1)
		add_part(&sum->diff->rows[function], &sum->part);
	sum->seen[function] = sum->number + 1;
	return 0;
}

static int sum_functions(struct tagset_diff_sum *sum)
{
	uint32_t n, unused;
	const struct tagset_sample *samples = tagset_samples(sum->set, &n);
	const struct tagset_node *nodes = tagset_nodes(sum->set, &unused);
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const unsigned side = samples[i].side;
		uint32_t at = samples[i].node;

		if (!part_of(sum, &samples[i], &sum->part))
			continue;
		sum->number = i;
		if (at)
			sum->diff->rows[sum->diff->function_of[nodes[at].location]].self[side] +=
				sum->part.total[side];
		for (; err == 0 && at; at = nodes[at].parent)
			err = tagset_diff_names_each(sum->diff, sum->set, nodes[at].location,
						     tagset_diff_count, sum);
	}
	return err;
}

static int by_function(struct tagset_diff_sum *sum)
{
	int err = rows_new(sum->diff, strings_count(sum->diff->names));

	sum->seen = calloc((size_t)sum->diff->n + 1, sizeof(*sum->seen));
	if (err == 0)
		err = sum->seen ? sum_functions(sum) : -ENOMEM;
	free(sum->seen);
	return err;
}

/* Removes rows without records: paths that only lead to other paths. */
static void drop_empty(struct tagset_diff *diff)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < diff->n; i++)
		if (diff->rows[i].total[0] || diff->rows[i].total[1])
			diff->rows[kept++] = diff->rows[i];
	diff->n = kept;
}

/* --- what is compared ----------------------------------------------------------------------- */

/* "parse" means all functions of that name: also "parse(int)" and "parse (lexer.c)". */
static bool is_base(const struct tagset_diff *diff, uint32_t function)
{
	const char *name = tagset_diff_function(diff, function), *base = diff->ask.base;
	const size_t n = strlen(base);

	return strncmp(name, base, n) == 0 &&
	       (!name[n] || name[n] == '(' || !strncmp(name + n, " (", 2) ||
		!strncmp(name + n, " [", 2));
}

struct base_search {
	const struct tagset_diff *diff;
	bool is_there;
};

static int look_for_base(void *arg, uint32_t function)
{
	struct base_search *search = arg;

	search->is_there = search->is_there || is_base(search->diff, function);
	return 0;
}

/* Adds up the samples whose path goes through the base function. */
static int sum_base(struct tagset_diff_sum *sum, struct tagset_diff_row *ret_base)
{
	uint32_t n, unused;
	const struct tagset_sample *samples = tagset_samples(sum->set, &n);
	const struct tagset_node *nodes = tagset_nodes(sum->set, &unused);
	struct tagset_diff_row part;
	int err = 0;

	*ret_base = (struct tagset_diff_row){0};
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		struct base_search search = {.diff = sum->diff};

		if (!part_of(sum, &samples[i], &part))
			continue;
		for (uint32_t at = samples[i].node; err == 0 && at; at = nodes[at].parent)
			err = tagset_diff_names_each(sum->diff, sum->set, nodes[at].location,
						     look_for_base, &search);
		if (search.is_there)
			add_part(ret_base, &part);
	}
	return err;
}

static int find_scale(struct tagset_diff_sum *sum)
{
	struct tagset_diff *diff = sum->diff;
	struct tagset_diff_row base;
	int err = diff->ask.base ? sum_base(sum, &base) : 0;

	for (unsigned side = 0; err == 0 && side < 2; side++) {
		diff->scale[side] = diff->ask.per[side] > 0 ? 1 / diff->ask.per[side] : 1;
		if (diff->ask.is_share)
			diff->scale[side] = 1 / (double)diff->amount[side];
		if (!diff->ask.base)
			continue;
		if (!base.total[side])
			return -ENOENT;
		diff->scale[side] = 1 / (double)base.total[side];
	}
	return err;
}

static int make_rows(struct tagset_diff_sum *sum)
{
	struct tagset_diff *diff = sum->diff;
	int err = tagset_diff_names_make(diff, sum->set);

	if (err == 0)
		err = find_scale(sum);
	if (err == 0)
		err = diff->ask.by == TAGSET_DIFF_BY_TAG ? by_tag(sum) : by_function(sum);
	if (err < 0)
		return err;
	drop_empty(diff);
	for (uint32_t i = 0; i < diff->n; i++)
		row_finish(diff, &diff->rows[i]);
	return tagset_diff_judge(diff);
}

int tagset_diff_make(const struct tagset *set, const struct tagset_diff_ask *ask,
		     struct tagset_diff *ret_diff)
{
	struct tagset_diff diff = {.ask = *ask};
	struct tagset_diff_sum sum = {
		.diff = &diff, .set = set, .metric = metric_info(metric_summed(ask->metric))->name};
	int err;

	snprintf(sum.variance, sizeof(sum.variance), "%s" TAGSET_VARIANCE, sum.metric);
	look(&sum);
	sum_all(&sum);
	*ret_diff = diff;
	if (!diff.amount[0] || !diff.amount[1])
		return -ENODATA;
	err = make_rows(&sum);
	if (err < 0) {
		tagset_diff_release(&diff);
		return err;
	}
	qsort_r(diff.rows, diff.n, sizeof(*diff.rows), compare_rows, NULL);
	*ret_diff = diff;
	return 0;
}
