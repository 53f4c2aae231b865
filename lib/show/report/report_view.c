/* SPDX-License-Identifier: MIT */
/* Goes through the parts of a profile; see report_view.h. */
#include "report/report_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Marks those of the symbols made so far that match the pattern `around`. Returns 0 or -ENOMEM. */
static int view_ask(struct report_view_state *v)
{
	uint32_t n = (uint32_t)profile_symbol_count(v->profile);
	bool *is_asked;

	if (n <= v->n_asked)
		return 0;
	is_asked = vec_resize(v->is_asked, n, sizeof(*is_asked));
	if (!is_asked)
		return -ENOMEM;
	v->is_asked = is_asked;
	for (uint32_t i = v->n_asked; i < n; i++)
		is_asked[i] = profile_symbol_matches(profile_symbol_at(v->profile, i), v->around);
	v->n_asked = n;
	return 0;
}

/* Returns whether a frame of a location matches the pattern: 1 or 0; or -ENOMEM. */
static int view_location_meets(struct profile *profile, uint32_t location, const char *pattern)
{
	size_t n;
	const struct profile_frame *frames = profile_location_frames(profile, location, &n);

	for (size_t i = 0; frames && i < n; i++)
		if (profile_symbol_matches(frames[i].symbol, pattern))
			return 1;
	return frames ? 0 : -ENOMEM;
}

int report_find(struct profile *profile, const char *pattern)
{
	const struct store_tables *t = profile_tables(profile);
	bool *is_seen = calloc((size_t)t->n_nodes + 1, sizeof(*is_seen));
	bool *is_known = calloc((size_t)t->n_locations + 1, sizeof(*is_known));
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	int err = is_seen && is_known ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < n; i++) {
		for (uint32_t at = entries[i].node; err == 0 && at && !is_seen[at];
		     at = t->nodes[at].parent) {
			uint32_t location = t->nodes[at].location;

			is_seen[at] = true;
			if (!is_known[location])
				err = view_location_meets(profile, location, pattern);
			is_known[location] = true;
		}
	}
	free(is_seen);
	free(is_known);
	return err < 0 ? err : err ? 0 : -ENOENT;
}

/* Returns whether parts can have several MPI ranks, so that the imbalance of ranks is shown beside
 * the tree. */
static bool has_imbalance(const struct report_options *options)
{
	return options->view == REPORT_TREE && options->by != PARTITION_BY_PROCESS &&
	       options->by != PARTITION_BY_THREAD && options->by != PARTITION_BY_RANK;
}

int report_view_new(struct profile *profile, const struct report_options *options,
		    struct report_view_state *ret_view)
{
	struct report_view_state *v = ret_view;
	int err;

	*v = (struct report_view_state){.profile = profile,
					.around = options->around,
					.with_sources = options->with_sources,
					.with_imbalance = has_imbalance(options)};
	err = partition_make(profile, options->by, &v->partition);
	if (err == 0)
		err = calltree_new(profile, CALLTREE_BY_SYMBOL, &v->tree);
	if (err == 0)
		err = calltree_new(profile, CALLTREE_BY_SYMBOL, &v->callers);
	if (err == 0)
		err = calltree_new(profile, CALLTREE_BY_SYMBOL, &v->callees);
	return err;
}

void report_view_free(struct report_view_state *v)
{
	partition_free(&v->partition);
	calltree_free(v->tree);
	calltree_free(v->callers);
	calltree_free(v->callees);
	frame_sources_free(&v->sources);
	imbalance_free(&v->imbalance);
	free(v->is_asked);
	*v = (struct report_view_state){0};
}

struct subtree_entries report_view_entries(const struct report_view_state *v, uint32_t part)
{
	const struct groups *groups = &v->partition.groups;
	size_t n;

	return (struct subtree_entries){.entries = profile_entries(v->profile, &n),
					.order = &groups->order[groups->first[part]],
					.n = groups->first[part + 1] - groups->first[part]};
}

/* Frame sources are counted along whole paths, which a tree of large nodes only does not have. */
bool report_view_is_large(const struct report_view_state *v)
{
	return v->percent > 0 && !v->with_sources && calltree_can_add_large(v->profile);
}

int report_view_begin(struct report_view_state *v, uint32_t part, bool with_tree,
		      const struct subtree *subtree)
{
	struct subtree_entries of = report_view_entries(v, part);
	int err = 0;

	v->whole = v->partition.groups.samples[part];
	if (!with_tree)
		return 0;
	calltree_clear(v->tree);
	if (report_view_is_large(v))
		/* The limit is a little below the wanted one, so that rounding cannot leave out a
		 * row that would be shown. */
		err = calltree_add_large(v->tree, &of, subtree,
					 v->percent * 0.00999999999 * (double)v->whole);
	else
		for (size_t i = 0; err == 0 && i < of.n; i++)
			err = calltree_add(v->tree, &of.entries[of.order[i]]);
	calltree_sum(v->tree);
	if (err == 0 && v->with_sources)
		err = frame_sources_make(v->profile, v->tree, of.order, (uint32_t)of.n,
					 &v->sources);
	if (err == 0 && v->with_imbalance)
		err = imbalance_make(v->profile, v->tree, of.order, (uint32_t)of.n, &v->imbalance);
	return err == 0 && v->around ? view_ask(v) : err;
}

bool report_view_has(const struct report_view_state *v, const struct report_options *options)
{
	uint32_t n;
	const struct calltree_node *nodes = calltree_nodes(v->tree, &n);

	if (options->view != REPORT_AROUND)
		return true;
	for (uint32_t i = 1; i < n; i++)
		if (v->is_asked[nodes[i].symbol])
			return true;
	return false;
}

int report_view_callers(struct report_view_state *v, double percent, bool *ret_cut)
{
	struct calltree_limits limits = {percent, REPORT_VIEW_LEVELS, REPORT_VIEW_NODES};

	calltree_clear(v->callers);
	return calltree_invert(v->tree, &limits, v->callers, ret_cut);
}

int report_view_around(struct report_view_state *v, const struct report_options *options,
		       struct report_view_around *ret_around)
{
	struct calltree_limits limits = {options->percent_limit, REPORT_VIEW_LEVELS,
					 REPORT_VIEW_NODES};
	struct report_view_around around = {0};
	const struct calltree_node *nodes;
	uint32_t n;
	int err;

	calltree_clear(v->callers);
	calltree_clear(v->callees);
	err = calltree_around(v->tree, v->is_asked, &limits, v->callers, v->callees,
			      &around.is_cut);
	if (err < 0)
		return err;
	nodes = calltree_nodes(v->callees, &n);
	around.total = nodes[0].samples;
	for (uint32_t i = 1; i < n; i++)
		if (v->is_asked[nodes[i].symbol])
			around.self += nodes[i].self;
	*ret_around = around;
	return 0;
}
