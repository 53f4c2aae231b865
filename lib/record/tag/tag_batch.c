/* SPDX-License-Identifier: MIT */
/*
 * Many tags at once; see tag_batch.h.
 *
 *   prepare   the table of paths from the roots, which all tags share
 *   sweep     all tags that are left, a little time for each: finds what is near known paths
 * On the way up from one tag the search may reach another tag of the batch, whose path is not known
 * either. Then the first tag depends on the other, and gets its path when that one does. So only
 * tags that depend on no other tag need the long search.
 *
 * Tags of one run share long prefixes, so after the first attempt that succeeds most others take
 * microseconds.
 */
#include "tag/tag_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* the table of paths from the roots gets one part in so many of all the time */
#define TAG_BATCH_PREPARE 8
/* at first, one in so many of the remaining tags is attempted */
#define TAG_BATCH_ATTEMPTS 16

#define TAG_BATCH_ENDS	 4 /* nodes that are tried as the end of a path, at most */
#define TAG_BATCH_CALLED 32
#define TAG_BATCH_HOPS	 1000

/* Sweeps, until one finds a path: in each, a tag gets its budget divided by this number. */
static const unsigned tag_batch_sweeps[] = {32, 8};

struct tag_batch {
	struct tag_search *search;
	struct tag_batch_item *items;
	uint32_t *left; /* numbers of the items that have no answer yet */
	size_t n_left;
	size_t n, n_hung;
	uint64_t *tags;	  /* tags of all items */
	uint32_t *weight; /* by item: number of items that depend on it */
	const struct callgraph *graph;
	bool is_strict;
	uint64_t pool_ns;
};

void tag_batch_item_release(struct tag_batch_item *item)
{
	for (size_t i = 0; i < item->n; i++)
		free((void *)item->paths[i].nodes);
	free(item->paths);
	free(item->below);
	item->paths = NULL;
	item->below = NULL;
	item->n = 0;
}

static int keep(struct tag_batch_item *item, const struct tag_search_answer *answer)
{
	item->status = answer->status;
	item->is_cut = answer->is_cut;
	if (!answer->n)
		return 0;
	item->paths = calloc(answer->n, sizeof(*item->paths));
	if (!item->paths)
		return -ENOMEM;
	for (size_t i = 0; i < answer->n; i++) {
		size_t bytes = answer->paths[i].n * sizeof(*answer->paths[i].nodes);
		uint32_t *nodes = malloc(bytes + 1);

		if (!nodes)
			return -ENOMEM;
		if (bytes)
			memcpy(nodes, answer->paths[i].nodes, bytes);
		item->paths[i] = answer->paths[i];
		item->paths[i].nodes = nodes;
		item->n++;
	}
	return 0;
}

/* Makes an item depend on another one: its path is known from that item's leaf down, so it is
 * complete as soon as the other item has a path. Returns 1 or -ENOMEM. */
static int hang(struct tag_batch *b, struct tag_batch_item *item,
		const struct tag_search_answer *answer)
{
	item->below = malloc(answer->n_below * sizeof(*item->below));
	if (!item->below)
		return -ENOMEM;
	memcpy(item->below, answer->below, answer->n_below * sizeof(*item->below));
	item->n_below = answer->n_below;
	item->above = answer->anchor;
	b->n_hung++;
	tag_search_learn_calls(b->search, item->below, item->n_below);
	return 1;
}

/* Searches the path of one item. Returns 1: the item has its answer now, or depends on another one;
 * 0: not yet; negative: an error of tag_search_run(). */
static int tag_batch_try(struct tag_batch *b, struct tag_batch_item *item, uint64_t budget_ns,
			 bool all)
{
	struct tag_search_query query = {.tag = item->tag,
					 .leaf = item->leaf,
					 .leaf_is_hint = item->leaf_is_hint,
					 .all = all,
					 .budget_ns =
						 budget_ns < b->pool_ns ? budget_ns : b->pool_ns};
	struct tag_search_answer answer;
	int result = tag_search_run(b->search, &query, &answer);

	if (result < 0)
		return result;
	item->spent_ns += answer.spent_ns;
	b->pool_ns -= answer.spent_ns < b->pool_ns ? answer.spent_ns : b->pool_ns;
	result = keep(item, &answer);
	if (result < 0)
		return result;
	if (!answer.n && answer.below)
		return hang(b, item, &answer);
	return item->status != TAG_SEARCH_NOT_IN_BUDGET;
}

