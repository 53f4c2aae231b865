/* SPDX-License-Identifier: MIT */
/*
 * The table of prefixes; see tag_prefixes.h.
 *
 * Growing to a limit is one pass over the entries, which appends as it goes: appended entries are
 * expanded in their turn. Costs change as paths are learned, so an entry that was expanded before
 * may lack children. So each pass expands all entries again; a child that is there already costs
 * only a look-up.
 *
 * Hostile graphs can make many paths share a tag (ids of zero). Only TAG_PREFIXES_SAME paths of a
 * tag are kept, so that each look-up stays short; the tag could not tell more of them apart anyway.
 */
#include "tag/tag_prefixes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define TAG_PREFIXES_SAME  16
#define TAG_PREFIXES_STEPS 4096 /* steps between two looks at the clock */
/* bits of cost: around a decoded path, the table gets all paths within so much */
#define TAG_PREFIXES_NEAR     8
#define TAG_PREFIXES_MAX_COST 60000u
#define TAG_PREFIXES_RESERVED (1u << 22)
/* bits of the filter for each entry; just after the filter has grown, up to twice as many */
#define TAG_PREFIXES_FILTER 16

int tag_prefixes_init(struct tag_prefixes *table, const struct edge_costs *costs, size_t memory)
{
	*table = (struct tag_prefixes){
		.costs = costs, .memory = memory, .allowance = memory, .next = EDGE_COSTS_NEVER};
	table->filter_mask = 1023;
	table->filter = calloc(table->filter_mask + 1, sizeof(*table->filter));
	if (!table->filter || hash_index_grow(&table->index, &table->index) < 0 ||
	    vec_reserve((void **)&table->entries.items, &table->entries.cap, 32,
			sizeof(*table->entries.items)) < 0 ||
	    vec_reserve((void **)&table->cost, &table->cap_cost, 32, sizeof(*table->cost)) < 0) {
		tag_prefixes_release(table);
		return -ENOMEM;
	}
	table->entries.items[0] = (struct tag_prefix){.node = CALLGRAPH_NONE};
	table->cost[0] = 0;
	table->entries.count = 1;
	hash_index_put(&table->index, hash_mix64(0), 0);
	table->filter[0] |= 1;
	table->cursor = 1;
	table->room = 32;
	return 0;
}

void tag_prefixes_release(struct tag_prefixes *table)
{
	free(table->entries.items);
	free(table->cost);
	free(table->index.slot);
	free(table->filter);
	free(table->again.items);
	memset(table, 0, sizeof(*table));
}

/* --- entering ------------------------------------------------------------------------------ */

static void tag_prefixes_mark(struct tag_prefixes *table, uint64_t tag)
{
	table->filter[tag >> 6 & table->filter_mask] |= tag_prefixes_bits(tag);
}

/* Grows the filter to the power of two that `n` entries need, if it is smaller. */
static int grow_filter(struct tag_prefixes *table, size_t n)
{
	uint64_t words = table->filter_mask + 1, *filter;

	while (n * TAG_PREFIXES_FILTER > words * 64)
		words *= 2;
	if (words == table->filter_mask + 1)
		return 0;
	filter = calloc(words, sizeof(*filter));
	if (!filter)
		return -ENOMEM;
	free(table->filter);
	table->filter = filter;
	table->filter_mask = words - 1;
	for (size_t i = 0; i < table->entries.count; i++)
		tag_prefixes_mark(table, table->entries.items[i].tag);
	return 0;
}

static int grow_index(struct tag_prefixes *table, size_t n)
{
	struct hash_index grown = {.mask = table->index.mask};

	while (n * 10 > (grown.mask + 1) * 6)
		grown.mask = grown.mask * 2 + 1;
	if (grown.mask == table->index.mask)
		return 0;
	grown.slot = calloc(grown.mask + 1, sizeof(*grown.slot));
	if (!grown.slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->entries.count; i++)
		hash_index_put(&grown, hash_mix64(table->entries.items[i].tag), i);
	free(table->index.slot);
	table->index = grown;
	return 0;
}

/* Returns the bytes that `n` entries take, while the arrays that they replace still exist. */
static size_t tag_prefixes_memory(const struct tag_prefixes *table, size_t n)
{
	size_t slots = 64, filter = 64;

	while (slots * 6 < n * 10)
		slots *= 2;
	while (filter * 64 < n * TAG_PREFIXES_FILTER)
		filter *= 2;
	return n * (sizeof(struct tag_prefix) + sizeof(*table->cost)) + slots * sizeof(uint32_t) +
	       hash_index_bytes(&table->index) + filter * sizeof(*table->filter);
}

