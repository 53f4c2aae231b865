/* SPDX-License-Identifier: MIT */
/*
 * The reports: a profile as a call-path tree, a flat list, or a callers tree, per process, as text
 * or JSON. Each begins with the header: host, kernel, event, samples, lost and quality.
 *
 * Every percentage is of the samples of one process, and says so. All return 0, -ENOMEM, or -EIO
 * when the stream failed (a full disk, /dev/full, a closed pipe). Local time is that of TZ.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/profile.h"

enum report_view { REPORT_TREE, REPORT_FLAT, REPORT_CALLERS };

struct report_options {
	enum report_view view;
	double percent_limit; /* rows below this share of their process are left out and summed up
			       */
	unsigned width;	      /* columns to fit rows in; 0: do not cut */
	bool color;	      /* the rows that matter stand out */
	bool utf8;	      /* names and branches may use characters beyond ASCII */
};

int report_write_text(struct profile *profile, const struct report_options *options, FILE *out);
int report_write_json(struct profile *profile, const struct report_options *options, FILE *out);

/* The `stats` object of the command contract. */
int report_write_stats_json(struct profile *profile, FILE *out);
int report_write_stats_text(struct profile *profile, FILE *out);

#endif
