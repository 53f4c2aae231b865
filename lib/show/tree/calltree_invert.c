/* SPDX-License-Identifier: MIT */
/*
 * Makes trees from a call tree: the tree of callers, and the trees around one function; see
 * calltree.h.
 *
 * Inverting goes level by level. A "runner" stands for the samples that end in one node of the
 * source tree. In each round each runner goes on to its caller, and to the node for that caller
 * below its previous node in the tree of callers, which is made if it is missing. A runner stops
 * when its node in the tree of callers is below the limit. That bounds the work by levels *
 * runners, and only rows that would not be shown are left out.
 */
#include "tree/calltree_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

struct calltree_runner {
	uint32_t source; /* node of the source tree where the runner is now */
	uint32_t at;	 /* the runner's node in the tree of callers */
	/* in the runner's samples, the frames of this node of the source tree and of all its
	 * callers are inferred; 0: none are */
	uint32_t upto;
	uint64_t samples;
};

/* Runs one round: moves each runner to its caller and adds its samples there. Returns the number of
 * runners that go on, or -ENOMEM. */
static int64_t calltree_round(const struct calltree *tree, struct calltree *callers,
			      struct calltree_runner *runners, int64_t n, uint64_t least)
{
	int64_t left = 0;

	for (int64_t i = 0; i < n; i++) {
		struct calltree_runner run = runners[i];
		uint32_t up = tree->nodes[run.source].parent;
		int err;

		if (callers->nodes[run.at].samples < least)
			continue;
		if (up == 0) {
			callers->nodes[run.at].self += run.samples;
			continue;
		}
		err = calltree_child(callers, run.at, calltree_symbol(tree, up),
				     tree->nodes[up].is_inlined, &run.at);
		if (err < 0)
			return err;
		run.source = up;
		callers->nodes[run.at].samples += run.samples;
		/* Both nodes are on one path, where numbers grow with depth. */
		if (up <= run.upto && !calltree_symbol(tree, up)->is_mark)
			callers->nodes[run.at].inferred += run.samples;
		runners[left++] = run;
	}
	return left;
}

/* Puts a runner on the node of its function at the top of the tree of callers. Returns 0 or
 * -ENOMEM. */
static int start_one(const struct calltree *tree, struct calltree *callers,
		     struct calltree_runner *runner)
{
	/* The function that the user names is shown as not inlined; only for callers it matters. */
	int err = calltree_child(callers, 0, calltree_symbol(tree, runner->source), false,
				 &runner->at);

	if (err < 0)
		return err;
	callers->nodes[runner->at].samples += runner->samples;
	callers->nodes[0].samples += runner->samples;
	return 0;
}

/* Makes a runner for each node at which samples start, and a further one for each number of these
 * samples whose first frames are inferred. outer[i] is the node at which the samples that end in
 * node i start (0: they do not count); `outer` NULL: it is node i. `plain` has room for a number
 * for each node. Returns the number of runners, or -ENOMEM. */
static int64_t start(const struct calltree *tree, const uint32_t *outer, struct calltree *callers,
		     struct calltree_runner *runners, uint64_t *plain)
{
	int64_t n = 0;
	int err = 0;

	for (uint32_t i = 1; i < tree->n_nodes; i++)
		plain[outer ? outer[i] : i] += tree->nodes[i].self;
	for (size_t i = 0; err == 0 && i < tree->inferred.count; i++) {
		const struct calltree_inferred *part = &tree->inferred.items[i];
		uint32_t from = outer ? outer[part->at] : part->at;

		if (!from)
			continue;
		plain[from] -= part->samples;
		runners[n] = (struct calltree_runner){
			.source = from, .upto = part->upto, .samples = part->samples};
		err = start_one(tree, callers, &runners[n++]);
	}
	for (uint32_t i = 1; err == 0 && i < tree->n_nodes; i++) {
		if (!plain[i])
			continue;
		runners[n] = (struct calltree_runner){.source = i, .samples = plain[i]};
		err = start_one(tree, callers, &runners[n++]);
	}
	return err < 0 ? err : n;
}

