/* SPDX-License-Identifier: MIT */
/* Annotated functions as text, source and instructions side by side, or as JSON. Both return 0,
 * -ENOMEM, or -EIO when the stream failed. */
#ifndef REPORT_ANNOTATE_VIEW_H
#define REPORT_ANNOTATE_VIEW_H

#include "report/annotate_code.h"
#include "report/report.h"

int annotate_write_text(const struct profile *profile, const struct annotate *annotate,
			const struct annotate_code_options *code_options,
			const struct report_options *options, FILE *out);
int annotate_write_json(const struct profile *profile, const struct annotate *annotate,
			const struct annotate_code_options *code_options, FILE *out);

#endif