/* Makes room for `n` entries in all. Returns 0, 1 if that takes too much memory, or -ENOMEM. */
static int make_room(struct tag_prefixes *table, size_t n)
{
	int result;

	if (n >= UINT32_MAX - 1 || tag_prefixes_memory(table, n) > table->allowance)
		return 1;
	result = vec_reserve((void **)&table->entries.items, &table->entries.cap, n,
			     sizeof(*table->entries.items));
	if (result == 0)
		result = vec_reserve((void **)&table->cost, &table->cap_cost, n,
				     sizeof(*table->cost));
	if (result == 0)
		result = grow_index(table, n);
	return result < 0 ? result : grow_filter(table, n);
}

/* Makes room for one more entry. Returns 0, 1 if the memory is used up, or -ENOMEM. */
static int reserve(struct tag_prefixes *table)
{
	size_t n = table->entries.count;
	int result;

	if (n < table->room)
		return 0;
	result = make_room(table, n + n / 2 + 64);
	if (result == 0)
		table->room = n + n / 2 + 64;
	table->is_full = table->is_full || result > 0;
	return result;
}

/* Lowers the cost of a path that the table has already, if it was higher, and notes the entry for
 * another expansion. Returns 0 or -ENOMEM. */
static int tag_prefixes_again(struct tag_prefixes *table, uint32_t entry, uint32_t cost)
{
	if (table->cost[entry] <= cost)
		return 0;
	if (VEC_RESERVE(&table->again, 1) < 0)
		return -ENOMEM;
	table->cost[entry] = (uint16_t)cost;
	table->again.items[table->again.count++] = entry;
	return 0;
}

/* Adds a path, unless the table has it. Returns 0, 1 if the table is full, or -ENOMEM. */
static int enter(struct tag_prefixes *table, uint32_t parent, uint32_t node, uint32_t cost,
		 uint32_t *ret_entry)
{
	uint64_t id = callgraph_at(table->costs->graph, node)->id;
	uint64_t tag = hash_chain(table->entries.items[parent].tag, id), hash = hash_mix64(tag);
	unsigned same = 0;
	int err;

	for (size_t at = hash & table->index.mask;
	     tag_prefixes_may_have(table, tag) && table->index.slot[at];
	     at = (at + 1) & table->index.mask) {
		uint32_t entry = table->index.slot[at] - 1;
		const struct tag_prefix *p = &table->entries.items[entry];

		if (p->tag != tag)
			continue;
		*ret_entry = entry;
		if (p->parent == parent && p->node == node)
			return tag_prefixes_again(table, entry, cost);
		if (++same == TAG_PREFIXES_SAME)
			return 0;
	}
	err = reserve(table);
	if (err)
		return err;
	*ret_entry = (uint32_t)table->entries.count;
	table->cost[table->entries.count] = (uint16_t)cost;
	table->entries.items[table->entries.count++] = (struct tag_prefix){tag, node, parent};
	hash_index_put(&table->index, hash, *ret_entry);
	tag_prefixes_mark(table, tag);
	return 0;
}

int tag_prefixes_root(struct tag_prefixes *table, uint32_t node, uint32_t cost)
{
	uint32_t entry;
	int err = enter(table, 0, node, cost, &entry);

	return err < 0 ? err : 0;
}

/* --- growing ------------------------------------------------------------------------------- */

static void left_out(struct tag_prefixes *table, uint32_t cost)
{
	if (cost < table->next)
		table->next = cost;
}

/* Adds the callees of `node` to an entry's path. `node` is the entry's last node, or a transparent
 * node below it. */
static int expand_row(struct tag_prefixes *table, uint32_t entry, uint32_t node, uint32_t base,
		      size_t *steps)
{
	const struct edge_costs *costs = table->costs;
	uint32_t count, first, child;
	const uint32_t *callees = callgraph_callees(costs->graph, node, &count, &first);
	int result = 0;

	*steps += count;
	for (uint32_t i = 0; result == 0 && i < count; i++) {
		const struct callgraph_node *callee = callgraph_at(costs->graph, callees[i]);
		uint32_t cost = base + costs->down[first + i];

		if (callee->is_leaf ||
		    (callee->is_transparent && costs->min_down[callees[i]] == EDGE_COSTS_NEVER))
			continue;
		if (cost > table->target)
			left_out(table, cost);
		else if (callee->is_transparent)
			result = expand_row(table, entry, callees[i], cost, steps);
		else
			result = enter(table, entry, callees[i], cost, &child);
	}
	return result;
}

