/* SPDX-License-Identifier: MIT */
/* The header of reports: what was recorded, where and when, and the quality of its stacks. */
#ifndef REPORT_REPORT_HEADER_H
#define REPORT_REPORT_HEADER_H

#include "base/json_put.h"
#include "base/text.h"
#include "report/report.h"

/* Writes the header as lines that start with "# ". Returns 0, -ENOMEM, or -EIO if the stream
 * failed. */
int report_header_text(const struct profile *profile, const struct report_options *options,
		       FILE *out);

/* Writes the header as members of a JSON object: "recording":1,"host":"...",..."quality":{...}. */
void report_header_json(const struct profile *profile, struct json *j);

/* Begins the JSON object of an output about a recording, with the member "schema" and the header's
 * members. */
void report_header_begin_json(const struct profile *profile, struct json *j);

/* Appends the quality of the stacks: "99.9% complete, 0.0% reconstructed, 0.1% partial (stack_cut
 * 12, no_recipe 3)". */
void report_header_quality(const struct profile *profile, struct buf *b);

/* Counts the samples that the filter selects by end reason. `n` must be STACKD_END_COUNT + 1; the
 * last element counts unknown reasons. */
void report_header_reasons(const struct profile *profile, uint64_t *ret_samples, uint32_t n);

/* Finds a counter of the recording by its name, and gives its value. Returns false if there is no
 * such counter. */
bool report_header_counter(const struct store_tables *tables, const char *name,
			   uint64_t *ret_value);

/* Appends the text `before` and a sentence that tells which regions' probes were taken off
 * (--region-limit), until when each region was counted, and what is missing or estimated since
 * then. Appends nothing if there are no such regions. */
void report_header_off(const struct profile *profile, const char *before, struct buf *b);

/* Sets *ret_text to the sentence of report_header_off(), which the caller frees; NULL if there is
 * none. Returns 0 or -ENOMEM. */
int report_header_off_text(const struct profile *profile, char **ret_text);

/* Appends how many functions of Python and Ruby were read, and how many activations of their
 * interpreters have none, by reason. Returns false, and appends nothing, if neither was
 * recorded. */
bool report_header_python(const struct store_tables *tables, struct buf *b);

/* Appends what triggered samples: "cpu-clock at 997 Hz", "cycles every 1000000". */
void report_header_event(const struct store_recording *recording, struct buf *b);

#endif
