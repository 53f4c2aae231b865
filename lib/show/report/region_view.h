/* SPDX-License-Identifier: MIT */
/* The view 'regions' of the report: the passes through each region, in total and by call path. */
#ifndef REPORT_REGION_VIEW_H
#define REPORT_REGION_VIEW_H

#include <stdio.h>

#include "report/report.h"

/* Writes the view of a profile of METRIC_REGION_TIME as text, or as JSON. Both functions return 0,
 * -ENOMEM, -EIO if the stream failed, or an error of region_rows_make(). */
int region_view_text(struct profile *profile, const struct report_options *options, FILE *out);

/* Writes it as JSON; docs/JSON.md has its members. */
int region_view_json(struct profile *profile, const struct report_options *options, FILE *out);

#endif
