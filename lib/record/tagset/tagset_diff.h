/* SPDX-License-Identifier: MIT */
/*
 * Differences between two recordings, the two sides of a tag set, by call path or by function. They
 * are compared as amounts (seconds, bytes, visits); as amounts per unit of what a side did in that
 * time (a second, a pass, another function's amount); or as shares of each side's whole. Amounts
 * are the default: the share of a function that did not change grows when another one is improved.
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

#define TAGSET_DIFF_FALSE 0.05 /* of the rows that are called significant */

enum tagset_diff_by { TAGSET_DIFF_BY_TAG, TAGSET_DIFF_BY_FUNCTION };

/* The comparison that is asked for. */
struct tagset_diff_ask {
	enum tagset_diff_by by;
	enum metric metric;
	bool is_share;	  /* shares of each side's whole */
	double per[2];	  /* amounts are divided by these; 0: by nothing */
	const char *base; /* and by the amount of this function (with what it calls), or NULL */

	/* Returns a suffix for the name of a function at a location of the set, the enclosing one
	 * (0) or one inlined there, if other functions have the same name; NULL: no suffix. Not
	 * escaped. `suffix` is NULL: functions are identified by their names. */
	const char *(*suffix)(void *arg, uint32_t location, unsigned outer);
	void *suffix_arg;
};

struct tagset_diff_row {
	uint32_t key;	   /* node of the set, or number of a function */
	uint64_t self[2];  /* the metric's sum that ends there; of samples that of their periods */
	uint64_t total[2]; /* by function: with it anywhere in their path, each counted once */
	uint64_t records[2]; /* how many there are of `self` by tag, of `total` by function */
	double variance[2];  /* of the same */
	double change;	     /* B - A, of what is compared */
	double error;	     /* half the width of the 95 % interval of `change` */
	double p;	     /* likelihood of values at least as far apart, if nothing changed */
	bool is_significant;
};

struct tagset_diff {
	struct tagset_diff_ask ask;
	struct tagset_diff_row *rows; /* largest change first */
	uint32_t n;
	uint64_t amount[2];  /* in all: the metric's sum, of samples that of their periods */
	uint64_t records[2]; /* how many there are */
	double variance[2];  /* of the amounts */
	bool has_variances;  /* both sides (of what is counted: one) have those of their sums */
	bool is_timed;	     /* samples are of a clock: their periods are nanoseconds */
	bool has_periods;    /* else samples have none, and their number is compared */
	double scale[2];     /* by which amounts are multiplied to what is compared */
	struct strings *names;
	uint32_t *function_of; /* by location: the one that was hit there, innermost */
};

/* Compares the sides 0 (A) and 1 (B). `ask` is copied, but for the base's name. 0, -ENOMEM,
 * -ENODATA (a side has none of the metric: its amount is 0, and there is nothing to release),
 * -ENOENT (the base is in no path of a side). */
int tagset_diff_make(const struct tagset *set, const struct tagset_diff_ask *ask,
		     struct tagset_diff *ret_diff);
void tagset_diff_release(struct tagset_diff *diff);

/* Returns the name of a function by its number, as text of the format (escaped). */
const char *tagset_diff_function(const struct tagset_diff *diff, uint32_t function);

struct tagset_diff_options {
	const char *names[2]; /* of the sides */
	const char *per;      /* what amounts are of: "second", a region's name; or NULL */
	double percent_limit; /* text: rows whose larger share is below are left out and counted */
	bool only_significant;
	bool color;
	unsigned width; /* 0: do not cut */
};

/* 0, -ENOMEM, -EIO. */
int tagset_diff_write_text(const struct tagset *set, const struct tagset_diff *diff,
			   const struct tagset_diff_options *options, FILE *out);
int tagset_diff_write_json(const struct tagset *set, const struct tagset_diff *diff,
			   const struct tagset_diff_options *options, FILE *out);

#endif
