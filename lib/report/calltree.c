/* SPDX-License-Identifier: MIT */
/*
 * A tree of shown frames; see calltree.h.
 *
 * A path is added by climbing the trie from its leaf until a trie node is met that this tree has
 * placed already, then coming down again and entering what is missing. So a group of entries
 * costs one step for each trie node that it touches, not one for each frame of each path.
 *
 * Most nodes have a child or two, which stand in a list and were mostly made just before: a look
 * there costs less than a probe of an index. A node with many children has them in the index.
 *
 * `placed` remembers where a trie node stands in the tree. It holds for one tree and one root
 * mark (a path that ends for another reason hangs under another mark), so each entry carries the
 * stamp of the combination that wrote it, and changing the combination costs nothing.
 */
#include "report/calltree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "report/index.h"

struct calltree_place {
	uint32_t stamp; /* valid if it is the tree's */
	uint32_t at;
};

/* Samples that end in one node and whose frames are inferred down to another. */
struct calltree_inferred {
	uint32_t at, upto;
	uint64_t samples;
};

struct calltree {
	struct profile *profile;
	enum calltree_key key;
	struct calltree_node *nodes;
	uint32_t n_nodes, cap_nodes;
	struct index children;	       /* of nodes with many: (parent, key) -> node */
	struct calltree_place *placed; /* by trie node; made at the first addition */
	uint32_t stamp;
	const struct profile_symbol *mark; /* that `stamp` stands for */
	uint32_t *climb;		   /* trie nodes on the way down */
	uint32_t cap_climb;
	VEC(struct calltree_inferred) inferred;
};

int calltree_new(struct profile *profile, enum calltree_key key, struct calltree **ret_tree)
{
	struct calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->profile = profile;
	tree->key = key;
	tree->cap_nodes = 64;
	tree->nodes = calloc(tree->cap_nodes, sizeof(*tree->nodes));
	if (!tree->nodes) {
		calltree_free(tree);
		return -ENOMEM;
	}
	calltree_clear(tree);
	*ret_tree = tree;
	return 0;
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree->placed);
	free(tree->climb);
	free(tree->inferred.items);
	index_free(&tree->children);
	free(tree);
}

void calltree_clear(struct calltree *tree)
{
	tree->nodes[0] = (struct calltree_node){
		.symbol = CALLTREE_NONE,
		.parent = CALLTREE_NONE,
		.first_child = CALLTREE_NONE,
		.next_sibling = CALLTREE_NONE,
	};
	tree->n_nodes = 1;
	tree->inferred.count = 0;
	/* A map that one large process blew up would cost its size for each small one after it. */
	if (tree->children.slots > 16 * (tree->children.used + 64))
		index_free(&tree->children);
	else
		index_clear(&tree->children);
	tree->stamp++;
	tree->mark = NULL;
}

static int calltree_append(struct calltree *tree, uint32_t parent, uint32_t symbol, bool is_inlined,
			   uint32_t key)
{
	struct calltree_node *node;

	if (tree->n_nodes == tree->cap_nodes) {
		uint32_t cap = tree->cap_nodes * 2;

		if (cap > UINT32_MAX / 4)
			return -ENOMEM;
		node = reallocarray(tree->nodes, cap, sizeof(*node));
		if (!node)
			return -ENOMEM;
		tree->nodes = node;
		tree->cap_nodes = cap;
	}
	tree->nodes[tree->n_nodes] = (struct calltree_node){
		.symbol = symbol,
		.parent = parent,
		.first_child = CALLTREE_NONE,
		.next_sibling = tree->nodes[parent].first_child,
		.key = key,
		.depth = tree->nodes[parent].depth + 1,
		.is_inlined = is_inlined,
	};
	if (tree->nodes[parent].n_children <= CALLTREE_LISTED)
		tree->nodes[parent].n_children++;
	tree->nodes[parent].first_child = tree->n_nodes++;
	return 0;
}

