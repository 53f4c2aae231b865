/* SPDX-License-Identifier: MIT */
/* The view 'waits' of the report: single waits, with their begin and end. */
#ifndef REPORT_WAIT_VIEW_H
#define REPORT_WAIT_VIEW_H

#include <stdio.h>

#include "report/report.h"

/* Writes the waits that the filter of a profile of METRIC_WAIT, METRIC_WAIT_BLOCKED or
 * METRIC_WAIT_RUNNABLE selects, as text; the other functions as JSON and CSV. All three return 0,
 * -ENOMEM, -EIO if the stream failed, or an error of waits_make(). */
int wait_view_text(struct profile *profile, const struct report_options *options, FILE *out);

/* Writes them as JSON; docs/JSON.md has its members. */
int wait_view_json(struct profile *profile, const struct report_options *options, FILE *out);

/* Writes them as CSV; docs/WAITS.md has the columns. */
int wait_view_csv(struct profile *profile, const struct report_options *options, FILE *out);

#endif
