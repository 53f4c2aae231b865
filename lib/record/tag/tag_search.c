/* SPDX-License-Identifier: MIT */
/*
 * The search; see tag_search.h.
 *
 * The backward half is a depth-first walk over (node, tag of the path above it), repeated with a
 * growing limit of cost (iterative deepening: it needs no memory but its stack, and the last round
 * outweighs those before). Before each round, either the walk's limit is raised or the table of
 * prefixes grows, whichever is expected to cost less:
 *
 *     table   root ──► ... ──► p            tag t(p)
 *     walk                     v ──► ... ──► leaf      undone: t = tag(path above v)
 *     meet    t == t(p): the path is p's, then v's; the table has the empty path, with tag 0, too
 *
 * A round is always finished before an answer is given, so all paths that are about as likely as
 * the answer are in it. Recursion: the k-th consecutive call of a function by itself costs
 * log2((k+1)/k) bits, so that n such calls cost log2(n+1) bits in all.
 *
 * Transparent nodes are on the walk's stack with the tag of the node below them.
 */
#include "tag/tag_search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "tag/tag_anchors.h"
#include "tag/tag_prefixes.h"

#define TAG_SEARCH_PATHS  64		       /* most paths of one answer */
#define TAG_SEARCH_ODD	  (2 * EDGE_COSTS_BIT) /* cost of what is possible but unlikely */
#define TAG_SEARCH_STEPS  4096		       /* steps between two looks at the clock */
#define TAG_SEARCH_DEPTH  65536		       /* most nodes of the walk's path */
#define TAG_SEARCH_STATES (1u << 21)	       /* most states that wait to be expanded */
/* callers of a node that are looked up together, so that their cache misses overlap */
#define TAG_SEARCH_SOME 16
/* steps that a meeting of both halves counts as */
#define TAG_SEARCH_JOIN 64
/* longest run of direct recursion that is tried */
#define TAG_SEARCH_RUN	 4096
#define TAG_SEARCH_WIDER (2 * EDGE_COSTS_BIT) /* least amount by which a limit grows */
/* steps that a new entry of the table counts as */
#define TAG_SEARCH_INSERT 12
#define TAG_SEARCH_ENTRY  32 /* bytes of an entry, about */

/* A node of the walk that is still to be expanded. */
struct tag_search_state {
	uint64_t tag; /* tag of the path above the node */
	uint32_t node;
	uint32_t cost;
	uint32_t depth; /* number of nodes below it */
	/* length of the run of calls of the node by itself with which this path begins, the node
	 * included */
	uint32_t run;
};

/* The fields of a node that the walk reads, in one place. Learning can lower costs without updating
 * `least`, which is then too large: the walk reaches the node's callers later than it could. */
struct tag_search_node {
	uint64_t id;
	uint32_t least; /* edge_costs.min_up */
	bool is_transparent;
};

struct tag_search {
	const struct callgraph *graph;
	struct edge_costs costs;
	struct tag_prefixes prefixes;
	struct tag_search_options options;
	struct tag_search_node *nodes;
	VEC(struct tag_search_state) stack;
	/* nodes of the path that the state being expanded stands for, by depth, leaf first */
	VEC(uint32_t) path;
	/* limit: the walk stops at higher costs; next: the lowest cost above it that the walk
	 * met */
	uint32_t limit, next;
	uint64_t steps, until_look;
	uint64_t start_ns, deadline_ns;
	bool is_over, is_cut;
	const struct tag_search_query *query;
	struct tag_anchors anchors;
	/* index of the anchor that the walk reached, or CALLGRAPH_NONE; number of nodes in `below`,
	 * the path from the anchor down */
	uint32_t anchor, n_below;
	uint32_t *below; /* owned */
	struct tag_search_path paths[TAG_SEARCH_PATHS];
	size_t n_paths;
};

/* --- making a search ------------------------------------------------------------------------- */

static uint64_t tag_search_clock(void *arg)
{
	(void)arg;
	return clock_ns(CLOCK_MONOTONIC);
}

/* Returns whether the graph allows that paths begin with a node: it is a root, its address is
 * taken, or nothing calls it. */
