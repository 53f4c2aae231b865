/* SPDX-License-Identifier: MIT */
/*
 * What the report's two forms, text and JSON, share: the parts of a profile one after the other,
 * with the trees of the part at hand.
 */
#ifndef REPORT_REPORT_VIEW_H
#define REPORT_REPORT_VIEW_H

#include "report/report.h"
#include "tree/calltree.h"
#include "tree/partition.h"
#include "tree/frame_sources.h"

/* Limits of a tree of callers. */
#define REPORT_VIEW_LEVELS 512
#define REPORT_VIEW_NODES  (2u << 20)

struct report_view_state {
	struct profile *profile;
	struct partition partition;
	uint64_t whole; /* samples of the part at hand */
	struct calltree *tree, *callers, *callees;
	bool with_sources;
	struct frame_sources sources; /* of `tree`, if they are wanted */
	bool *is_asked;		      /* by symbol: REPORT_AROUND asks for it */
	uint32_t n_asked;
	const char *around;
	double percent; /* rows below this share of a part are not looked at */
};

/* 0 or -ENOMEM. What is half made is freed by report_view_free(), also after an error. */
int report_view_new(struct profile *profile, const struct report_options *options,
		    struct report_view_state *ret_view);
void report_view_free(struct report_view_state *view);

/* The entries of a part. */
struct subtree_entries report_view_entries(const struct report_view_state *view, uint32_t part);

/* Whether a part's tree is made of its large nodes alone: then it needs spots. */
bool report_view_is_large(const struct report_view_state *view);

/* Turns to a part; makes its tree, if asked to: of `spots`, if the view needs them. 0 or -ENOMEM.
 */
int report_view_begin(struct report_view_state *view, uint32_t part, bool with_tree,
		      const struct subtree *subtree);

/* Whether there is anything to show of the part: a part in which the function of REPORT_AROUND
 * does not occur is left out. */
bool report_view_has(const struct report_view_state *view, const struct report_options *options);

/* Makes view->callers of the tree. 0 or -ENOMEM. */
int report_view_callers(struct report_view_state *view, double percent, bool *ret_cut);

struct report_view_around {
	uint64_t total, self; /* samples through the function; of them, those that hit in it */
	bool is_cut;
};

/* Makes view->callers and view->callees, of what is around options->around. 0 or -ENOMEM. */
int report_view_around(struct report_view_state *view, const struct report_options *options,
		       struct report_view_around *ret_around);

#endif
