/* SPDX-License-Identifier: MIT */
/* Two sides compared; see diff.h. */
#include "tagset/tagset_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/strings.h"
#include "base/text.h"

#define TAGSET_DIFF_EXACT 20000 /* samples of a row up to which the test is exact */
#define TAGSET_DIFF_95	  1.959964

const char *tagset_diff_function(const struct tagset_diff *diff, uint32_t function)
{
	return strings_at(diff->names, function);
}

void tagset_diff_release(struct tagset_diff *diff)
{
	free(diff->rows);
	free(diff->function_of);
	strings_free(diff->names);
	*diff = (struct tagset_diff){0};
}

/* --- significance -------------------------------------------------------------------------- */

static double log_binomial(double a, double n, double share)
{
	return lgamma(n + 1) - lgamma(a + 1) - lgamma(n - a + 1) + a * log(share) +
	       (n - a) * log1p(-share);
}

/* Sums the counts of one side of the mean that are no likelier than `limit`, from the mean's far
 * end inwards: beyond a count that is likelier there are only likelier ones. */
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

double tagset_diff_binomial(uint64_t a, uint64_t n, double share)
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

/* Benjamini and Hochberg: with the likelihoods in order, all up to the last one that is at most
 * its rank's part of TAGSET_DIFF_FALSE. */
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

/*
 * The variance of a row's share. A share by n of N samples is binomial. One of other amounts, by n
 * records of about equal size, has that of n, which is relative to its square.
 */
static double share_variance(const struct tagset_diff *diff, const struct tagset_diff_row *row,
			     double share, unsigned side)
{
	if (diff->metric == METRIC_CPU)
		return share * (1 - share) / (double)diff->records[side];
	return row->records[side] ? share * share * (1 - share) / (double)row->records[side] : 0;
}

/* The likelihood of a row's counts of records if nothing changed. */
static double likelihood(const struct tagset_diff *diff, const uint64_t records[2])
{
	const uint64_t *all = diff->records;
	const double a = (double)all[0], b = (double)all[1];

	/* A share of one half or more is tested by what is not in it: that makes it a rare thing,
	 * whose count is nearly Poisson, which the binomial of two such counts takes for granted.
	 */
	if ((double)records[0] / a + (double)records[1] / b > 1)
		return tagset_diff_binomial(all[0] - records[0],
					    all[0] - records[0] + all[1] - records[1], a / (a + b));
	return tagset_diff_binomial(records[0], records[0] + records[1], a / (a + b));
}

static void row_finish(const struct tagset_diff *diff, struct tagset_diff_row *row)
{
	const uint64_t *amount = diff->by == TAGSET_DIFF_BY_TAG ? row->self : row->total;
	double share[2], variance = 0;

	for (unsigned side = 0; side < 2; side++) {
		share[side] = (double)amount[side] / (double)diff->amount[side];
		variance += share_variance(diff, row, share[side], side);
	}
	row->change = share[1] - share[0];
	if (metric_info(diff->metric)->is_sampled) {
		row->error = TAGSET_DIFF_95 * sqrt(variance);
		row->p = likelihood(diff, row->records);
	} else {
		row->error = 0;
		row->p = share[0] == share[1];
	}
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

/* --- functions ----------------------------------------------------------------------------- */

/* The functions of a location, the enclosing one first: their texts within its names. */
static const char *next_function(const char *names, size_t *ret_len)
{
	*ret_len = strcspn(names, "\t");
	return names;
}

static const char *skip(const char *names, unsigned fields)
{
	for (; fields; fields--) {
		names += strcspn(names, "\t");
		if (!*names)
			return NULL;
		names++;
	}
	return names;
}

/* A location without a function is shown as object+offset. */
static int unnamed(const struct tagset *set, const struct tagset_location *l, struct buf *b)
{
	const char *object = tagset_object_path(set, l->object);

	text_put_raw(b, *object ? text_basename(object) : "[unknown]");
	text_put_raw(b, "+0x");
	text_put_raw(b, tagset_escaped(set, l->offset));
	return b->failed ? -ENOMEM : 0;
}

typedef int (*tagset_diff_each)(void *arg, uint32_t function);

/* Calls `each` for the functions of a location. */
static int tagset_diff_functions(struct tagset_diff *diff, const struct tagset *set,
				 uint32_t location, tagset_diff_each each, void *arg)
{
	uint32_t n, function;
	const struct tagset_location *l = &tagset_locations(set, &n)[location];
	const char *names = skip(tagset_escaped(set, l->names), 1);
	struct buf b = {0};
	int err = 0;

	while (err == 0 && names) {
		size_t len;
		const char *name = next_function(names, &len);

		buf_clear(&b);
		buf_put(&b, name, len);
		if (!len)
			err = unnamed(set, l, &b);
		buf_put_u8(&b, 0);
		if (err == 0)
			err = b.failed ? -ENOMEM
				       : strings_intern(diff->names, (const char *)b.data,
							&function);
		if (err == 0)
			err = each(arg, function);
		names = skip(names, 3);
	}
	buf_free(&b);
	return err;
}

static int last(void *arg, uint32_t function)
{
	*(uint32_t *)arg = function;
	return 0;
}

static int name_locations(struct tagset_diff *diff, const struct tagset *set)
{
	uint32_t n;
	int err = strings_new(&diff->names);

	tagset_locations(set, &n);
	diff->function_of = calloc((size_t)n + 1, sizeof(*diff->function_of));
	if (err < 0 || !diff->function_of)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < n; i++)
		err = tagset_diff_functions(diff, set, i, last, &diff->function_of[i]);
	return err;
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

/* Adds up the samples, or the records of the metric. */
struct tagset_diff_sum {
	struct tagset_diff *diff;
	const struct tagset *set;
	const char *metric; /* as it is in the file */
	uint32_t *seen;	    /* by function: the sample that counted it last, plus 1 */
	const struct tagset_sample *sample;
	uint32_t number; /* of the sample */
};

/* Returns what a sample adds to the compared amount; 0 for one of another metric. */
static uint64_t amount_of(const struct tagset_diff_sum *sum, const struct tagset_sample *sample)
{
	if (strcmp(tagset_escaped(sum->set, sample->metric), sum->metric) != 0)
		return 0;
	return sum->diff->metric == METRIC_CPU || metric_info(sum->diff->metric)->is_count
		       ? sample->count
		       : sample->weight;
}

static void sum_all(struct tagset_diff_sum *sum)
{
	uint32_t n;
	const struct tagset_sample *samples = tagset_samples(sum->set, &n);

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t amount = amount_of(sum, &samples[i]);

		sum->diff->amount[samples[i].side] += amount;
		sum->diff->records[samples[i].side] += amount ? samples[i].count : 0;
	}
}