static bool tag_search_is_entry(const struct callgraph *graph, uint32_t node)
{
	const struct callgraph_node *n = callgraph_at(graph, node);
	uint32_t count, first;

	if (n->is_transparent)
		return false;
	callgraph_callers(graph, node, &count, &first);
	return n->is_root || n->is_entry || count == 0;
}

/* Adds the nodes with which paths may begin, if the root is not known: functions that the graph
 * marks as roots, and at a higher cost its possible roots and functions without callers. */
static int guess_roots(struct tag_search *s)
{
	uint32_t n = callgraph_count(s->graph), marked = 0, others = 0;
	int err = 0;

	for (uint32_t i = 0; i < n; i++) {
		marked += callgraph_at(s->graph, i)->is_root;
		others += tag_search_is_entry(s->graph, i) && !callgraph_at(s->graph, i)->is_root;
	}
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		if (callgraph_at(s->graph, i)->is_root)
			err = tag_prefixes_root(&s->prefixes, i, edge_costs_of_choice(marked));
		else if (tag_search_is_entry(s->graph, i))
			err = tag_prefixes_root(&s->prefixes, i,
						edge_costs_of_choice(others) + TAG_SEARCH_ODD);
	}
	return err;
}

static int tables(struct tag_search *s)
{
	uint32_t n = callgraph_count(s->graph);
	int err;

	s->nodes = calloc((size_t)n + 1, sizeof(*s->nodes));
	if (!s->nodes)
		return -ENOMEM;
	err = edge_costs_init(&s->costs, s->graph);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		s->nodes[i].id = callgraph_at(s->graph, i)->id;
		s->nodes[i].is_transparent = callgraph_at(s->graph, i)->is_transparent;
		s->nodes[i].least = s->costs.min_up[i];
	}
	err = tag_prefixes_init(&s->prefixes, &s->costs, s->options.memory_bytes);
	if (err < 0)
		return err;
	return s->options.root == CALLGRAPH_NONE
		       ? guess_roots(s)
		       : tag_prefixes_root(&s->prefixes, s->options.root, 0);
}

int tag_search_new(const struct callgraph *graph, const struct tag_search_options *options,
		   struct tag_search **ret_search)
{
	struct tag_search *s;
	int err;

	if (!callgraph_is_sealed(graph) ||
	    (options->root != CALLGRAPH_NONE && options->root >= callgraph_count(graph)))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->graph = graph;
	s->anchor = CALLGRAPH_NONE;
	s->options = *options;
	if (!s->options.memory_bytes)
		s->options.memory_bytes = TAG_SEARCH_MEMORY;
	if (!s->options.now_ns)
		s->options.now_ns = tag_search_clock;
	err = tables(s);
	if (err < 0) {
		tag_search_free(s);
		return err;
	}
	*ret_search = s;
	return 0;
}

/* Frees the last answer. */
static void tag_search_forget(struct tag_search *s)
{
	for (size_t i = 0; i < s->n_paths; i++)
		free((void *)s->paths[i].nodes);
	s->n_paths = 0;
	free(s->below);
	s->below = NULL;
	s->anchor = CALLGRAPH_NONE;
}

void tag_search_free(struct tag_search *s)
{
	if (!s)
		return;
	tag_search_forget(s);
	tag_prefixes_release(&s->prefixes);
	edge_costs_release(&s->costs);
	free(s->stack.items);
	free(s->path.items);
	free(s->nodes);
	tag_anchors_release(&s->anchors);
	free(s);
}

/* --- the clock ----------------------------------------------------------------------------- */

