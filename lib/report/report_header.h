/* SPDX-License-Identifier: MIT */
/* What every report begins with: where, what and how well it was recorded. */
#ifndef REPORT_REPORT_HEADER_H
#define REPORT_REPORT_HEADER_H

#include "report/report.h"
#include "base/text.h"

/* As lines that start with "# ". 0, -ENOMEM, -EIO. */
int report_header_text(const struct profile *profile, const struct report_options *options,
		       FILE *out);

/* As members of a JSON object, without braces: "recording":1,"host":"...",..."quality":{...}. */
void report_header_json(const struct profile *profile, struct buf *b);

/* "99.9% complete, 0.0% reconstructed, 0.1% partial (stack_cut 12, no_recipe 3)" */
void report_header_quality(const struct profile *profile, struct buf *b);

/* Samples by end reason, after the filter; `n` is STACKD_END_COUNT + 1, the last for unknown
 * reasons. */
void report_header_reasons(const struct profile *profile, uint64_t *ret_samples, uint32_t n);

/* The value of a counter. false: the recording has none of this name. */
bool report_header_counter(const struct store_tables *tables, const char *name,
			   uint64_t *ret_value);

/* "cpu-clock at 997 Hz", "cycles every 1000000" */
void report_header_event(const struct store_recording *recording, struct buf *b);

#endif
