/* SPDX-License-Identifier: MIT */
/* A tree of large nodes alone has exactly the large nodes of the complete tree. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "fake_store.h"
#include "tree/calltree.h"

#define FUNCTIONS 12u
#define LOCATIONS 60u
#define NODES	  6000u
#define ORIGINS	  4u

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)((hash_mix64(random_state) >> 32) * n >> 32);
}

/* Random paths: several call sites to a function, some with functions inlined, few functions, so
 * that many trie nodes meet in one of the tree. */
static struct store_reader *make_random(uint64_t seed)
{
	static char names[FUNCTIONS][8];
	static const struct origin_run runs[ORIGINS] = {{1, FRAME_SOURCE_ALIGNED, 90},
							{3, FRAME_SOURCE_ALIGNED, 80},
							{40, FRAME_SOURCE_ALIGNED, 70},
							{2, FRAME_SOURCE_WALKED, 100}};
	uint32_t origins[ORIGINS];
	struct recording r = fake_recording();
	uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog"), thread;

	random_state = seed;
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		snprintf(names[i], sizeof(names[i]), "f%u", i);
	for (uint32_t i = 0; i < LOCATIONS; i++) {
		add_location(&r, prog, 0x1000 + i * 16, true);
		for (uint32_t k = below(4) ? 0 : 1 + below(2); k > 0; k--)
			add_line(&r, names[below(FUNCTIONS)], 0, true);
		add_line(&r, names[i % FUNCTIONS], 0x1000, false);
	}
	thread = add_thread(&r, add_process(&r, 12, "prog"), 12, "prog");
	for (uint32_t i = 0; i < ORIGINS; i++)
		origins[i] = add_origin(&r, &runs[i], 1, i % 2);
	for (uint32_t i = 0; i < NODES; i++) {
		/* near the root, or below the newest node: wide and deep */
		uint32_t n = r.n_nodes, parent = below(3) ? below(n < 40 ? n : 40) : n - 1;
		uint32_t node = add_node(&r, parent, below(LOCATIONS));

		if (below(2))
			add_samples(&r, thread, node,
				    below(8) ? STACKD_END_ENTRY : STACKD_END_NO_RECIPE,
				    1 + below(20));
		if (!below(6))
			add_inferred(&r, thread, node, STACKD_END_NO_RECIPE,
				     origins[below(ORIGINS)], 1 + below(40));
	}
	add_samples(&r, thread, 0, STACKD_END_NO_USER, 30);
	return fake_reader(&r);
}

static uint32_t find(const struct calltree_node *nodes, uint32_t parent, uint32_t key)
{
	uint32_t at = nodes[parent].first_child;

	while (at != CALLTREE_NONE && nodes[at].key != key)
		at = nodes[at].next_sibling;
	return at;
}

/* Compares the subtrees of two corresponding nodes; returns the number of large nodes. */
static uint32_t compare(const struct calltree_node *all, uint32_t w,
			const struct calltree_node *part, uint32_t p, double least)
{
	uint32_t n_all = 0, n_part = 0, large = 1;

	assert_int_equal(all[w].samples, part[p].samples);
	assert_int_equal(all[w].inferred, part[p].inferred);
	if ((double)all[w].samples < least)
		return 0;
	assert_int_equal(all[w].self, part[p].self);
	for (uint32_t at = all[w].first_child; at != CALLTREE_NONE; at = all[at].next_sibling) {
		uint32_t same = find(part, p, all[at].key);

		assert_int_not_equal(same, CALLTREE_NONE);
		large += compare(all, at, part, same, least);
		n_all++;
	}
	for (uint32_t at = part[p].first_child; at != CALLTREE_NONE; at = part[at].next_sibling)
		n_part++;
	assert_int_equal(n_all, n_part);
	return large;
}

/* Makes a tree of one entry of each `each`. With `ends` (NULL: none) paths without a mark end where
 * that says. */