static bool tag_search_is_over(void *arg)
{
	struct tag_search *s = arg;

	s->is_over = s->is_over || s->options.now_ns(s->options.now_arg) >= s->deadline_ns;
	return s->is_over;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static bool tag_search_step(struct tag_search *s, uint32_t steps)
{
	s->steps += steps;
	if (s->steps < s->until_look)
		return s->is_over;
	s->until_look = s->steps + TAG_SEARCH_STEPS;
	return tag_search_is_over(s);
}

static void begin(struct tag_search *s, uint64_t budget_ns)
{
	s->start_ns = s->options.now_ns(s->options.now_arg);
	if (__builtin_add_overflow(s->start_ns, budget_ns, &s->deadline_ns))
		s->deadline_ns = UINT64_MAX;
	s->steps = s->until_look = 0;
	s->is_over = s->is_cut = false;
}

/* --- meeting ------------------------------------------------------------------------------- */

/* Returns the path of a meeting: the nodes of the table's entry, then `node`, then the real nodes
 * of the walk's path below it. The caller frees it; NULL if memory is short. */
static uint32_t *join(const struct tag_search *s, uint32_t entry, uint32_t node, uint32_t depth,
		      uint32_t *ret_n)
{
	size_t above = tag_prefixes_path(&s->prefixes, entry, NULL, 0), n = above;
	uint32_t *nodes = vec_alloc(above + depth + 1, sizeof(*nodes));

	if (!nodes)
		return NULL;
	tag_prefixes_path(&s->prefixes, entry, nodes, above);
	nodes[n++] = node;
	for (uint32_t i = depth; i-- > 0;)
		if (!s->nodes[s->path.items[i]].is_transparent)
			nodes[n++] = s->path.items[i];
	*ret_n = (uint32_t)n;
	return nodes;
}

static uint32_t tag_search_unmodelled(const struct tag_search *s, const uint32_t *nodes, uint32_t n)
{
	uint32_t missing =
		s->options.root == CALLGRAPH_NONE && !tag_search_is_entry(s->graph, nodes[0]);

	for (uint32_t i = 1; i < n; i++)
		missing += !callgraph_can_call(s->graph, nodes[i - 1], nodes[i]);
	return missing;
}

static bool is_known(const struct tag_search *s, const uint32_t *nodes, uint32_t n)
{
	for (size_t i = 0; i < s->n_paths; i++)
		if (s->paths[i].n == n && memcmp(s->paths[i].nodes, nodes, n * sizeof(*nodes)) == 0)
			return true;
	return false;
}

static void keep(struct tag_search *s, uint32_t *nodes, uint32_t n)
{
	uint32_t missing = tag_search_unmodelled(s, nodes, n);
	size_t at = s->n_paths;

	if ((missing && s->options.strict) || is_known(s, nodes, n)) {
		free(nodes);
		return;
	}
	if (s->n_paths == TAG_SEARCH_PATHS) {
		s->is_cut = true;
		free(nodes);
		return;
	}
	for (; at && s->paths[at - 1].unmodelled > missing; at--)
		s->paths[at] = s->paths[at - 1];
	s->paths[at] = (struct tag_search_path){nodes, n, missing};
	s->n_paths++;
}

/* Looks up `tag`, that of the path above `node`, in the table; `node` is `depth` nodes above the
 * leaf. Each entry found makes a whole path, which is kept if it is allowed. Returns 0 or
 * -ENOMEM. */
static int meet(struct tag_search *s, uint64_t tag, uint32_t node, uint32_t depth)
{
	uint32_t entries[TAG_SEARCH_PATHS], n;
	size_t count = tag_prefixes_find(&s->prefixes, tag, entries, TAG_SEARCH_PATHS);

	s->steps += count * TAG_SEARCH_JOIN;
	for (size_t i = 0; i < count; i++) {
		uint32_t *nodes;

		if (!entries[i] && s->options.root != CALLGRAPH_NONE && node != s->options.root)
			continue;
		nodes = join(s, entries[i], node, depth, &n);
		if (!nodes)
			return -ENOMEM;
		keep(s, nodes, n);
	}
	return 0;
}

/* --- anchors ------------------------------------------------------------------------------- */

int tag_search_anchors(struct tag_search *s, const uint64_t *tags, uint32_t n)
{
	return tag_anchors_set(&s->anchors, tags, n);
}

/* Looks up `tag`, that of the path above `node`, among the anchors. Keeps the path below the first
 * anchor that the search reaches. Returns 0 or -ENOMEM. */
static int hang(struct tag_search *s, uint64_t tag, uint32_t node, uint32_t depth)
{
	uint32_t anchor = s->below ? TAG_ANCHORS_NONE : tag_anchors_find(&s->anchors, tag);

	if (anchor == TAG_ANCHORS_NONE)
		return 0;
	s->below = join(s, 0, node, depth, &s->n_below);
	s->anchor = anchor;
	return s->below ? 0 : -ENOMEM;
}

/* --- the walk ------------------------------------------------------------------------------ */

static void beyond(struct tag_search *s, uint32_t cost)
{
	if (cost < s->next)
		s->next = cost;
}

static int tag_search_push(struct tag_search *s, const struct tag_search_state *state)
{
	if (state->depth >= TAG_SEARCH_DEPTH || s->stack.count >= TAG_SEARCH_STATES) {
		beyond(s, state->cost + EDGE_COSTS_BIT);
		return 0;
	}
	if (s->stack.count == s->stack.cap && VEC_RESERVE(&s->stack, 1) < 0)
		return -ENOMEM;
	s->stack.items[s->stack.count++] = *state;
	return 0;
}

/* Handles a real node on top of the path; state->tag is the tag of the path above it. */
static inline int visit(struct tag_search *s, const struct tag_search_state *state)
{
	uint32_t least = s->nodes[state->node].least;
	int err;

	if (s->anchors.tags) {
		err = hang(s, state->tag, state->node, state->depth);
		if (err < 0)
			return err;
	}
	if (tag_prefixes_may_have(&s->prefixes, state->tag)) {
		err = meet(s, state->tag, state->node, state->depth);
		if (err < 0)
			return err;
	}
	if (least == EDGE_COSTS_NEVER)
		return 0;
	if (state->cost + least <= s->limit)
		return tag_search_push(s, state);
	beyond(s, state->cost + least);
	return 0;
}

/* Returns the cost of the k-th call in a row of a function by itself, at most `edge`, the cost of
 * the edge. */
static uint32_t run_cost(uint32_t k, uint32_t edge)
{
	uint32_t cost = 92 / k; /* 64 * log2((k + 1) / k) is about 92.3 / k */

	return k == 1 || cost > edge ? edge : cost;
}

/* Fills `ret_to`, the walk's state after a step to a caller, and prefetches what looking up the
 * path above it will read. Returns false if the step would exceed the limit, or the longest run of
 * recursion. */
static inline bool caller(struct tag_search *s, const struct tag_search_state *from, uint32_t node,
			  uint32_t price, struct tag_search_state *ret_to)
{
	uint32_t run = 1;
	uint64_t tag = from->tag;

	if (node == from->node) {
		run = from->run + 1;
		price = run_cost(from->run, price);
		if (run > TAG_SEARCH_RUN)
			return false;
	}
	if (from->cost + price > s->limit) {
		beyond(s, from->cost + price);
		return false;
	}
	if (!s->nodes[node].is_transparent) {
		tag = hash_unchain(tag, s->nodes[node].id);
		tag_prefixes_fetch(&s->prefixes, tag);
	}
	*ret_to = (struct tag_search_state){tag, node, from->cost + price, from->depth + 1, run};
	return true;
}

/* Handles all callers of a state's node, some at a time. */
static int expand(struct tag_search *s, const struct tag_search_state *from)
{
	struct tag_search_state some[TAG_SEARCH_SOME];
	uint32_t count, first;
	const uint32_t *callers = callgraph_callers(s->graph, from->node, &count, &first);
	const uint16_t *prices = s->costs.up + first;
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < count;) {
		uint32_t n = 0;

		for (; i < count && n < TAG_SEARCH_SOME; i++)
			n += caller(s, from, callers[i], prices[i], &some[n]);
		for (uint32_t k = 0; result == 0 && k < n; k++)
			result = s->nodes[some[k].node].is_transparent
					 ? tag_search_push(s, &some[k])
					 : visit(s, &some[k]);
	}
	return result < 0 ? result : tag_search_step(s, count + 1);
}

