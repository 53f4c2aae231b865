/* SPDX-License-Identifier: MIT */
/*
 * The hashed trie: call paths that share their root part share its nodes, and every node is named
 * by the 64-bit tag of the path from the root to it (Besnard et al., "Exploring space-time
 * trade-off in backtraces", 2019; the chain is base/hash.h's).
 *
 *   node 0 is the empty path (tag 0, no location)
 *   node n: parent (a smaller number), location, tag = MIX(tag(parent), id(location))
 *
 * A tag is a hash: two paths can share one. Nodes are found by tag and then compared by (parent,
 * location), so paths with the same tag get nodes of their own; each such event is counted.
 */
#ifndef STACK_TAG_TRIE_H
#define STACK_TAG_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tag_trie;

#define TAG_TRIE_ROOT 0u

struct tag_trie_node {
	uint64_t tag;
	uint32_t parent;
	uint32_t location;
};

int tag_trie_new(struct tag_trie **ret_trie); /* returns 0 or -ENOMEM */

/* Frees the trie; NULL is fine. */
void tag_trie_free(struct tag_trie *trie);

/* Removes all nodes but the empty path and frees their memory. The count of collisions goes on. 0,
 * or -ENOMEM with the trie unchanged. */
int tag_trie_clear(struct tag_trie *trie);

/* Gives the child of `parent` by `location`, and adds it if it is new. `id` is the location's
 * location_id(). Returns 0; -ENOMEM or -EOVERFLOW (2^32 - 1 nodes) leave the trie unchanged. */
int tag_trie_child(struct tag_trie *trie, uint32_t parent, uint32_t location, uint64_t id,
		   uint32_t *ret_node);

/* Returns whether node parent + 1 is the child of `parent` by `location`. It mostly is, because
 * most children were added right after their parents, so this saves a look-up. */
bool tag_trie_next_is_child(const struct tag_trie *trie, uint32_t parent, uint32_t location);

/* Prefetches the index slots and nodes of a chain of children that will be looked up next: a child
 * of `parent` by the first id, a child of that node by the second, and so on. Their cache misses
 * overlap, while the misses of single look-ups would add up. */
void tag_trie_prefetch(const struct tag_trie *trie, uint32_t parent, const uint64_t *ids,
		       size_t count);

/* Prefetches only the index slots of such a chain, which begins below the path with this tag; `ids`
 * are in order from the last child to the first. No node must exist yet, so it can run long before
 * the look-ups. */
void tag_trie_prefetch_index(const struct tag_trie *trie, uint64_t tag, const uint64_t *ids,
			     size_t count);

/* Returns a node, which lives until the next tag_trie_child(). `node` must be below
 * tag_trie_count(). */
const struct tag_trie_node *tag_trie_at(const struct tag_trie *trie, uint32_t node);

/* Returns the first node with this tag (the oldest, if several share it); UINT32_MAX for none. */
uint32_t tag_trie_find(const struct tag_trie *trie, uint64_t tag);

uint32_t tag_trie_count(const struct tag_trie *trie);	   /* nodes, with the empty path */
uint64_t tag_trie_collisions(const struct tag_trie *trie); /* nodes whose tag an older node has */
size_t tag_trie_memory_bytes(const struct tag_trie *trie); /* allocated for nodes and index */

#endif