static struct calltree *make_part(struct profile *p, double least, size_t each,
				  const uint32_t *ends)
{
	size_t n_all, n = 0;
	const struct profile_entry *all = profile_entries(p, &n_all);
	struct profile_entry *entries = calloc(n_all + 1, sizeof(*entries));
	uint32_t *order = calloc(n_all, sizeof(*order));
	struct subtree_entries of = {entries, order, 0};
	struct subtree_maker *maker;
	struct subtree subtree = {0};
	struct calltree *tree;

	assert_non_null(order);
	for (size_t i = 0; i < n_all; i += each) {
		order[n] = (uint32_t)n;
		entries[n] = all[i];
		if (ends && !profile_entry_mark(p, &all[i]))
			entries[n].node = ends[all[i].node];
		n++;
	}
	of.n = n;
	assert_int_equal(calltree_new(p, CALLTREE_BY_SYMBOL, &tree), 0);
	assert_int_equal(subtree_maker_new(p, &maker), 0);
	for (int again = 0; again < 2; again++) {
		calltree_clear(tree);
		for (size_t i = 0; least == 0 && i < n; i++)
			assert_int_equal(calltree_add(tree, &entries[i]), 0);
		assert_int_equal(subtree_make(maker, &of, &subtree), 0);
		if (least > 0)
			assert_int_equal(calltree_add_large(tree, &of, &subtree, least), 0);
		calltree_sum(tree);
	}
	subtree_maker_free(maker);
	subtree_free(&subtree);
	free(order);
	free(entries);
	return tree;
}

static struct calltree *make_tree(struct profile *p, double least)
{
	return make_part(p, least, 1, NULL);
}

/* A part's tree is the same, node for node, if paths end where all of the profile has a small node.
 */
static void check_ends(struct profile *p, const struct calltree *all, double least)
{
	uint32_t *ends, n, n_short, cut = 0;

	assert_int_equal(calltree_ends(all, least, &ends), 0);
	for (uint32_t i = 1; i < profile_tables(p)->n_nodes; i++)
		cut += ends[i] != i;
	assert_true(least < 30 || cut > 0);
	for (size_t each = 1; each < 6; each += 2) {
		struct calltree *tree = make_part(p, least, each, NULL);
		struct calltree *ended = make_part(p, least, each, ends);
		const struct calltree_node *a = calltree_nodes(tree, &n),
					   *b = calltree_nodes(ended, &n_short);

		assert_int_equal(n, n_short);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(a[i].symbol, b[i].symbol);
			assert_int_equal(a[i].parent, b[i].parent);
			assert_int_equal(a[i].samples, b[i].samples);
			assert_int_equal(a[i].self, b[i].self);
			assert_int_equal(a[i].inferred, b[i].inferred);
		}
		calltree_free(tree);
		calltree_free(ended);
	}
	free(ends);
}

/* `with_inferred`: inferred frames are shown. */
static void check(struct profile_filter filter, uint64_t seed, bool with_inferred)
{
	struct store_reader *f = make_random(seed);
	struct profile *p;
	struct calltree *all;
	uint32_t n_all, n_part;

	filter.no_reconstructed = !with_inferred;
	assert_int_equal(profile_new(f, &filter, &p), 0);
	assert_true(calltree_can_add_large(p));
	all = make_tree(p, 0);
	calltree_nodes(all, &n_all);
	for (double least = 1; least < 3000; least *= 2.5) {
		struct calltree *part = make_tree(p, least);
		const struct calltree_node *nodes = calltree_nodes(part, &n_part);
		uint32_t n = compare(calltree_nodes(all, &n_all), 0, nodes, 0, least);

		assert_true(n > 0 && n_part <= n_all);
		assert_true(least < 30 || n_part < n_all);
		if (!filter.max_depth)
			check_ends(p, all, least);
		calltree_free(part);
	}
	calltree_free(all);
	profile_free(p);
	fake_free(f);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++)
		check((struct profile_filter){0}, seed, seed % 2);
}

static void test_filters(void **state)
{
	static const struct profile_filter folded = {.fold_recursion = true};
	struct store_reader *f = make_random(7);
	struct profile *p;

	(void)state;
	check((struct profile_filter){.no_inlined = true}, 6, true);
	check((struct profile_filter){.max_depth = 4}, 8, true);
	assert_int_equal(profile_new(f, &folded, &p), 0);
	assert_false(
		calltree_can_add_large(p)); /* levels of functions differ from levels of the trie */
	profile_free(p);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