/* Walks upwards all paths from one leaf whose costs are within the limit. Returns 0; 1: the time is
 * used up; -ENOMEM. */
static int tag_search_walk(struct tag_search *s, uint32_t leaf, uint32_t cost)
{
	struct tag_search_state state = {hash_unchain(s->query->tag, s->nodes[leaf].id), leaf, cost,
					 0, 1};
	int result;

	if (cost > s->limit) {
		beyond(s, cost);
		return 0;
	}
	s->stack.count = 0;
	result = visit(s, &state);
	while (result == 0 && s->stack.count) {
		state = s->stack.items[--s->stack.count];
		if (state.depth >= s->path.cap &&
		    vec_reserve((void **)&s->path.items, &s->path.cap, state.depth + 1,
				sizeof(*s->path.items)) < 0)
			return -ENOMEM;
		s->path.items[state.depth] = state.node;
		result = expand(s, &state);
	}
	return result == 0 ? tag_search_step(s, 1) : result;
}

static int hinted(struct tag_search *s, uint32_t leaf)
{
	uint32_t count, first;
	const uint32_t *callers = callgraph_callers(s->graph, leaf, &count, &first);
	int result = tag_search_walk(s, leaf, 0);

	for (uint32_t i = 0; result == 0 && i < count; i++)
		if (!s->nodes[callers[i]].is_transparent)
			result = tag_search_walk(s, callers[i],
						 s->costs.up[first + i] + EDGE_COSTS_BIT);
	return result;
}

