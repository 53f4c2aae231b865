/* SPDX-License-Identifier: MIT */
/*
 * The hashed trie: one array of 16-byte nodes, and an index of their numbers by tag.
 *
 *   nodes   [0] empty path   [1] {tag, parent, location}   [2] ...
 *   index   tag & mask -> node number + 1, marked, linear probing (base/hash_index.h)
 *
 * Looking a child up computes its tag (one multiplication and one xor) and probes once; a hit
 * compares tag, parent and location, all in one 16-byte node. The parent is compared too, so that
 * two paths with one tag stay two nodes: merging them would put time into a path that was never
 * taken. The empty path stands in no slot: nobody looks it up as a child.
 *
 * Memory: nodes grow by a quarter at a time (16 to 20 bytes a node; realloc() of a large block
 * moves pages, not bytes), the index costs 6 to 12: at most 32 bytes a node.
 */
#include "stack/tag_trie.h"

#include "base/hash.h"
#include "base/vec.h"
#include "base/hash_index.h"

struct tag_trie {
	struct tag_trie_node *nodes;
	uint32_t count;
	uint32_t cap;
	struct hash_index index;
	uint64_t collisions;
};

#define TAG_TRIE_FIRST_CAP 64u
/* nodes: tag_trie_prefetch() prefetches index slots so many nodes ahead of the nodes themselves */
#define TAG_TRIE_AHEAD 16u

/* Makes a trie of the empty path alone. 0 or -ENOMEM. */
static int make_empty(struct tag_trie *ret_trie)
{
	struct tag_trie trie = {.cap = TAG_TRIE_FIRST_CAP, .count = 1};

	trie.nodes = calloc(TAG_TRIE_FIRST_CAP, sizeof(*trie.nodes));
	if (!trie.nodes || hash_index_grow(&trie.index, &trie.index) < 0) {
		free(trie.nodes);
		return -ENOMEM;
	}
	trie.nodes[TAG_TRIE_ROOT] = (struct tag_trie_node){.location = UINT32_MAX};
	*ret_trie = trie;
	return 0;
}

int tag_trie_new(struct tag_trie **ret_trie)
{
	struct tag_trie *trie = calloc(1, sizeof(*trie));

	if (!trie || make_empty(trie) < 0) {
		free(trie);
		return -ENOMEM;
	}
	*ret_trie = trie;
	return 0;
}

int tag_trie_clear(struct tag_trie *trie)
{
	struct tag_trie empty;
	int err = make_empty(&empty);

	if (err < 0)
		return err;
	empty.collisions = trie->collisions;
	free(trie->nodes);
	free(trie->index.slot);
	*trie = empty;
	return 0;
}

void tag_trie_free(struct tag_trie *trie)
{
	if (!trie)
		return;
	free(trie->nodes);
	free(trie->index.slot);
	free(trie);
}

static int grow_index(struct tag_trie *trie)
{
	struct hash_index grown;
	int err = hash_index_grow(&trie->index, &grown);

	if (err < 0)
		return err;
	for (uint32_t i = 1; i < trie->count; i++) {
		if (i + TAG_TRIE_AHEAD < trie->count)
			__builtin_prefetch(
				&grown.slot[trie->nodes[i + TAG_TRIE_AHEAD].tag & grown.mask], 1);
		hash_index_put_marked(&grown, trie->nodes[i].tag, i);
	}
	free(trie->index.slot);
	trie->index = grown;
	return 0;
}

