/* SPDX-License-Identifier: MIT */
/*
 * What a user has selected of a recording: a metric, a time, threads, paths. Its sums, and the tree
 * and the list of functions once they are needed, are kept for the questions that follow.
 */
#ifndef WEB_SELECTION_H
#define WEB_SELECTION_H

#include "model/profile.h"
#include "tree/calltree.h"
#include "tree/flat.h"
#include "web/ask.h"
#include "web/opened.h"

/* The parameters that selection_get() reads, for ask_check(). */
#define SELECTION_PARAMETERS                                                                       \
	"recording metric from to threads focus ignore inlined recursion inferred "

struct selection {
	struct opened *opened;
	struct profile_filter filter;
	struct profile *profile;
	uint64_t from_ns, to_ns; /* since the recording's begin; to_ns is exclusive */
	uint64_t used_ns;
	/* used by selection.c alone */
	char *key;
	bool *threads;
	const char **names; /* of the filter */
	size_t n_names;
	struct calltree *tree;
	struct flat flat;
	bool has_flat;
	double *variances, *self_variances;
};

/* Finds or makes the selection that the question's parameters describe. Returns 0, also if nothing
 * is selected; or an error after ask_fail(). */
int selection_get(struct ask *ask, struct selection **ret_selection);

/* Finds or makes the base with which `selection` is compared; `selection` stays valid. The
 * parameters base_recording, base_from, base_to and base_threads describe the base. The default of
 * each is the value of `selection`. But the times and threads of one recording mean nothing in
 * another: if the base is of another recording, the defaults are its whole time and all threads. */
int selection_base(struct ask *ask, const struct selection *selection,
		   struct selection **ret_selection);
void selection_free(struct selection *selection); /* NULL is allowed */

/* Does what selection_get() does, but for this metric instead of the question's. */
int selection_of_metric(struct ask *ask, enum metric metric, struct selection **ret_selection);

/* Returns the tree of all paths; it belongs to the selection. Returns 0, -ENOMEM or -ECANCELED. */
int selection_tree(const struct ask *ask, struct selection *selection,
		   const struct calltree **ret_tree);

/* Returns the list of all functions, likewise. */
int selection_flat(const struct ask *ask, struct selection *selection,
		   const struct flat **ret_flat);

/* Gives the variance of each entry's amount, by entry; NULL: there are none, since the metric is
 * counted. Returns 0 or an error. */
int selection_variances(struct selection *selection, const double **ret_variances);

/* Returns whether each sample counts one: then the variance of an amount is the amount itself. */
bool selection_is_plain(const struct selection *selection);

/* Gives the variance of the self amount of each function, by symbol, once selection_flat() has been
 * called; NULL: there are none, or selection_is_plain(). Returns 0 or an error. */
int selection_self_variances(const struct ask *ask, struct selection *selection,
			     const double **ret_variances);

/* Gives the variance of one function's self amount; negative: there is none. Returns 0 or an error.
 */
int selection_self_variance(const struct ask *ask, struct selection *selection,
			    const struct flat_row *row, double *ret_variance);

/* Writes the members that all answers about a selection begin with. */
void selection_put(struct ask *ask, struct selection *selection);

/* Writes a few of them, for the base of a comparison. */
void selection_put_short(struct json *j, const struct selection *selection);

/* Returns whether a text has the form of an item of `threads`. */
bool selection_is_item(const char *item);

/* Returns whether the number of a thread is selected by an item of `threads`: "t12", "p3",
 * "g3:worker-*". The item must have the form of one. */
bool selection_is_thread(const struct store_tables *tables, uint32_t thread, const char *item);

#endif