static int by_tag(struct tagset_diff_sum *sum)
{
	uint32_t n_nodes, n;
	const struct tagset_sample *samples = tagset_samples(sum->set, &n);
	int err;

	tagset_nodes(sum->set, &n_nodes);
	err = rows_new(sum->diff, n_nodes);
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const uint64_t amount = amount_of(sum, &samples[i]);
		struct tagset_diff_row *row = &sum->diff->rows[samples[i].node];

		row->self[samples[i].side] += amount;
		row->total[samples[i].side] += amount;
		row->records[samples[i].side] += amount ? samples[i].count : 0;
	}
	return err;
}

static int tagset_diff_count(void *arg, uint32_t function)
{
	struct tagset_diff_sum *sum = arg;
	struct tagset_diff_row *row = &sum->diff->rows[function];

	if (sum->seen[function] != sum->number + 1) {
		row->total[sum->sample->side] += amount_of(sum, sum->sample);
		row->records[sum->sample->side] += sum->sample->count;
	}
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
		const uint64_t amount = amount_of(sum, &samples[i]);
		uint32_t at = samples[i].node;

		if (!amount)
			continue;
		sum->sample = &samples[i];
		sum->number = i;
		if (at)
			sum->diff->rows[sum->diff->function_of[nodes[at].location]]
				.self[samples[i].side] += amount;
		for (; err == 0 && at; at = nodes[at].parent)
			err = tagset_diff_functions(sum->diff, sum->set, nodes[at].location,
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

/* Rows without samples go (paths that only lead to others). */
static void drop_empty(struct tagset_diff *diff)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < diff->n; i++)
		if (diff->rows[i].total[0] || diff->rows[i].total[1])
			diff->rows[kept++] = diff->rows[i];
	diff->n = kept;
}

int tagset_diff_make(const struct tagset *set, enum tagset_diff_by by, enum metric metric,
		     struct tagset_diff *ret_diff)
{
	struct tagset_diff diff = {.by = by, .metric = metric};
	struct tagset_diff_sum sum = {
		.diff = &diff, .set = set, .metric = metric_info(metric_summed(metric))->name};
	int err;

	sum_all(&sum);
	*ret_diff = diff;
	if (!diff.amount[0] || !diff.amount[1])
		return -ENODATA;
	err = name_locations(&diff, set);
	if (err == 0)
		err = by == TAGSET_DIFF_BY_TAG ? by_tag(&sum) : by_function(&sum);
	if (err == 0) {
		drop_empty(&diff);
		for (uint32_t i = 0; i < diff.n; i++)
			row_finish(&diff, &diff.rows[i]);
		err = tagset_diff_judge(&diff);
	}
	if (err < 0) {
		tagset_diff_release(&diff);
		return err;
	}
	qsort_r(diff.rows, diff.n, sizeof(*diff.rows), compare_rows, NULL);
	*ret_diff = diff;
	return 0;
}
