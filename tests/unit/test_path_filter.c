/* SPDX-License-Identifier: MIT */
/* Filters: patterns of names, and which samples of a recording they choose. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "fake_store.h"
#include "tree/calltree.h"
#include "model/frame_kind.h"
#include "model/pattern.h"
#include "model/profile.h"

static void test_patterns(void **state)
{
	(void)state;
	assert_true(pattern_is_function("main", "main"));
	assert_false(pattern_is_function("main", "domain"));
	assert_true(pattern_is_function("*main", "domain"));
	assert_true(pattern_is_function("m?in", "main"));
	assert_true(pattern_is_function("a::b", "a::b(int, c<(d)1>) const"));
	assert_true(pattern_is_function("a::*", "a::b(int)"));
	assert_false(pattern_is_function("a::b", "a::bc(int)"));
	assert_true(pattern_is_function("operator[]", "operator[](int)"));
	assert_true(pattern_is_function("a::operator()", "a::operator()(int) const"));
	assert_true(pattern_is_function("*a*a*a*b", "aaaaaaaaaaaaab"));
	assert_false(pattern_is_function("*a*a*a*b", "aaaaaaaaaaaaac"));
	assert_true(pattern_is_function("*", ""));
	assert_false(pattern_is_function("?", ""));
	assert_true(pattern_is_object("libc.so.6", "/lib/libc.so.6"));
	assert_true(pattern_is_object("/lib/*", "/lib/libc.so.6"));
	assert_true(pattern_is_object("[kernel*", "[kernel.kallsyms]"));
	assert_false(pattern_is_object("libc", "/lib/libc.so.6"));
}

static bool matches(const char *pattern, const char *name, enum frame_kind kind)
{
	return profile_symbol_matches(&(struct profile_symbol){.name = name, .kind = (uint8_t)kind},
				      pattern);
}

/* What is in angle brackets is an argument of a template in C++ alone. */
static void test_patterns_by_kind(void **state)
{
	(void)state;
	assert_true(matches("get", "get<int>", FRAME_NATIVE));
	assert_true(matches("block in ", "block in <main>", FRAME_NATIVE));
	assert_false(matches("block in ", "block in <main>", FRAME_RUBY));
	assert_true(matches("block in <*>", "block in <main>", FRAME_RUBY));
	assert_true(matches("<<", "<<", FRAME_RUBY));
	assert_false(matches("", "<<", FRAME_RUBY));
	assert_true(matches("f.<locals>.g", "f.<locals>.g", FRAME_PYTHON));
	assert_false(matches("f.<locals>", "f.<locals>.g", FRAME_PYTHON));
	assert_true(matches("A.put", "A.put(int, B)", FRAME_JAVA));
	assert_true(matches("A.<init>", "A.<init>(int)", FRAME_JAVA));
	assert_true(matches("A.put(int, B)", "A.put(int, B)", FRAME_JAVA));
	assert_false(matches("A.put(int)", "A.put(int, B)", FRAME_JAVA));
}

static void test_distances(void **state)
{
	(void)state;
	assert_int_equal(pattern_distance("compute", "lmp::Pair::compute(int)"), 0);
	assert_int_equal(pattern_distance("compote", "lmp::Pair::compute(int)"), 1);
	assert_true(pattern_distance("compute", "main") == UINT_MAX);
	assert_true(pattern_distance("", "") != 1);
}

#define NAMES(...) names_of((const char *const[]){__VA_ARGS__, NULL})

static struct profile_patterns names_of(const char *const *items)
{
	struct profile_patterns patterns = {.items = items};

	while (items[patterns.n])
		patterns.n++;
	return patterns;
}

/* Asserts the number of samples that a filter leaves, by the profile's sum and sample by sample. */
static void check(const struct profile_filter *filter, uint64_t samples)
{
	struct store_reader *f = fake_small();
	struct profile *p = NULL;
	uint64_t left = 0;

	assert_int_equal(profile_new(f, filter, &p), samples ? 0 : -ENODATA);
	assert_int_equal(profile_totals(p)->samples, samples);
	for (uint32_t i = 0; i < f->made.n_samples; i++)
		left += profile_includes(p, &f->made.samples[i]);
	assert_int_equal(left, samples);
	profile_free(p);
	fake_free(f);
}

