/* SPDX-License-Identifier: MIT */
/* Writes annotated functions as text, with source and instructions side by side, or as JSON. */
#ifndef REPORT_ANNOTATE_VIEW_H
#define REPORT_ANNOTATE_VIEW_H

#include "report/annotate_code.h"
#include "report/report.h"

/* Writes the report's header and the functions as text. Returns 0, -ENOMEM, or -EIO if the stream
 * failed. */
int annotate_write_text(const struct profile *profile, const struct annotate *annotate,
			const struct annotate_code_options *code_options,
			const struct report_options *options, FILE *out);

/* Writes one JSON object; docs/JSON.md has its members. Returns as annotate_write_text() does. */
int annotate_write_json(const struct profile *profile, const struct annotate *annotate,
			const struct annotate_code_options *code_options, FILE *out);

#endif