/* Tries all items that are left. Returns the number of answers found, or a negative error. */
static int tag_batch_sweep(struct tag_batch *b, uint64_t budget_ns)
{
	size_t kept = 0, n = b->n_left;
	int result = 0;

	for (size_t i = 0; i < n; i++) {
		if (result >= 0 && b->pool_ns)
			result = tag_batch_try(b, &b->items[b->left[i]], budget_ns, false);
		else
			result = result < 0 ? result : 0;
		if (result <= 0)
			b->left[kept++] = b->left[i];
	}
	b->n_left = kept;
	return result < 0 ? result : (int)(n - kept);
}

/* --- attempts ------------------------------------------------------------------------------ */

/* Follows the items that an item depends on, up to TAG_BATCH_HOPS of them. Returns the last one. */
static uint32_t outermost(const struct tag_batch *b, uint32_t number)
{
	for (unsigned hops = 0; b->items[number].below && hops < TAG_BATCH_HOPS; hops++)
		number = b->items[number].above;
	return number;
}

static int compare(const void *x, const void *y, void *weights)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const uint32_t *weight = weights;

	if (weight[a] != weight[b])
		return weight[a] < weight[b] ? 1 : -1;
	return (a > b) - (a < b);
}

/* Sorts the remaining items: those that most others depend on come first. */
static void tag_batch_order(struct tag_batch *b)
{
	memset(b->weight, 0, b->n * sizeof(*b->weight));
	for (size_t i = 0; i < b->n; i++)
		if (b->items[i].below && !b->items[i].n)
			b->weight[outermost(b, (uint32_t)i)]++;
	qsort_r(b->left, b->n_left, sizeof(*b->left), compare, b->weight);
}

/* Collects the first nodes of the partial paths of items that depend on this item, TAG_BATCH_CALLED
 * at most: what the last node of its path calls. */
static unsigned tag_batch_called(const struct tag_batch *b, uint32_t number, uint32_t *ret_nodes)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->n && n < TAG_BATCH_CALLED; i++)
		if (b->items[i].below && b->items[i].above == number && !b->items[i].n)
			ret_nodes[n++] = b->items[i].below[0];
	return n;
}

/* Collects the nodes that may be the last of an item's path: those that can call the first node of
 * the partial path of every item that depends on it. Returns their number, at most TAG_BATCH_ENDS;
 * 0: there are more, or no item depends on it. */
static unsigned tag_batch_ends(const struct tag_batch *b, uint32_t number, uint32_t *ret_ends)
{
	uint32_t called[TAG_BATCH_CALLED];
	unsigned n_called = b->weight[number] ? tag_batch_called(b, number, called) : 0, n = 0;

	for (uint32_t i = 0; n_called && i < callgraph_count(b->graph); i++) {
		bool calls_all = !callgraph_at(b->graph, i)->is_transparent;

		for (unsigned k = 0; calls_all && k < n_called; k++)
			calls_all = callgraph_can_call(b->graph, i, called[k]);
		if (!calls_all)
			continue;
		if (n == TAG_BATCH_ENDS)
			return 0;
		ret_ends[n++] = i;
	}
	return n;
}

/* Tries one item, with each node that its path may end in. */
static int tag_batch_long(struct tag_batch *b, uint32_t number, uint64_t budget_ns)
{
	struct tag_batch_item *item = &b->items[number];
	uint32_t ends[TAG_BATCH_ENDS], leaf = item->leaf;
	unsigned n = leaf == CALLGRAPH_NONE ? tag_batch_ends(b, number, ends) : 0;
	bool is_hint = item->leaf_is_hint;
	int result = n ? 0 : tag_batch_try(b, item, budget_ns, false);

	for (unsigned i = 0; result == 0 && i < n; i++) {
		item->leaf = ends[i];
		item->leaf_is_hint = true;
		result = tag_batch_try(b, item, budget_ns / n + 1, false);
	}
	item->leaf = leaf;
	item->leaf_is_hint = is_hint;
	return result;
}

/* Attempts tags with longer budgets until one of them gets a path: some of the tags with one
 * budget, then half as many with twice the budget, and so on, each time from the first tag on.
 * Returns 1: a tag was found; 0: the time is used up; or a negative error. */
static int attempt(struct tag_batch *b, uint64_t budget_ns)
{
	size_t share = b->n_left / TAG_BATCH_ATTEMPTS + 1;

	tag_batch_order(b);
	for (size_t i = 0; b->n_left && b->pool_ns;) {
		int result = tag_batch_long(b, b->left[i], budget_ns);

		if (result < 0)
			return result;
		if (result) {
			b->left[i] = b->left[--b->n_left];
			return 1;
		}
		if (++i < share && i < b->n_left)
			continue;
		i = 0;
		share = share / 2 + 1;
		budget_ns = budget_ns < UINT64_MAX / 2 ? budget_ns * 2 : budget_ns;
	}
	return 0;
}

