/* SPDX-License-Identifier: MIT */
/* Shows the heaps of processes over time, as `stackctl heap` does: a summary of each process with a
 * line of bars. heap_paths_view.h lists the call paths. */
#ifndef REPORT_HEAP_VIEW_H
#define REPORT_HEAP_VIEW_H

#include "model/heap.h"
#include "report/heap_paths_view.h"
#include "report/report.h"

/* number of processes that the text form shows, largest peaks first */
#define HEAP_VIEW_PROCESSES 10

/* Writes the summaries of the processes that the profile's filter selects, as lines that begin with
 * "# ". Returns 0, -ENOMEM or -EIO. */
int heap_view_text(const struct heap *heap, const struct profile *profile,
		   const struct report_options *options, FILE *out);

/* Writes the summaries as a list that is a member of a JSON object. Returns 0 or -ENOMEM. */
int heap_view_json_processes(const struct heap *heap, const struct profile *profile,
			     const char *key, struct json *j);

/* Writes the summaries and the paths as one JSON object (docs/JSON.md). Returns 0, -ENOMEM or -EIO.
 */
int heap_view_json(const struct heap *heap, const struct heap_paths *paths,
		   enum heap_paths_kind kind, struct profile *profile, FILE *out);

#endif
