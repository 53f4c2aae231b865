/* SPDX-License-Identifier: MIT */
/* The hashed trie: sharing, tags, collisions resolved, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "stack/tag_trie.h"

static uint32_t tag_trie_enter(struct tag_trie *t, uint32_t parent, uint32_t location, uint64_t id)
{
	uint32_t node = UINT32_MAX;

	assert_int_equal(tag_trie_child(t, parent, location, id, &node), 0);
	return node;
}

static void tag_trie_paths_share_their_roots(void **state)
{
	struct tag_trie *t;
	uint32_t main_node, left, right;

	(void)state;
	assert_int_equal(tag_trie_new(&t), 0);
	assert_int_equal(tag_trie_count(t), 1);
	assert_int_equal(tag_trie_at(t, TAG_TRIE_ROOT)->location, UINT32_MAX);
	main_node = tag_trie_enter(t, TAG_TRIE_ROOT, 0, 1000);
	left = tag_trie_enter(t, main_node, 1, 2000);
	right = tag_trie_enter(t, main_node, 2, 3000);
	assert_int_equal(main_node, 1);
	assert_int_equal(left, 2);
	assert_int_equal(right, 3);
	assert_int_equal(tag_trie_enter(t, main_node, 1, 2000), left);
	assert_int_equal(tag_trie_count(t), 4);
	assert_true(tag_trie_at(t, left)->tag == ((UINT64_C(1000) * 11) ^ 2000));
	assert_true(hash_unchain(tag_trie_at(t, left)->tag, 2000) == 1000);
	assert_int_equal(tag_trie_find(t, tag_trie_at(t, right)->tag), right);
	assert_int_equal(tag_trie_find(t, 0), TAG_TRIE_ROOT);
	assert_int_equal(tag_trie_find(t, 4711), UINT32_MAX);
	assert_int_equal(tag_trie_collisions(t), 0);
	tag_trie_free(t);
	tag_trie_free(NULL);
}

/* For any parent and tag there is an id that chains to that tag: tag ^ (parent's tag * 11). */
static uint64_t tag_trie_id_for(const struct tag_trie *t, uint32_t parent, uint64_t tag)
{
	return tag ^ (tag_trie_at(t, parent)->tag * 11);
}

static void tag_trie_collisions_stay_apart(void **state)
{
	const uint64_t tag = UINT64_C(0xfeedfacecafebeef);
	struct tag_trie *t;
	uint32_t parents[50], nodes[50];

	(void)state;
	assert_int_equal(tag_trie_new(&t), 0);
	for (uint32_t i = 0; i < 50; i++) {
		parents[i] = tag_trie_enter(t, TAG_TRIE_ROOT, i, hash_mix64(i + 1));
		nodes[i] =
			tag_trie_enter(t, parents[i], 100 + i, tag_trie_id_for(t, parents[i], tag));
		assert_true(tag_trie_at(t, nodes[i])->tag == tag);
	}
	assert_int_equal(tag_trie_count(t), 101);
	assert_int_equal(tag_trie_collisions(t), 49);
	for (uint32_t i = 0; i < 1000; i++) /* the index doubles a few times */
		tag_trie_enter(t, nodes[0], 1000 + i, hash_mix64(5000 + i));
	for (uint32_t i = 0; i < 50; i++) {
		uint64_t id = tag_trie_id_for(t, parents[i], tag);

		assert_int_equal(tag_trie_enter(t, parents[i], 100 + i, id), nodes[i]);
		assert_int_equal(tag_trie_at(t, nodes[i])->parent, parents[i]);
	}
	assert_int_equal(tag_trie_collisions(t), 49);
	assert_int_equal(tag_trie_find(t, tag), nodes[0]);
	tag_trie_free(t);
}

/* One parent, two locations with one id: two nodes, one collision. */
static void tag_trie_locations_with_one_id(void **state)
{
	struct tag_trie *t;
	uint32_t a, b;

	(void)state;
	assert_int_equal(tag_trie_new(&t), 0);
	a = tag_trie_enter(t, TAG_TRIE_ROOT, 1, 42);
	b = tag_trie_enter(t, TAG_TRIE_ROOT, 2, 42);
	assert_int_not_equal(a, b);
	assert_int_equal(tag_trie_collisions(t), 1);
	assert_int_equal(tag_trie_enter(t, TAG_TRIE_ROOT, 2, 42), b);
	tag_trie_free(t);
}

/* A path whose tag is 0 collides with the empty path. */
static void tag_trie_tag_zero(void **state)
{
	struct tag_trie *t;
	uint32_t a, b;

	(void)state;
	assert_int_equal(tag_trie_new(&t), 0);
	a = tag_trie_enter(t, TAG_TRIE_ROOT, 1, 42);
	b = tag_trie_enter(t, a, 2, 42 * 11);
	assert_true(tag_trie_at(t, b)->tag == 0);
	assert_int_equal(tag_trie_collisions(t), 1);
	assert_int_equal(tag_trie_enter(t, a, 2, 42 * 11), b);
	assert_int_equal(tag_trie_find(t, 0), TAG_TRIE_ROOT);
	tag_trie_free(t);
}

/* Prefetched or not, and of whatever is not there, a child is the same. */
static void tag_trie_prefetched_children(void **state)
{
	struct tag_trie *t;
	uint32_t node = TAG_TRIE_ROOT;
	uint64_t ids[200];

	(void)state;
	assert_int_equal(tag_trie_new(&t), 0);
	tag_trie_prefetch(t, TAG_TRIE_ROOT, NULL, 0);
	for (uint32_t i = 0; i < 200; i++)
		ids[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
	tag_trie_prefetch_index(t, 0, ids, 200);
	tag_trie_prefetch(t, TAG_TRIE_ROOT, ids, 200);
	for (uint32_t i = 0; i < 200; i++)
		node = tag_trie_enter(t, node, i, ids[i]);
	assert_int_equal(node, 200);
	tag_trie_prefetch(t, 100, ids + 100, 100);
	assert_int_equal(tag_trie_enter(t, 100, 100, ids[100]), 101);
	assert_int_equal(tag_trie_count(t), 201);
	tag_trie_free(t);
}

static void tag_trie_memory_within_40_bytes(void **state)
{
	enum { COUNT = 300000 };
	struct tag_trie *t;
	uint32_t parent = TAG_TRIE_ROOT;

	(void)state;
	assert_int_equal(tag_trie_new(&t), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t node = tag_trie_enter(t, parent, i, hash_mix64(i));

		assert_int_equal(node, i + 1);
		parent = i % 50 ? node : node / 2;
		if (i >= 1000)
			assert_true(tag_trie_memory_bytes(t) <= 40 * (size_t)tag_trie_count(t));
	}
	for (uint32_t n = 1; n < tag_trie_count(t); n++) {
		const struct tag_trie_node *node = tag_trie_at(t, n);
		uint64_t tag =
			hash_chain(tag_trie_at(t, node->parent)->tag, hash_mix64(node->location));

		assert_true(node->parent < n);
		assert_true(node->tag == tag);
	}
	tag_trie_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tag_trie_paths_share_their_roots),
		cmocka_unit_test(tag_trie_collisions_stay_apart),
		cmocka_unit_test(tag_trie_locations_with_one_id),
		cmocka_unit_test(tag_trie_tag_zero),
		cmocka_unit_test(tag_trie_prefetched_children),
		cmocka_unit_test(tag_trie_memory_within_40_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
