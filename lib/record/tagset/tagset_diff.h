/* SPDX-License-Identifier: MIT */
/*
 * Differences between two recordings, the two sides of a tag set, by call path or by function. They
 * are compared as amounts (seconds, bytes, visits), as amounts per unit of the work of a side (per
 * second, per pass, per amount of another function), or as shares of the side's whole. Amounts are
 * the default, because the share of a function that did not change grows when another function is
 * improved.
 *
 * Sampling has an error, which is most of the difference between two runs. A row is significant if
 * its change is unlikely to be that error, judged with all rows together (Benjamini and Hochberg,
 * "Controlling the False Discovery Rate", 1995): of the rows that are called significant, at most a
 * share of TAGSET_DIFF_FALSE is expected to be noise, however many rows there are.
 *
 * - Samples of an event are tested exactly: given the sum of a row's counts, one of them is
 *   binomial.
 * - Of other sampled metrics the export has the variance of each sum ("alloc.bytes.variance"),
 *   and the change is held against the normal distribution. Blocks that were all sampled have
 *   none: what differs there did differ. Where there are no variances, in sums of a server's
 *   database, the records are taken to be of about equal size.
 * - Regions are counted one by one, without an error of sampling, but for what is estimated of
 * those that were taken off (--region-limit): that has variances in the export as well.
 */
#ifndef TAGSET_TAGSET_DIFF_H
#define TAGSET_TAGSET_DIFF_H

#include "stack/metric.h"
#include "tagset/tagset.h"

/* expected share of noise among the rows that are called significant */
#define TAGSET_DIFF_FALSE 0.05

enum tagset_diff_by { TAGSET_DIFF_BY_TAG, TAGSET_DIFF_BY_FUNCTION };

/* What is to be compared, and how. */
struct tagset_diff_ask {
	enum tagset_diff_by by;
	enum metric metric;
	bool is_share; /* compares shares of each side's whole, not amounts */
	double per[2]; /* divides the amounts of each side by this; 0: does not divide */
	/* also divides by the amount of this function and all that it calls; NULL: does not */
	const char *base;

	/* Returns a suffix for the name of a function if other functions have the same name, else
	 * NULL. The function is at a location of the set: the enclosing function (`outer` 0), or
	 * one inlined there. If `is_rebuilt`, there are different files of its object's name, so
	 * that a suffix that is an address would not match. The suffix is not
	 * escaped. If `suffix` is NULL, functions are identified by their names. */
	const char *(*suffix)(void *arg, uint32_t location, unsigned outer, bool is_rebuilt);
	void *suffix_arg;
};

struct tagset_diff_row {
	uint32_t key; /* node of the set, or number of a function */
	/* sum of the metric at records whose path ends with the tag or function; for samples, the
	 * sum of their periods */
	uint64_t self[2];
	/* sum at records with the function anywhere in the path, each record counted once; only if
	 * compared by function */
	uint64_t total[2];
	uint64_t records[2]; /* number of records in `self` (by tag) or `total` (by function) */
	double variance[2];  /* variance of that sum */
	double change;	     /* side B minus side A, in the unit that is compared */
	double error;	     /* half the width of the 95 % interval of `change` */
	/* probability that values at least this far apart occur if nothing changed */
	double p;
	bool is_significant;
};

struct tagset_diff {
	struct tagset_diff_ask ask;
	struct tagset_diff_row *rows; /* largest change first */
	uint32_t n;
	/* whole of each side: sum of the metric; for samples, the sum of their periods */
	uint64_t amount[2];
	uint64_t records[2]; /* number of records of each side */
	double variance[2];  /* variance of `amount` */
	/* both sides have variances of their sums (of a metric that is counted, not sampled: at
	 * least one side) */
	bool has_variances;
	bool is_timed; /* samples are of a clock: their periods are nanoseconds */
	/* if false, samples have no periods, so numbers of samples are compared */
	bool has_periods;
	double scale[2]; /* factor from an amount to what is compared */
	struct strings *names;
	/* by location: number of the innermost function there, to which samples at the location
	 * belong */
	uint32_t *function_of;
	bool *is_rebuilt; /* by object: there is a different file of its name */
};

/* Compares side 0 (A) with side 1 (B). Copies `ask`, but borrows the base's name. Returns 0;
 * -ENOMEM; -ENODATA: a side has no record of the metric (its amount is 0, and ret_diff needs no
 * release); -ENOENT: a side has no path through the base function. */
int tagset_diff_make(const struct tagset *set, const struct tagset_diff_ask *ask,
		     struct tagset_diff *ret_diff);
void tagset_diff_release(struct tagset_diff *diff);

/* Returns the row that has grown most, by a significant change of more than `percent` of side A's
 * whole, which *ret_percent then is; NULL: none has. With is_share, the whole is 100 percent. */
const struct tagset_diff_row *tagset_diff_growth(const struct tagset_diff *diff, double percent,
						 double *ret_percent);

/* Returns the name of a function by its number, as text of the format (escaped). */
const char *tagset_diff_function(const struct tagset_diff *diff, uint32_t function);

struct tagset_diff_options {
	const char *names[2]; /* names of the sides */
	const char *per;      /* what amounts are divided by: "second", a region's name; or NULL */
	/* only for text: a row whose share is below this on both sides is left out and counted */
	double percent_limit;
	bool only_significant;
	bool color;
	bool full_names; /* only for text: functions with what they return, all arguments */
	unsigned width;	 /* 0: rows are not cut */
};

/* Write the differences as text or JSON. Return 0, -ENOMEM or -EIO. */
int tagset_diff_write_text(const struct tagset *set, const struct tagset_diff *diff,
			   const struct tagset_diff_options *options, FILE *out);
int tagset_diff_write_json(const struct tagset *set, const struct tagset_diff *diff,
			   const struct tagset_diff_options *options, FILE *out);

#endif