static void test_names(void **state)
{
	struct profile_filter filter;

	(void)state;
	/* where samples hit: an inlined function is the innermost frame */
	check(&(struct profile_filter){.symbols = NAMES("inl")}, 40);
	check(&(struct profile_filter){.symbols = NAMES("app::work")}, 1);
	check(&(struct profile_filter){.symbols = NAMES("inl", "memcpy")}, 60);
	check(&(struct profile_filter){.symbols = NAMES("main")}, 0);
	check(&(struct profile_filter){.dsos = NAMES("libc.so.6")}, 20);
	check(&(struct profile_filter){.dsos = NAMES("prog", "[kernel*")}, 71);
	check(&(struct profile_filter){.dsos = NAMES("prog"), .symbols = NAMES("fact")}, 10);
	check(&(struct profile_filter){.dsos = NAMES("libc.so.6"), .symbols = NAMES("fact")}, 0);
	/* what paths go through */
	check(&(struct profile_filter){.focus = NAMES("app::work()")}, 61);
	check(&(struct profile_filter){.focus = NAMES("app::work", "memcpy")}, 20);
	check(&(struct profile_filter){.focus = NAMES("app::work"), .ignore = NAMES("inl")}, 21);
	check(&(struct profile_filter){.ignore = NAMES("main", "start_thread")}, 1);
	check(&(struct profile_filter){.focus = NAMES("[incomplete*")}, 1);
	check(&(struct profile_filter){.ignore = NAMES("[incomplete: no_recipe]")}, 99);
	/* with the other filters */
	filter = (struct profile_filter){
		.focus = NAMES("main"), .pids = (int32_t[]){99}, .n_pids = 1};
	check(&filter, 20);
}

/* A look at a sample that is left out must not make a symbol for its mark: it is done on a const
 * profile, which a second thread may be reading. */
static void test_filter_makes_no_symbols(void **state)
{
	const struct profile_filter filter = {.ignore = NAMES("[incomplete: no_recipe]")};
	struct store_reader *f = fake_small();
	struct profile *p = NULL;

	(void)state;
	assert_int_equal(profile_new(f, &filter, &p), 0);
	for (uint32_t i = 0; i < f->made.n_samples; i++)
		profile_includes(p, &f->made.samples[i]);
	for (uint32_t i = 0; i < profile_symbol_count(p); i++)
		assert_string_not_equal(profile_symbol_at(p, i)->name, "[incomplete: no_recipe]");
	profile_free(p);
	fake_free(f);
}

static void test_times(void **state)
{
	const uint64_t step = 1003009;

	(void)state;
	check(&(struct profile_filter){.from_ns = step * 10}, 90);
	check(&(struct profile_filter){.to_ns = step * 10}, 10);
	check(&(struct profile_filter){.from_ns = 1, .to_ns = step + 1}, 1);
	check(&(struct profile_filter){.from_ns = 1, .to_ns = step}, 0);
	check(&(struct profile_filter){.from_ns = UINT64_MAX}, 0);
	check(&(struct profile_filter){.to_ns = UINT64_MAX}, 100);
}

static void test_number_of_focus_patterns(void **state)
{
	const char *many[PROFILE_MAX_FOCUS + 1];
	struct profile_filter filter = {.focus = {many, PROFILE_MAX_FOCUS + 1}};
	struct store_reader *f = fake_small();
	struct profile *p;

	(void)state;
	for (size_t i = 0; i < PROFILE_MAX_FOCUS + 1; i++)
		many[i] = "main";
	assert_int_equal(profile_new(f, &filter, &p), -EINVAL);
	fake_free(f);
	filter.focus.n = PROFILE_MAX_FOCUS;
	check(&filter, 90);
}

/* The shown part of paths is the same by path and in the tree. */
static void check_shape(const struct profile_filter *filter, uint32_t node, size_t frames,
			uint32_t depth)
{
	struct store_reader *f = fake_small();
	struct calltree *tree;
	struct profile *p;
	uint32_t n, deepest = 0;
	size_t count;
	const struct calltree_node *nodes;

	assert_int_equal(profile_new(f, filter, &p), 0);
	assert_non_null(profile_frames(p, node, STACKD_END_ENTRY, 0, &count));
	assert_int_equal(count, frames);
	assert_int_equal(calltree_new(p, CALLTREE_BY_SYMBOL, &tree), 0);
	for (size_t i = 0; i < 6; i++) {
		const struct profile_entry *e = &profile_entries(p, &count)[i];

		assert_int_equal(calltree_add(tree, e), 0);
	}
	calltree_sum(tree);
	nodes = calltree_nodes(tree, &n);
	assert_int_equal(nodes[0].samples, 100);
	for (uint32_t i = 1; i < n; i++)
		deepest = nodes[i].depth > deepest ? nodes[i].depth : deepest;
	assert_int_equal(deepest, depth);
	calltree_free(tree);
	profile_free(p);
	fake_free(f);
}

static void test_shapes(void **state)
{
	(void)state;
	check_shape(NULL, 9, 6, 6);
	check_shape(&(struct profile_filter){.max_depth = 2}, 9, 2, 2);
	check_shape(&(struct profile_filter){.max_depth = 1}, 3, 1, 1);
	check_shape(&(struct profile_filter){.fold_recursion = true}, 9, 3, 4);
	check_shape(&(struct profile_filter){.fold_recursion = true, .max_depth = 3}, 9, 3, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_patterns_by_kind),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_filter_makes_no_symbols),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_number_of_focus_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