/* Makes the path of an item that depends on another one: the first path of that item, then the
 * nodes below. Returns 0 or -ENOMEM. */
static int join(struct tag_batch *b, struct tag_batch_item *item)
{
	const struct tag_search_path *above = &b->items[item->above].paths[0];
	uint32_t n = above->n + item->n_below, *nodes = malloc((n + 1) * sizeof(*nodes));
	struct tag_search_path *path = calloc(1, sizeof(*path));

	if (!nodes || !path) {
		free(nodes);
		free(path);
		return -ENOMEM;
	}
	if (above->n)
		memcpy(nodes, above->nodes, above->n * sizeof(*nodes));
	memcpy(nodes + above->n, item->below, item->n_below * sizeof(*nodes));
	*path = (struct tag_search_path){nodes, n, above->unmodelled};
	path->unmodelled +=
		above->n && !callgraph_can_call(b->graph, nodes[above->n - 1], nodes[above->n]);
	b->n_hung--;
	item->paths = path;
	item->n = 1;
	item->status = TAG_SEARCH_FOUND;
	if (path->unmodelled && b->is_strict) {
		tag_batch_item_release(item);
		item->status = TAG_SEARCH_NOT_IN_BUDGET;
		return 0;
	}
	return tag_search_learn(b->search, nodes, n);
}

/* Completes the items that depend on items with paths. Returns 0 or -ENOMEM. */
static int join_all(struct tag_batch *b)
{
	bool again = b->n_hung != 0;
	int err = 0;

	while (again) {
		again = false;
		for (size_t i = 0; err == 0 && i < b->n; i++) {
			struct tag_batch_item *item = &b->items[i];

			if (!item->below || item->n || !b->items[item->above].n)
				continue;
			err = join(b, item);
			again = err == 0;
		}
	}
	return err;
}

static int pool(struct tag_batch *b, uint64_t budget_ns)
{
	unsigned sweep = 0;
	int result = 0;

	while (result >= 0 && b->n_left && b->pool_ns) {
		if (sweep < sizeof(tag_batch_sweeps) / sizeof(*tag_batch_sweeps))
			result = tag_batch_sweep(b, budget_ns / tag_batch_sweeps[sweep++] + 1);
		else
			result = attempt(b, budget_ns * 2);
		if (result > 0)
			sweep = 0;
		if (result >= 0 && b->n_hung && join_all(b) < 0)
			result = -ENOMEM;
	}
	return result < 0 ? result : 0;
}

/* Extends the table of paths from the roots, which serves all tags. Takes a TAG_BATCH_PREPARE-th of
 * the time that all tags have together. Returns 0 or an error of tag_search_prepare(). */
static int prepare(struct tag_batch *b)
{
	uint64_t spent_ns;
	int err = tag_search_prepare(b->search, b->pool_ns / TAG_BATCH_PREPARE, &spent_ns);

	b->pool_ns -= spent_ns < b->pool_ns ? spent_ns : b->pool_ns;
	return err;
}

static int each(struct tag_batch *b, size_t n, uint64_t budget_ns)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < n; i++) {
		b->pool_ns = budget_ns;
		result = tag_batch_try(b, &b->items[i], budget_ns, true);
	}
	return result < 0 ? result : 0;
}

int tag_batch_run(struct tag_search *search, struct tag_batch_item *items, size_t n,
		  uint64_t budget_ns, bool all)
{
	struct tag_batch b = {.search = search,
			      .graph = tag_search_graph(search),
			      .is_strict = tag_search_is_strict(search),
			      .items = items,
			      .n = n};
	int err;

	if (n >= UINT32_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		items[i].status = TAG_SEARCH_NOT_IN_BUDGET;
	if (!n || !budget_ns)
		return 0;
	if (all)
		return each(&b, n, budget_ns);
	if (__builtin_mul_overflow(budget_ns, n, &b.pool_ns))
		b.pool_ns = UINT64_MAX;
	b.left = calloc(n, sizeof(*b.left));
	b.tags = calloc(n, sizeof(*b.tags));
	b.weight = calloc(n, sizeof(*b.weight));
	err = b.left && b.tags && b.weight ? 0 : -ENOMEM;
	for (size_t i = 0; err == 0 && i < n; i++) {
		b.left[b.n_left++] = (uint32_t)i;
		b.tags[i] = items[i].tag;
	}
	if (err == 0 && n > 1)
		err = tag_search_anchors(search, b.tags, (uint32_t)n);
	if (err == 0 && n > 1)
		err = prepare(&b);
	if (err == 0)
		err = pool(&b, budget_ns);
	tag_search_anchors(search, NULL, 0);
	free(b.left);
	free(b.tags);
	free(b.weight);
	return err;
}
