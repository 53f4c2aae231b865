/* SPDX-License-Identifier: MIT */
/*
 * Writes a call tree as rows of text.
 *
 *    total    self  call path
 *   100.0%    0.0%  _start  [sort]
 *   100.0%    0.1%  main
 *    60.0%   60.0%  ├─ compare
 *    39.9%    1.2%  ├─ merge (x12)
 *    38.7%   38.7%  │  memcpy  [libc.so.6]
 *     0.0%    0.0%  └─ (2 more, <0.1%)
 *
 * A function with a single child continues in the same column; the text moves to the right only
 * where paths divide. A function that calls itself repeatedly becomes one row, with the number of
 * calls and the self time of all of them. The object is named where it changes. Rows below the
 * limit are summed up: in one row, if their parent has several other children, else at the end of
 * their parent's row ("(+2 more, 0.3%)"). Empty lines separate the topmost subtrees.
 */
#ifndef REPORT_TREEVIEW_H
#define REPORT_TREEVIEW_H

#include "model/frame_kind.h"
#include "tree/calltree.h"
#include "report/report.h"
#include "tree/frame_sources.h"
#include "tree/imbalance.h"
#include "base/text.h"

struct treeview_options {
	const struct report_options *report;
	uint64_t whole;			     /* samples that count as 100 % */
	const struct frame_sources *sources; /* counts for the column of sources; NULL: no column */
	const struct imbalance *imbalance;   /* figures for the column of ranks; NULL: no column */
	bool is_callers; /* Children call their parents, and there is no column "self". */
};

/* Writes the subtrees of node 0, largest first. Returns 0, -ENOMEM, or -EIO if the stream failed.
 */
int treeview_write(const struct calltree *tree, const struct treeview_options *options, FILE *out);

/* Writes `row` with a line end, cut to the options' width, and in bold if `strong` and colours are
 * allowed; then empties it. All text views use it. Returns as treeview_write() does. */
int treeview_row(struct buf *row, const struct report_options *options, bool strong, FILE *out);

/* Appends a share in eight columns: "   50.0%". */
void treeview_share(struct buf *row, uint64_t samples, uint64_t whole);

/* Returns whether `samples` are below the options' limit, which is in percent of `whole`. */
bool treeview_is_small(uint64_t samples, uint64_t whole, const struct report_options *options);

/* Appends a function's name as text shows it: the short one (base/function_name.h), unless the
 * options want full names. Names of managed kinds are no demangled ones, and stay as they are:
 * Ruby's method `<<` has no template arguments. */
void treeview_function(struct buf *row, const char *name, enum frame_kind kind,
		       const struct report_options *options);

/* Appends the name of an object: "  [object]". */
void treeview_object(struct buf *row, const char *object, const struct report_options *options);

#endif
