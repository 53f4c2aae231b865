/* SPDX-License-Identifier: MIT */
/*
 * The reports: a profile as a call-path tree, a flat list, a tree of callers, what is around one
 * function, or when samples were taken; per process or otherwise (tree/partition.h), as text or
 * JSON. Each begins with the header: host, kernel, event, samples, lost and quality.
 *
 * Every percentage says what it is of. All return 0, -ENOMEM, or -EIO
 * when the stream failed (a full disk, /dev/full, a closed pipe). Local time is that of TZ.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "model/profile.h"
#include "tree/partition.h"

enum report_view { REPORT_TREE, REPORT_FLAT, REPORT_CALLERS, REPORT_AROUND, REPORT_TIME };

struct report_options {
	enum report_view view;
	enum partition_by by;
	const char *around;   /* REPORT_AROUND: a pattern of functions (model/pattern.h) */
	uint32_t n_bins;      /* REPORT_TIME: steps */
	double percent_limit; /* rows below this share of their part are left out and summed up */
	unsigned width;	      /* columns to fit rows in; 0: do not cut */
	bool color;	      /* the rows that matter stand out */
	bool utf8;	      /* names and branches may use characters beyond ASCII */
	bool with_sources;    /* of REPORT_TREE: where each row's frames come from */
	bool calls_apart;     /* a row for every call of a function by itself */
};

/* Whether any path of a profile goes through a function that meets a pattern, as REPORT_AROUND
 * wants one. 0, -ENOENT, -ENOMEM. */
int report_find(struct profile *profile, const char *pattern);

int report_write_text(struct profile *profile, const struct report_options *options, FILE *out);
int report_write_json(struct profile *profile, const struct report_options *options, FILE *out);

/* The `stats` object of the command contract. */
int report_write_stats_json(struct profile *profile, FILE *out);
int report_write_stats_text(struct profile *profile, FILE *out);

#endif
