/* SPDX-License-Identifier: MIT */
/*
 * Many tags at once; see tag_batch.h.
 *
 *   prepare   the table of paths from the roots, which all tags share
 *   sweep     all tags that are left, a little time for each: finds what is near known paths
 *   attempt   some of them, for longer; when one is found, sweep again
 *
 * Tags of one run share long prefixes, so after the first attempt that ends well most others take
 * microseconds.
 */
#include "tag/tag_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAG_BATCH_PREPARE  4  /* this part of all time goes into paths from the roots */
#define TAG_BATCH_ATTEMPTS 16 /* this part of the tags is attempted with the first budget */

/* Sweeps that find nothing are followed by longer ones: each tag gets this part of its budget. */
static const unsigned tag_batch_sweeps[] = {32, 8, 4};

struct tag_batch {
	struct tag_search *search;
	struct tag_batch_item *items;
	uint32_t *left; /* numbers of those without an answer */
	size_t n_left;
	size_t next; /* to be attempted */
	uint64_t pool_ns;
};

void tag_batch_item_release(struct tag_batch_item *item)
{
	for (size_t i = 0; i < item->n; i++)
		free((void *)item->paths[i].nodes);
	free(item->paths);
	item->paths = NULL;
	item->n = 0;
}

static int tag_batch_keep(struct tag_batch_item *item, const struct tag_answer *answer)
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

/* One search. 1: it has its answer now; 0: it has none yet; negative: as tag_search_run(). */
static int tag_batch_try(struct tag_batch *b, struct tag_batch_item *item, uint64_t budget_ns,
			 bool all)
{
	struct tag_query query = {.tag = item->tag,
				  .leaf = item->leaf,
				  .leaf_is_hint = item->leaf_is_hint,
				  .all = all,
				  .budget_ns = budget_ns < b->pool_ns ? budget_ns : b->pool_ns};
	struct tag_answer answer;
	int r = tag_search_run(b->search, &query, &answer);

	if (r < 0)
		return r;
	item->spent_ns += answer.spent_ns;
	b->pool_ns -= answer.spent_ns < b->pool_ns ? answer.spent_ns : b->pool_ns;
	r = tag_batch_keep(item, &answer);
	return r < 0 ? r : item->status != TAG_SEARCH_NOT_IN_BUDGET;
}

/* Tries all that are left. The number found, or negative. */
static int tag_batch_sweep(struct tag_batch *b, uint64_t budget_ns)
{
	size_t kept = 0, n = b->n_left;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		if (r >= 0 && b->pool_ns)
			r = tag_batch_try(b, &b->items[b->left[i]], budget_ns, false);
		else
			r = r < 0 ? r : 0;
		if (r <= 0)
			b->left[kept++] = b->left[i];
	}
	b->n_left = kept;
	return r < 0 ? r : (int)(n - kept);
}

/* Attempts until one is found: some of the tags with one budget, half as many with two, and so on,
 * each in its turn. 1: it is found; 0: there is no time left. */
static int tag_batch_attempt(struct tag_batch *b, uint64_t budget_ns)
{
	size_t share = b->n_left / TAG_BATCH_ATTEMPTS, left = share;

	for (; b->n_left && b->pool_ns; b->next++) {
		size_t i = b->next % b->n_left;
		int r = tag_batch_try(b, &b->items[b->left[i]], budget_ns, false);

		if (r < 0)
			return r;
		if (r) {
			b->left[i] = b->left[--b->n_left];
			return 1;
		}
		if (left-- > 1)
			continue;
		share /= 2;
		left = share;
		budget_ns = budget_ns < UINT64_MAX / 2 ? budget_ns * 2 : budget_ns;
	}
	return 0;
}

static int tag_batch_pool(struct tag_batch *b, uint64_t budget_ns)
{
	unsigned sweep = 0;
	int r = 0;

	while (r >= 0 && b->n_left && b->pool_ns) {
		if (sweep < sizeof(tag_batch_sweeps) / sizeof(*tag_batch_sweeps))
			r = tag_batch_sweep(b, budget_ns / tag_batch_sweeps[sweep++] + 1);
		else
			r = tag_batch_attempt(b, budget_ns * 2);
		if (r > 0)
			sweep = 0;
	}
	return r < 0 ? r : 0;
}

/* Paths from the roots serve all tags: a part of the time makes more of them than one tag would. */
static int tag_batch_prepare(struct tag_batch *b)
{
	uint64_t spent_ns;
	int r = tag_search_prepare(b->search, b->pool_ns / TAG_BATCH_PREPARE, &spent_ns);

	b->pool_ns -= spent_ns < b->pool_ns ? spent_ns : b->pool_ns;
	return r;
}

static int tag_batch_each(struct tag_batch *b, size_t n, uint64_t budget_ns)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		b->pool_ns = budget_ns;
		r = tag_batch_try(b, &b->items[i], budget_ns, true);
	}
	return r < 0 ? r : 0;
}

int tag_batch_run(struct tag_search *search, struct tag_batch_item *items, size_t n,
		  uint64_t budget_ns, bool all)
{
	struct tag_batch b = {.search = search, .items = items};
	int r;

	if (n >= UINT32_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		items[i].status = TAG_SEARCH_NOT_IN_BUDGET;
	if (!n || !budget_ns)
		return 0;
	if (all)
		return tag_batch_each(&b, n, budget_ns);
	if (__builtin_mul_overflow(budget_ns, n, &b.pool_ns))
		b.pool_ns = UINT64_MAX;
	b.left = calloc(n, sizeof(*b.left));
	r = b.left ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		b.left[b.n_left++] = (uint32_t)i;
	if (r == 0 && n > 1)
		r = tag_batch_prepare(&b);
	if (r == 0)
		r = tag_batch_pool(&b, budget_ns);
	free(b.left);
	return r;
}
