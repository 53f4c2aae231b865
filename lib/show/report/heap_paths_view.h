/* SPDX-License-Identifier: MIT */
/* Lists call paths by their heap, as `stackctl heap` shows it: bytes live and at the peak, how fast
 * bytes are allocated and how long they live; what looks leaked, and how that has grown; or the
 * change between two moments. */
#ifndef REPORT_HEAP_PATHS_VIEW_H
#define REPORT_HEAP_PATHS_VIEW_H

#include "model/heap_paths.h"
#include "report/report.h"

enum heap_paths_kind {
	HEAP_PATHS_PEAK,   /* by bytes at the process's peak */
	HEAP_PATHS_LEAKS,  /* by bytes that are live and older than heap_paths_options.older_ns */
	HEAP_PATHS_CHANGE, /* by the change of live bytes since the first moment */
};

#define HEAP_PATHS_SHOWN 10 /* rows of the text form */

/* Writes a table of the first HEAP_PATHS_SHOWN paths. Returns 0, -ENOMEM or -EIO. */
int heap_paths_view_text(const struct heap_paths *paths, enum heap_paths_kind kind,
			 struct profile *profile, const struct report_options *options, FILE *out);

/* Writes all paths as a member "paths" of a JSON object (docs/JSON.md). Returns 0 or -ENOMEM. */
int heap_paths_view_json(const struct heap_paths *paths, enum heap_paths_kind kind,
			 struct profile *profile, struct json *j);

#endif