/* Runs one round: the walk from each possible leaf. Returns 0; 1: the time is used up; -ENOMEM. */
static int tag_search_round(struct tag_search *s)
{
	uint32_t any = edge_costs_of_choice(callgraph_count_real(s->graph));
	bool has_leaf = s->query->leaf != CALLGRAPH_NONE;
	int result = 0;

	s->next = EDGE_COSTS_NEVER;
	if (has_leaf && !s->query->leaf_is_hint)
		return tag_search_walk(s, s->query->leaf, 0);
	if (has_leaf) {
		result = hinted(s, s->query->leaf);
		any += TAG_SEARCH_ODD;
	}
	if (result == 0 && any > s->limit) {
		beyond(s, any);
		return 0;
	}
	for (uint32_t i = 0; result == 0 && i < callgraph_count(s->graph); i++)
		if (!s->nodes[i].is_transparent)
			result = tag_search_walk(s, i, any);
	return result;
}

/* --- the search ---------------------------------------------------------------------------- */

static double grown(uint64_t work, uint32_t by)
{
	return (double)work * exp2((double)by / EDGE_COSTS_BIT);
}

static uint32_t wider(uint32_t limit, uint32_t next)
{
	return next > limit + TAG_SEARCH_WIDER ? next : limit + TAG_SEARCH_WIDER;
}

/* Prepares the next round, which must cover more than the last one, whose work was `steps`: raises
 * the walk's limit, or grows the table. */
static int widen(struct tag_search *s, uint64_t steps)
{
	const struct tag_prefixes_stop stop = {tag_search_is_over, s};
	struct tag_prefixes *table = &s->prefixes;
	uint32_t walk = s->next == EDGE_COSTS_NEVER ? s->limit : wider(s->limit, s->next);
	uint32_t grow = wider(table->limit, table->next);
	bool can_grow = !table->is_full && table->next != EDGE_COSTS_NEVER;
	double walk_work = grown(steps, walk - s->limit);
	double grow_work = grown(table->entries.count * TAG_SEARCH_INSERT, grow - table->limit);

	if (walk != s->limit && (!can_grow || walk_work <= grow_work + (double)steps)) {
		s->limit = walk;
		return 0;
	}
	return can_grow ? tag_prefixes_grow(table, grow, &stop) : 0;
}

/* Returns whether there is nothing left to find: one of the halves has covered everything. */
static bool is_exhausted(const struct tag_search *s)
{
	const struct tag_prefixes *table = &s->prefixes;
	bool leaf = s->query->leaf != CALLGRAPH_NONE && !s->query->leaf_is_hint;

	return s->next == EDGE_COSTS_NEVER ||
	       (s->options.root != CALLGRAPH_NONE && !table->is_full && leaf &&
		table->next == EDGE_COSTS_NEVER && table->cursor == table->entries.count);
}

static int rounds(struct tag_search *s, enum tag_search_status *ret_status)
{
	const struct tag_prefixes_stop stop = {tag_search_is_over, s};
	uint64_t before = 0;
	int result = tag_prefixes_grow(&s->prefixes, s->prefixes.limit, &stop);

	s->limit = 0;
	while (result == 0) {
		before = s->steps;
		result = tag_search_round(s);
		if (result || ((s->n_paths || s->below) && !s->query->all))
			break;
		if (is_exhausted(s)) {
			*ret_status = TAG_SEARCH_NO_PATH;
			return 0;
		}
		result = widen(s, s->steps - before);
	}
	return result < 0 ? result : 0;
}