static int grow_nodes(struct tag_trie *trie)
{
	size_t cap = trie->cap + (size_t)trie->cap / 4;
	struct tag_trie_node *nodes;

	if (trie->cap == UINT32_MAX)
		return -EOVERFLOW;
	if (cap > UINT32_MAX)
		cap = UINT32_MAX;
	nodes = vec_resize(trie->nodes, cap, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	trie->nodes = nodes;
	trie->cap = (uint32_t)cap;
	return 0;
}

/* Adds a node that a probe did not find. `shares_tag`: an older node has the same tag. */
static int tag_trie_add(struct tag_trie *trie, const struct tag_trie_node *node, bool shares_tag,
			uint32_t *ret_node)
{
	int err;

	if (trie->count == trie->cap) {
		err = grow_nodes(trie);
		if (err < 0)
			return err;
	}
	if (hash_index_full(&trie->index)) {
		err = grow_index(trie);
		if (err < 0)
			return err;
	}
	trie->nodes[trie->count] = *node;
	hash_index_put_marked(&trie->index, node->tag, trie->count);
	trie->collisions += shares_tag;
	*ret_node = trie->count++;
	return 0;
}

int tag_trie_child(struct tag_trie *trie, uint32_t parent, uint32_t location, uint64_t id,
		   uint32_t *ret_node)
{
	const struct hash_index *index = &trie->index;
	struct tag_trie_node node = {
		.tag = hash_chain(trie->nodes[parent].tag, id),
		.parent = parent,
		.location = location,
	};
	const uint32_t mark = hash_index_mark(index, node.tag);
	bool shares_tag = node.tag == 0; /* the empty path has tag 0, too */

	for (size_t at = node.tag & index->mask; index->slot[at]; at = (at + 1) & index->mask) {
		uint32_t number = hash_index_number(index, index->slot[at]);
		const struct tag_trie_node *n = &trie->nodes[number];

		if (!hash_index_agrees(index, index->slot[at], mark) || n->tag != node.tag)
			continue;
		if (n->parent == parent && n->location == location) {
			*ret_node = number;
			return 0;
		}
		shares_tag = true;
	}
	return tag_trie_add(trie, &node, shares_tag, ret_node);
}

bool tag_trie_next_is_child(const struct tag_trie *trie, uint32_t parent, uint32_t location)
{
	const struct tag_trie_node *next = &trie->nodes[parent + 1];

	return parent + 1 < trie->count && next->parent == parent && next->location == location;
}

#define TAG_TRIE_PREFETCH_MAX 64u

void tag_trie_prefetch(const struct tag_trie *trie, uint32_t parent, const uint64_t *ids,
		       size_t count)
{
	const struct hash_index *index = &trie->index;
	uint64_t tag = trie->nodes[parent].tag;
	uint64_t tags[TAG_TRIE_PREFETCH_MAX];

	if (count > TAG_TRIE_PREFETCH_MAX)
		count = TAG_TRIE_PREFETCH_MAX;
	for (size_t i = 0; i < count; i++) {
		tags[i] = tag = hash_chain(tag, ids[i]);
		__builtin_prefetch(&index->slot[tag & index->mask]);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t slot = index->slot[tags[i] & index->mask];

		if (slot && hash_index_agrees(index, slot, hash_index_mark(index, tags[i])))
			__builtin_prefetch(&trie->nodes[hash_index_number(index, slot)]);
	}
}

void tag_trie_prefetch_index(const struct tag_trie *trie, uint64_t tag, const uint64_t *ids,
			     size_t count)
{
	const struct hash_index *index = &trie->index;

	while (count--) {
		tag = hash_chain(tag, ids[count]);
		__builtin_prefetch(&index->slot[tag & index->mask]);
	}
}

const struct tag_trie_node *tag_trie_at(const struct tag_trie *trie, uint32_t node)
{
	return &trie->nodes[node];
}

uint32_t tag_trie_find(const struct tag_trie *trie, uint64_t tag)
{
	const struct hash_index *index = &trie->index;

	if (tag == 0)
		return TAG_TRIE_ROOT;
	for (size_t at = tag & index->mask; index->slot[at]; at = (at + 1) & index->mask) {
		uint32_t number = hash_index_number(index, index->slot[at]);

		if (trie->nodes[number].tag == tag)
			return number;
	}
	return UINT32_MAX;
}

uint32_t tag_trie_count(const struct tag_trie *trie)
{
	return trie->count;
}

uint64_t tag_trie_collisions(const struct tag_trie *trie)
{
	return trie->collisions;
}

size_t tag_trie_memory_bytes(const struct tag_trie *trie)
{
	return sizeof(*trie) + trie->cap * sizeof(*trie->nodes) + hash_index_bytes(&trie->index);
}
