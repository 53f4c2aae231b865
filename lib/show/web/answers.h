/* SPDX-License-Identifier: MIT */
/* The questions, one function each, as docs/WEB.md describes them. They write the answer's members
 * into ask->json, whose outermost object is open. Each returns 0, an error of its own after
 * ask_fail(), -ECANCELED, -ENOMEM, or an error of the reader. */
#ifndef WEB_ANSWERS_H
#define WEB_ANSWERS_H

#include "web/ask.h"

/* Lists the recordings, and describes one of them. */
int answer_recordings(struct ask *ask);

/* How far a recording has come. */
int answer_live(struct ask *ask);

/* Threads over time. */
int answer_lanes(struct ask *ask);

/* Call paths. */
int answer_tree(struct ask *ask);

/* A table of functions. */
int answer_functions(struct ask *ask);

/* One function: its callers, callees and lines. */
int answer_around(struct ask *ask);

/* What threads waited for, and who ended that. */
int answer_wakers(struct ask *ask);

/* Passes through regions. */
int answer_regions(struct ask *ask);

/* The heap over time and by path. */
int answer_heap(struct ask *ask);

/* What changed from another selection. */
int answer_difference(struct ask *ask);

/* Source lines and instructions of one function. */
int answer_annotate(struct ask *ask);

/* What happens within one pass through a region. */
int answer_fold(struct ask *ask);

/* What was lost, refused and lowered. */
int answer_log(struct ask *ask);

#endif