/* Looks for a child, and enters all children in the index once they are too many to look at. */
static int calltree_find(struct calltree *tree, uint32_t parent, uint32_t key, uint32_t *ret_child)
{
	uint32_t at = tree->nodes[parent].first_child;

	if (tree->nodes[parent].n_children > CALLTREE_LISTED) {
		*ret_child = index_find(&tree->children, (uint64_t)parent << 32 | key);
		return 0;
	}
	while (at != CALLTREE_NONE && tree->nodes[at].key != key)
		at = tree->nodes[at].next_sibling;
	*ret_child = at;
	if (at != CALLTREE_NONE || tree->nodes[parent].n_children < CALLTREE_LISTED)
		return 0;
	for (at = tree->nodes[parent].first_child; at != CALLTREE_NONE;
	     at = tree->nodes[at].next_sibling) {
		uint64_t entry = (uint64_t)parent << 32 | tree->nodes[at].key;
		uint32_t same;
		int r = index_enter(&tree->children, entry, at, &same);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The child of `parent` for a symbol, entered if it is new. */
static int calltree_child(struct calltree *tree, uint32_t parent,
			  const struct profile_symbol *symbol, bool is_inlined, uint32_t *ret_child)
{
	bool by_name = tree->key == CALLTREE_BY_NAME;
	uint32_t key = by_name ? symbol->name_number : symbol->number << 1 | is_inlined;
	uint32_t child;
	int r = calltree_find(tree, parent, key, &child);

	if (r == 0 && child == CALLTREE_NONE) {
		child = tree->n_nodes;
		if (tree->nodes[parent].n_children >= CALLTREE_LISTED)
			r = index_enter(&tree->children, (uint64_t)parent << 32 | key, child,
					&child);
		if (r == 0)
			r = calltree_append(tree, parent, symbol->number, is_inlined && !by_name,
					    key);
	}
	if (r == 0)
		*ret_child = child;
	return r;
}

/* Where the paths with this mark (or none) begin; makes `stamp` stand for it. */
static int calltree_begin(struct calltree *tree, const struct profile_symbol *mark,
			  uint32_t *ret_at)
{
	if (!tree->placed) {
		uint32_t n = profile_tables(tree->profile)->n_nodes;

		tree->placed = calloc((size_t)n + 1, sizeof(*tree->placed));
		if (!tree->placed)
			return -ENOMEM;
	}
	if (mark != tree->mark) {
		tree->mark = mark;
		tree->stamp++;
	}
	*ret_at = 0;
	return mark ? calltree_child(tree, 0, mark, false, ret_at) : 0;
}

/* The child for a frame, or `at` itself where the filter does not have the frame shown. */
static int calltree_step(struct calltree *tree, const struct profile_frame *frame, uint32_t *at)
{
	const struct profile_filter *filter = profile_filter(tree->profile);
	const struct calltree_node *node = &tree->nodes[*at];

	if (filter->max_depth && node->depth >= filter->max_depth)
		return 0;
	if (filter->fold_recursion && node->symbol == frame->symbol->number)
		return 0;
	return calltree_child(tree, *at, frame->symbol, frame->is_inlined, at);
}

/* Places the frames of one trie node under `at`. */
static int calltree_place(struct calltree *tree, uint32_t trie_node, uint32_t *at)
{
	const struct store_tables *t = profile_tables(tree->profile);
	const struct profile_frame *frames;
	size_t count;
	int r = 0;

	frames = profile_location_frames(tree->profile, t->nodes[trie_node].location, &count);
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = calltree_step(tree, &frames[i], at);
	if (r == 0)
		tree->placed[trie_node] = (struct calltree_place){.stamp = tree->stamp, .at = *at};
	return r;
}

static bool calltree_push(struct calltree *tree, uint32_t n, uint32_t trie_node)
{
	if (n == tree->cap_climb) {
		uint32_t cap = tree->cap_climb ? tree->cap_climb * 2 : 256;
		uint32_t *climb = reallocarray(tree->climb, cap, sizeof(*climb));

		if (!climb)
			return false;
		tree->climb = climb;
		tree->cap_climb = cap;
	}
	tree->climb[n] = trie_node;
	return true;
}

/* Notes that the first frames of a path that was just placed are inferred. */
static int calltree_add_inferred(struct calltree *tree, const struct profile_entry *entry,
				 uint32_t at)
{
	const struct store_node *nodes = profile_tables(tree->profile)->nodes;
	uint32_t depth = 0, node = entry->node;
	uint32_t inferred = origin_inferred(profile_origin(tree->profile, entry->origin));

	for (uint32_t up = node; up; up = nodes[up].parent)
		depth++;
	for (; depth > inferred; depth--)
		node = nodes[node].parent;
	if (!inferred || !node)
		return 0;
	if (VEC_RESERVE(&tree->inferred, 1) < 0)
		return -ENOMEM;
	node = tree->placed[node].at;
	tree->inferred.items[tree->inferred.count++] =
		(struct calltree_inferred){at, node, entry->samples};
	tree->nodes[node].inferred += entry->samples;
	return 0;
}

int calltree_add(struct calltree *tree, const struct profile_entry *entry)
{
	const struct store_tables *t = profile_tables(tree->profile);
	uint32_t n = 0, at, start;
	int r;

	r = calltree_begin(tree, profile_mark(tree->profile, entry->end_reason, entry->origin),
			   &at);
	for (start = entry->node; r == 0 && start; start = t->nodes[start].parent) {
		if (tree->placed[start].stamp == tree->stamp) {
			at = tree->placed[start].at;
			break;
		}
		if (!calltree_push(tree, n++, start))
			r = -ENOMEM;
	}
	while (r == 0 && n)
		r = calltree_place(tree, tree->climb[--n], &at);
	if (r == 0 && at == 0)
		r = calltree_child(tree, 0, profile_no_frames(tree->profile), false, &at);
	if (r == 0)
		tree->nodes[at].self += entry->samples;
	return r == 0 && entry->origin ? calltree_add_inferred(tree, entry, at) : r;
}

void calltree_sum(struct calltree *tree)
{
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		tree->nodes[i].samples = tree->nodes[i].self;
	for (uint32_t i = tree->n_nodes - 1; i > 0; i--) {
		tree->nodes[tree->nodes[i].parent].samples += tree->nodes[i].samples;
		tree->nodes[tree->nodes[i].parent].inferred += tree->nodes[i].inferred;
	}
	tree->nodes[0].inferred = 0;
	for (uint32_t at = tree->nodes[0].first_child; at != CALLTREE_NONE;
	     at = tree->nodes[at].next_sibling)
		if (calltree_symbol(tree, at)->is_mark)
			tree->nodes[at].inferred = 0;
}

const struct calltree_node *calltree_nodes(const struct calltree *tree, uint32_t *ret_count)
{
	*ret_count = tree->n_nodes;
	return tree->nodes;
}

const struct profile_symbol *calltree_symbol(const struct calltree *tree, uint32_t node)
{
	return profile_symbol_at(tree->profile, tree->nodes[node].symbol);
}

/*
 * Inverting goes level by level. A runner stands for the samples that end in one node of the
 * source; in each round all runners step to their caller, and the tree of callers gets or finds
 * the node for it under the one where the runner was. Runners whose place is below the limit
 * stop: that bounds the work by levels * runners, and what is left out is below what is shown.
 */
struct calltree_runner {
	uint32_t source; /* node of the source that was placed last */
	uint32_t at;	 /* where in the tree of callers */
	uint32_t upto; /* callers up to this node of the source, a caller too, are inferred; 0: none
			*/
	uint64_t samples;
};

/* One round. Each runner's samples are added where it arrives; the number that go on. */
static int64_t calltree_round(const struct calltree *tree, struct calltree *callers,
			      struct calltree_runner *runners, int64_t n, uint64_t least)
{
	int64_t left = 0;

	for (int64_t i = 0; i < n; i++) {
		struct calltree_runner run = runners[i];
		uint32_t up = tree->nodes[run.source].parent;
		int r;

		if (callers->nodes[run.at].samples < least)
			continue;
		if (up == 0) {
			callers->nodes[run.at].self += run.samples;
			continue;
		}
		r = calltree_child(callers, run.at, calltree_symbol(tree, up),
				   tree->nodes[up].is_inlined, &run.at);
		if (r < 0)
			return r;
		run.source = up;
		callers->nodes[run.at].samples += run.samples;
		if (up <= run.upto &&
		    !calltree_symbol(tree, up)
			     ->is_mark) /* both are on one path, where numbers grow with depth */
			callers->nodes[run.at].inferred += run.samples;
		runners[left++] = run;
	}
	return left;
}

/* Places a runner at the top. */
static int calltree_start_one(const struct calltree *tree, struct calltree *callers,
			      struct calltree_runner *runner)
{
	/* Whether it was inlined matters for a caller, not for the function asked about. */
	int r = calltree_child(callers, 0, calltree_symbol(tree, runner->source), false,
			       &runner->at);

	if (r < 0)
		return r;
	callers->nodes[runner->at].samples += runner->samples;
	callers->nodes[0].samples += runner->samples;
	return 0;
}

/* One runner for each node in which samples end, and one more for each part of them whose first
 * frames are inferred. `plain` has room for a number for each node. */
static int64_t calltree_start(const struct calltree *tree, struct calltree *callers,
			      struct calltree_runner *runners, uint64_t *plain)
{
	int64_t n = 0;
	int r = 0;

	for (uint32_t i = 1; i < tree->n_nodes; i++)
		plain[i] = tree->nodes[i].self;
	for (size_t i = 0; r == 0 && i < tree->inferred.count; i++) {
		const struct calltree_inferred *part = &tree->inferred.items[i];

		plain[part->at] -= part->samples;
		runners[n] = (struct calltree_runner){
			.source = part->at, .upto = part->upto, .samples = part->samples};
		r = calltree_start_one(tree, callers, &runners[n++]);
	}
	for (uint32_t i = 1; r == 0 && i < tree->n_nodes; i++) {
		if (!plain[i])
			continue;
		runners[n] = (struct calltree_runner){.source = i, .samples = plain[i]};
		r = calltree_start_one(tree, callers, &runners[n++]);
	}
	return r < 0 ? r : n;
}

int calltree_invert(const struct calltree *tree, const struct calltree_limits *limits,
		    struct calltree *callers, bool *ret_cut)
{
	struct calltree_runner *runners =
		reallocarray(NULL, tree->n_nodes + tree->inferred.count, sizeof(*runners));
	uint64_t *plain = calloc(tree->n_nodes, sizeof(*plain));
	uint64_t all = tree->nodes[0].samples;
	uint64_t least = (uint64_t)(limits->percent / 100.0 * (double)all);
	uint32_t depth = 0;
	int64_t n = -ENOMEM;

	if (runners && plain)
		n = calltree_start(tree, callers, runners, plain);
	while (n > 0 && depth++ < limits->max_depth && callers->n_nodes < limits->max_nodes)
		n = calltree_round(tree, callers, runners, n, least);
	free(runners);
	free(plain);
	if (n < 0)
		return (int)n;
	*ret_cut = n > 0;
	return 0;
}