static int expand(struct tag_prefixes *table, uint32_t entry, size_t *steps)
{
	uint32_t node = table->entries.items[entry].node, cost = table->cost[entry];
	uint32_t least;

	++*steps;
	if (node == CALLGRAPH_NONE)
		return 0;
	least = table->costs->min_down[node];
	if (least == EDGE_COSTS_NEVER)
		return 0;
	if (cost + least > table->target) {
		left_out(table, cost + least);
		return 0;
	}
	return expand_row(table, entry, node, cost, steps);
}

/* Expands the remaining entries. Returns 0; 1: stopped, or the table is full; -ENOMEM. */
static int tag_prefixes_run(struct tag_prefixes *table, const struct tag_prefixes_stop *stop)
{
	size_t steps = 0;
	int result = 0;

	while (result == 0 && (table->again.count || table->cursor < table->entries.count)) {
		uint32_t entry = table->again.count ? table->again.items[--table->again.count]
						    : (uint32_t)table->cursor++;

		result = expand(table, entry, &steps);
		if (result == 0 && steps >= TAG_PREFIXES_STEPS) {
			steps = 0;
			result = stop->is_over(stop->arg);
		}
	}
	return result;
}

/* Reserves memory before the limit grows by `wider`: about 2^bits times the entries. Returns 0,
 * also if that is too much, or -ENOMEM. */
static int reserve_wider(struct tag_prefixes *table, uint32_t wider)
{
	size_t n = table->entries.count;
	unsigned bits = wider / EDGE_COSTS_BIT;
	int result;

	if (bits > 16 || n << bits < table->room || n << bits > TAG_PREFIXES_RESERVED)
		return 0;
	result = make_room(table, n << bits);
	if (result == 0)
		table->room = n << bits;
	return result < 0 ? result : 0;
}

int tag_prefixes_grow(struct tag_prefixes *table, uint32_t limit,
		      const struct tag_prefixes_stop *stop)
{
	int result;

	if (table->is_full)
		return 0;
	table->allowance = table->memory / 4 * 3;
	if (limit > TAG_PREFIXES_MAX_COST)
		limit = TAG_PREFIXES_MAX_COST;
	if (table->cursor == table->entries.count && limit > table->target) {
		result = reserve_wider(table, limit - table->target);
		if (result < 0)
			return result;
		table->target = limit;
		table->next = EDGE_COSTS_NEVER;
		table->cursor = 0;
	}
	result = tag_prefixes_run(table, stop);
	if (result == 0)
		table->limit = table->target;
	if (result > 0 && table->is_full) {
		table->cursor = table->entries.count;
		table->next = table->limit; /* something below the limit was left out */
		result = 0;
	}
	return result;
}

int tag_prefixes_learn(struct tag_prefixes *table, const uint32_t *nodes, size_t n,
		       const struct tag_prefixes_stop *stop)
{
	uint32_t near = TAG_PREFIXES_NEAR * EDGE_COSTS_BIT, entry = 0;
	uint32_t cost = table->target > near ? table->target - near : 0;
	int result = 0;

	/* Learned paths may use all the memory: tag_prefixes_grow() leaves a quarter of it for
	 * them. */
	table->allowance = table->memory;
	for (size_t i = 0; result == 0 && i < n; i++)
		result = enter(table, entry, nodes[i], cost, &entry);
	if (result == 0)
		result = tag_prefixes_run(table, stop);
	if (result > 0 && table->is_full)
		result = 0;
	return result;
}

/* --- look-ups --------------------------------------------------------------------------------- */

size_t tag_prefixes_find(const struct tag_prefixes *table, uint64_t tag, uint32_t *ret_entries,
			 size_t max)
{
	size_t at = hash_mix64(tag) & table->index.mask, n = 0;

	for (; table->index.slot[at] && n < max; at = (at + 1) & table->index.mask)
		if (table->entries.items[table->index.slot[at] - 1].tag == tag)
			ret_entries[n++] = table->index.slot[at] - 1;
	return n;
}

size_t tag_prefixes_path(const struct tag_prefixes *table, uint32_t entry, uint32_t *ret_nodes,
			 size_t max)
{
	size_t n = 0, at;

	for (uint32_t e = entry; e; e = table->entries.items[e].parent)
		n++;
	at = n;
	for (uint32_t e = entry; e; e = table->entries.items[e].parent)
		if (--at < max)
			ret_nodes[at] = table->entries.items[e].node;
	return n;
}
