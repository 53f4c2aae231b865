/* SPDX-License-Identifier: MIT */
/*
 * The half of the search that goes down from the roots: a table of call paths by tag, which grows
 * from likely paths to unlikely ones. It is kept from tag to tag, so paths that the search of one
 * tag added are there for the next, and decoded paths are new starting points.
 *
 *   entry 0                     the empty path, tag 0
 *   entry n: tag, last node, entry of the path without it, cost
 *
 * All paths whose cost (edge_costs.h) is within `limit` are there, unless memory ran out. A filter
 * of two bits a tag answers nearly all look-ups of the other half without touching the table.
 */
#ifndef TAG_TAG_PREFIXES_H
#define TAG_TAG_PREFIXES_H

#include "base/vec.h"
#include "base/hash_index.h"
#include "tag/edge_costs.h"

struct tag_prefix {
	uint64_t tag;
	uint32_t node; /* CALLGRAPH_NONE for the empty path */
	uint32_t parent;
};

struct tag_prefixes {
	const struct edge_costs *costs;
	VEC(struct tag_prefix) entries;
	uint16_t *cost; /* by entry; allocated together with `entries` */
	size_t cap_cost;
	struct hash_index index;
	uint64_t *filter;
	uint64_t filter_mask; /* number of words - 1 */
	size_t room;	      /* entries that the allocated arrays have room for */
	size_t memory;	      /* most bytes that the table may take */
	size_t allowance;     /* most bytes for the current operation */
	/* limit: all paths up to this cost are in the table; target: the limit to which the table
	 * is growing */
	uint32_t limit, target;
	uint32_t next; /* cost of the cheapest path that is not within the target */
	/* index of the next entry to expand; entries.count: growing is done */
	size_t cursor;
	bool is_full;	     /* its memory is used up, so it does not grow any more */
	VEC(uint32_t) again; /* entries that became cheaper while growing */
};

/* A long operation calls is_over() every few thousand steps, and stops if it returns true. */
struct tag_prefixes_stop {
	bool (*is_over)(void *arg);
	void *arg;
};

/* Makes an empty table that takes at most `memory` bytes; `costs` is borrowed. Returns 0 or
 * -ENOMEM. */
int tag_prefixes_init(struct tag_prefixes *table, const struct edge_costs *costs, size_t memory);

/* Frees what the table holds, but not the struct. */
void tag_prefixes_release(struct tag_prefixes *table);

/* Adds a path of one node. Returns 0 or -ENOMEM. */
int tag_prefixes_root(struct tag_prefixes *table, uint32_t node, uint32_t cost);

/* Grows the table until it has all paths within `limit`; if an earlier call was stopped, completes
 * that call's limit first and does no more. Returns 0; 1: stopped; -ENOMEM. A full table is no
 * error, but sets is_full. */
int tag_prefixes_grow(struct tag_prefixes *table, uint32_t limit,
		      const struct tag_prefixes_stop *stop);

/* Adds a decoded path, root first, and paths near it. Errors as tag_prefixes_grow(). */
int tag_prefixes_learn(struct tag_prefixes *table, const uint32_t *nodes, size_t n,
		       const struct tag_prefixes_stop *stop);

/* Returns a tag's two bits in its word of the filter. */
static inline uint64_t tag_prefixes_bits(uint64_t tag)
{
	return UINT64_C(1) << (tag & 63) | UINT64_C(1) << (tag >> 58);
}

/* Returns false if the table certainly lacks the tag; true: tag_prefixes_find() must look it up. */
static inline bool tag_prefixes_may_have(const struct tag_prefixes *table, uint64_t tag)
{
	return !(tag_prefixes_bits(tag) & ~table->filter[tag >> 6 & table->filter_mask]);
}

/* Prefetches the words that tag_prefixes_may_have() will read. */
static inline void tag_prefixes_fetch(const struct tag_prefixes *table, uint64_t tag)
{
	__builtin_prefetch(&table->filter[tag >> 6 & table->filter_mask]);
}

/* Gives the entries with a tag, at most `max` of them. */
size_t tag_prefixes_find(const struct tag_prefixes *table, uint64_t tag, uint32_t *ret_entries,
			 size_t max);

/* Writes up to `max` nodes of an entry's path, root first, to `ret_nodes`. Returns the number of
 * nodes of the whole path. */
size_t tag_prefixes_path(const struct tag_prefixes *table, uint32_t entry, uint32_t *ret_nodes,
			 size_t max);

#endif
