/* SPDX-License-Identifier: MIT */
/*
 * Differences between two recordings: the two sides of a tag set compared, by call path or by
 * function, as shares of each side's samples, or of the sum of another metric.
 *
 * Sampling has an error, and most of what differs between two runs is that. A row is significant if
 * its counts are unlikely to come from one and the same share: tested exactly (given the sum of a
 * row's counts, one of them is binomial), and judged with all rows together (Benjamini and
 * Hochberg, "Controlling the False Discovery Rate", 1995), so that of the rows that are called
 * significant no more than TAGSET_DIFF_FALSE are expected to be noise, however many rows there are.
 * Of allocations it is the sampled ones that are tested so. Regions are counted one by one, without
 * an error of sampling: what differs there did differ.
 */
#ifndef TAGSET_TAGSET_DIFF_H
#define TAGSET_TAGSET_DIFF_H

#include "stack/metric.h"
#include "tagset/tagset.h"

#define TAGSET_DIFF_FALSE 0.05 /* of the rows that are called significant */

enum tagset_diff_by { TAGSET_DIFF_BY_TAG, TAGSET_DIFF_BY_FUNCTION };

struct tagset_diff_row {
	uint32_t key;	     /* node of the set, or number of a function */
	uint64_t self[2];    /* samples, or the metric's sum, that end there */
	uint64_t total[2];   /* by function: with it anywhere in their path, each counted once */
	uint64_t records[2]; /* how many there are of `self` by tag, of `total` by function */
	double change; /* of the share, B - A, -1 to 1: of `self` by tag, of `total` by function */
	double error;  /* half the width of the 95 % interval of `change` */
	double p;      /* likelihood of counts at least as far apart, if nothing changed */
	bool is_significant;
};

struct tagset_diff {
	enum tagset_diff_by by;
	enum metric metric;
	struct tagset_diff_row *rows; /* largest change first */
	uint32_t n;
	uint64_t amount[2];  /* in all: samples, or the metric's sum */
	uint64_t records[2]; /* how many there are */
	struct strings *names;
	uint32_t *function_of; /* by location: the one that was hit there, innermost */
};

/* The sides are 0 (A) and 1 (B). 0, -ENOMEM, -ENODATA (a side has none of the metric: its amount is
 * 0, and there is nothing to release). */
int tagset_diff_make(const struct tagset *set, enum tagset_diff_by by, enum metric metric,
		     struct tagset_diff *ret_diff);
void tagset_diff_release(struct tagset_diff *diff);

/* The name of a function by its number, as text of the format (escaped). */
const char *tagset_diff_function(const struct tagset_diff *diff, uint32_t function);

/* The likelihood that of `n` things, each of which falls to the first side with `share`, as many as
 * `a` do or a count that is no likelier. */
double tagset_diff_binomial(uint64_t a, uint64_t n, double share);

struct tagset_diff_options {
	const char *names[2]; /* of the sides */
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
