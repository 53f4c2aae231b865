/* SPDX-License-Identifier: MIT */
/*
 * A call tree as rows of text.
 *
 *    total    self  call path
 *   100.0%    0.0%  _start  [sort]
 *   100.0%    0.1%  main
 *    60.0%   60.0%  ├─ compare
 *    39.9%    1.2%  ├─ merge (x12)
 *    38.7%   38.7%  │  memcpy  [libc.so.6]
 *     0.0%    0.0%  └─ (2 more, <0.1%)
 *
 * A function with one caller's worth of children goes on in the same column: only where paths
 * part does the text move to the right. A function that calls itself again and again becomes one
 * row, with the number of calls and the self time of all. The object is named where it changes.
 * Rows below the limit are summed up: in a row where there are several others, else at the end of
 * the row that they are below ("(+2 more, 0.3%)"). An empty line parts the subtrees of the top.
 */
#ifndef REPORT_TREEVIEW_H
#define REPORT_TREEVIEW_H

#include "tree/calltree.h"
#include "report/report.h"
#include "tree/frame_sources.h"
#include "base/text.h"

struct treeview_options {
	const struct report_options *report;
	uint64_t whole;			     /* samples that are 100 % */
	const struct frame_sources *sources; /* shown in a column; NULL: not */
	bool is_callers; /* rows below the first of a subtree call it; there is no self column */
};

/* Writes the subtrees of node 0, largest first. 0, -ENOMEM, -EIO. */
int treeview_write(const struct calltree *tree, const struct treeview_options *options, FILE *out);

/* Writes and empties a row, cut to the options' width; `strong` stands out where colours may be
 * used. Appends the line's end. For all views. */
int treeview_row(struct buf *row, const struct report_options *options, bool strong, FILE *out);

/* Appends "   50.0%". */
void treeview_share(struct buf *row, uint64_t samples, uint64_t whole);

/* Whether so many samples are less than the limit's share of `whole`. */
bool treeview_is_small(uint64_t samples, uint64_t whole, const struct report_options *options);

/* Appends "  [object]". */
void treeview_object(struct buf *row, const char *object, const struct report_options *options);

#endif
