/* SPDX-License-Identifier: MIT */
/*
 * The state that both forms of the report, text and JSON, share: the parts of a profile one after
 * the other, with the trees of the current part.
 */
#ifndef REPORT_REPORT_VIEW_H
#define REPORT_REPORT_VIEW_H

#include "report/report.h"
#include "tree/calltree.h"
#include "tree/partition.h"
#include "tree/frame_sources.h"
#include "tree/imbalance.h"

/* Limits of a tree of callers. */
#define REPORT_VIEW_LEVELS 512
#define REPORT_VIEW_NODES  (2u << 20)

struct report_view_state {
	struct profile *profile;
	struct partition partition;
	uint64_t whole; /* samples of the current part: its 100 % */
	struct calltree *tree, *callers, *callees;
	bool with_sources;
	struct frame_sources sources; /* of `tree`, if with_sources */
	bool with_imbalance;	      /* `tree` is compared by rank, if the part has at least two */
	struct imbalance imbalance;   /* of `tree`, if with_imbalance */
	bool *is_asked;		      /* by symbol: it matches `around` */
	uint32_t n_asked;	      /* number of symbols that is_asked covers */
	const char *around;	      /* the pattern of REPORT_AROUND, or NULL */
	/* Only rows with at least this share of a part are needed; 0: all rows are. */
	double percent;
};

/* Makes the state. The profile and options->around are borrowed. The caller frees it with
 * report_view_free(), also after an error. Returns 0 or -ENOMEM. */
int report_view_new(struct profile *profile, const struct report_options *options,
		    struct report_view_state *ret_view);

/* Frees what the state owns and zeroes it. */
void report_view_free(struct report_view_state *view);

/* Returns the entries of a part; the arrays in the result are borrowed from the state. */
struct subtree_entries report_view_entries(const struct report_view_state *view, uint32_t part);

/* Returns whether only the large nodes of a part's tree are made; report_view_begin() then needs
 * the part's subtree. */
bool report_view_is_large(const struct report_view_state *view);

/* Makes a part the current one, and with `with_tree` also its tree. `subtree` must be the part's if
 * report_view_is_large(); otherwise it is ignored. Returns 0 or -ENOMEM. */
int report_view_begin(struct report_view_state *view, uint32_t part, bool with_tree,
		      const struct subtree *subtree);

/* Returns whether the current part has anything to show. With REPORT_AROUND, it has nothing if the
 * function does not occur in it. */
bool report_view_has(const struct report_view_state *view, const struct report_options *options);

/* Makes view->callers from the current tree; nodes below `percent` of its samples get no callers.
 * *ret_cut is set to whether levels or nodes were left out. Returns 0 or -ENOMEM. */
int report_view_callers(struct report_view_state *view, double percent, bool *ret_cut);

struct report_view_around {
	uint64_t total, self; /* samples through the function; of these, those that hit it */
	bool is_cut;	      /* The tree of callers was too large to be complete. */
};

/* Makes view->callers and view->callees of the functions that match options->around. Returns 0 or
 * -ENOMEM. */
int report_view_around(struct report_view_state *view, const struct report_options *options,
		       struct report_view_around *ret_around);

#endif