static int calltree_run(const struct calltree *tree, const uint32_t *outer,
			const struct calltree_limits *limits, struct calltree *callers,
			bool *ret_cut)
{
	struct calltree_runner *runners =
		vec_alloc(tree->n_nodes + tree->inferred.count, sizeof(*runners));
	uint64_t *plain = calloc(tree->n_nodes, sizeof(*plain)), least;
	uint32_t depth = 0;
	int64_t n = -ENOMEM;

	if (runners && plain)
		n = start(tree, outer, callers, runners, plain);
	least = (uint64_t)(limits->percent / 100.0 * (double)callers->nodes[0].samples);
	while (n > 0 && depth++ < limits->max_depth && callers->n_nodes < limits->max_nodes)
		n = calltree_round(tree, callers, runners, n, least);
	free(runners);
	free(plain);
	if (n < 0)
		return (int)n;
	*ret_cut = n > 0;
	return 0;
}

int calltree_invert(const struct calltree *tree, const struct calltree_limits *limits,
		    struct calltree *callers, bool *ret_cut)
{
	return calltree_run(tree, NULL, limits, callers, ret_cut);
}

/* --- around a function ---------------------------------------------------------------------- */

/* Returns, for each node, the outermost node on its path (itself included) whose function is
 * marked; 0: there is none. NULL: memory is short. */
static uint32_t *calltree_outer(const struct calltree *tree, const bool *is_asked)
{
	uint32_t *outer = calloc(tree->n_nodes, sizeof(*outer));

	for (uint32_t i = 1; outer && i < tree->n_nodes; i++) {
		const struct calltree_node *node = &tree->nodes[i];

		outer[i] = outer[node->parent];
		if (!outer[i] && is_asked[node->symbol])
			outer[i] = i;
	}
	return outer;
}

/* Copies the outermost nodes and what is below them to `callees`; copied[i] becomes the copy of
 * node i. Returns 0 or -ENOMEM. */
static int copy(const struct calltree *tree, const uint32_t *outer, struct calltree *callees,
		uint32_t *copied)
{
	int err = 0;

	for (uint32_t i = 1; err == 0 && i < tree->n_nodes; i++) {
		const struct calltree_node *node = &tree->nodes[i];
		bool is_top = outer[i] == i;

		if (!outer[i])
			continue;
		err = calltree_child(callees, is_top ? 0 : copied[node->parent],
				     calltree_symbol(tree, i), !is_top && node->is_inlined,
				     &copied[i]);
		if (err == 0)
			callees->nodes[copied[i]].self += node->self;
	}
	for (size_t i = 0; err == 0 && i < tree->inferred.count; i++) {
		struct calltree_inferred part = tree->inferred.items[i];

		if (!outer[part.upto])
			continue;
		part.at = copied[part.at];
		part.upto = copied[part.upto];
		err = VEC_RESERVE(&callees->inferred, 1);
		if (err < 0)
			break;
		callees->inferred.items[callees->inferred.count++] = part;
		callees->nodes[part.upto].inferred += part.samples;
	}
	return err;
}

int calltree_around(const struct calltree *tree, const bool *is_asked,
		    const struct calltree_limits *limits, struct calltree *callers,
		    struct calltree *callees, bool *ret_cut)
{
	uint32_t *outer = calltree_outer(tree, is_asked);
	uint32_t *copied = calloc(tree->n_nodes, sizeof(*copied));
	int err = outer && copied ? copy(tree, outer, callees, copied) : -ENOMEM;

	if (err == 0)
		err = calltree_run(tree, outer, limits, callers, ret_cut);
	if (err == 0)
		calltree_sum(callees);
	free(outer);
	free(copied);
	return err;
}
