/* SPDX-License-Identifier: MIT */
/* The view 'wakers' of the report: which threads ended the waits, and what they had waited for
 * themselves. */
#ifndef REPORT_WAKER_VIEW_H
#define REPORT_WAKER_VIEW_H

#include <stdio.h>

#include "report/report.h"

/* Writes the view of a profile of METRIC_WAIT_BLOCKED as text, or as JSON. Both functions return 0,
 * -ENOMEM, -EIO if the stream failed, or an error of wakers_make(). */
int waker_view_text(struct profile *profile, const struct report_options *options, FILE *out);

/* Writes it as JSON; docs/JSON.md has its members. */
int waker_view_json(struct profile *profile, FILE *out);

#endif