int tag_search_prepare(struct tag_search *s, uint64_t budget_ns, uint64_t *ret_spent_ns)
{
	const struct tag_prefixes_stop stop = {tag_search_is_over, s};
	struct tag_prefixes *table = &s->prefixes;
	int result;

	begin(s, budget_ns);
	result = budget_ns ? tag_prefixes_grow(table, table->limit, &stop) : 0;
	while (result == 0 && budget_ns && !table->is_full && table->next != EDGE_COSTS_NEVER &&
	       table->entries.count * TAG_SEARCH_ENTRY < s->options.memory_bytes / 4 &&
	       !tag_search_is_over(s)) {
		uint32_t limit = table->limit;

		result = tag_prefixes_grow(table, wider(limit, table->next), &stop);
		if (table->limit == limit)
			break; /* the table does not grow any more */
	}
	*ret_spent_ns = s->options.now_ns(s->options.now_arg) - s->start_ns;
	return result < 0 ? result : 0;
}

void tag_search_learn_calls(struct tag_search *s, const uint32_t *nodes, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		edge_costs_learn(&s->costs, nodes[i - 1], nodes[i]);
		s->nodes[nodes[i]].least = s->costs.min_up[nodes[i]];
	}
}

int tag_search_learn(struct tag_search *s, const uint32_t *nodes, size_t n)
{
	const struct tag_prefixes_stop stop = {never, NULL};
	int result;

	tag_search_learn_calls(s, nodes, n);
	result = tag_prefixes_learn(&s->prefixes, nodes, n, &stop);
	return result < 0 ? result : 0;
}

/* Adds the empty path as an answer: its tag is that of a thread that has called nothing yet. */
static int empty(struct tag_search *s)
{
	uint32_t *nodes = malloc(sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	s->paths[0] = (struct tag_search_path){.nodes = nodes};
	s->n_paths = 1;
	return 0;
}

int tag_search_run(struct tag_search *s, const struct tag_search_query *query,
		   struct tag_search_answer *ret_answer)
{
	enum tag_search_status status = TAG_SEARCH_NOT_IN_BUDGET;
	int err = 0;

	if (query->leaf != CALLGRAPH_NONE &&
	    (query->leaf >= callgraph_count(s->graph) || s->nodes[query->leaf].is_transparent))
		return -EINVAL;
	tag_search_forget(s);
	begin(s, query->budget_ns);
	s->query = query;
	if (query->budget_ns && !query->tag && query->leaf == CALLGRAPH_NONE)
		err = empty(s);
	else if (query->budget_ns)
		err = rounds(s, &status);
	s->query = NULL;
	if (err == 0 && s->n_paths == 1 && !s->options.keep_nothing)
		err = tag_search_learn(s, s->paths[0].nodes, s->paths[0].n);
	if (err < 0)
		return err;
	*ret_answer = (struct tag_search_answer){
		.status = s->n_paths ? TAG_SEARCH_FOUND : status,
		.anchor = s->anchor,
		.below = s->below,
		.n_below = s->n_below,
		.paths = s->paths,
		.n = s->n_paths,
		.is_cut = s->is_cut,
		.steps = s->steps,
		.spent_ns = s->options.now_ns(s->options.now_arg) - s->start_ns,
	};
	return 0;
}

bool tag_search_is_strict(const struct tag_search *s)
{
	return s->options.strict;
}

const struct callgraph *tag_search_graph(const struct tag_search *s)
{
	return s->graph;
}

uint64_t tag_search_prefixes(const struct tag_search *s)
{
	return s->prefixes.entries.count;
}

uint64_t tag_search_tag(const struct callgraph *graph, const uint32_t *nodes, size_t n)
{
	uint64_t tag = 0;

	for (size_t i = 0; i < n; i++)
		tag = hash_chain(tag, callgraph_at(graph, nodes[i])->id);
	return tag;
}
