/* SPDX-License-Identifier: MIT */
/* Call graphs, and from a tag back to its paths: found, ambiguous, absent, out of budget. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_graph.h"
#include "tag/tag_batch.h"
#include "tag/tag_search.h"

#define LONG_NS UINT64_C(3600000000000)

/* A clock that advances by a millisecond with each look. */
static uint64_t ticking(void *arg)
{
	return *(uint64_t *)arg += 1000000;
}

static uint32_t enter(struct callgraph *graph, uint64_t id, const char *name)
{
	uint32_t node;

	assert_int_equal(callgraph_node(graph, id, name, &node), 0);
	return node;
}

static void edge(struct callgraph *graph, uint32_t caller, uint32_t callee)
{
	assert_int_equal(callgraph_edge(graph, caller, callee), 0);
}

static struct callgraph *new_graph(void)
{
	struct callgraph *graph;

	assert_int_equal(callgraph_new(&graph), 0);
	return graph;
}

static struct tag_search *new_search(const struct callgraph *graph,
				     const struct tag_search_options *options)
{
	struct tag_search *search;

	assert_int_equal(tag_search_new(graph, options, &search), 0);
	return search;
}

static struct tag_search_answer ask(struct tag_search *search, uint64_t tag, uint32_t leaf)
{
	struct tag_search_query query = {.tag = tag, .leaf = leaf, .budget_ns = LONG_NS};
	struct tag_search_answer answer;

	assert_int_equal(tag_search_run(search, &query, &answer), 0);
	return answer;
}

static void assert_path(const struct tag_search_answer *answer, const uint32_t *nodes, uint32_t n)
{
	assert_int_equal(answer->status, TAG_SEARCH_FOUND);
	assert_true(answer->n >= 1);
	for (size_t i = 0; i < answer->n; i++)
		if (answer->paths[i].n == n &&
		    memcmp(answer->paths[i].nodes, nodes, n * sizeof(*nodes)) == 0)
			return;
	fail_msg("the path is not among the %zu that were found", answer->n);
}

static void random_paths_are_found(void **state)
{
	static const struct {
		uint32_t nodes, degree, length;
	} cases[] = {{40, 3, 9}, {100, 8, 7}, {300, 5, 6}, {7, 7, 8}, {50, 1, 40}, {1, 1, 5}};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		size_t c = i / 2;
		struct random_source random = {i};
		struct callgraph *graph = random_graph(&random, cases[c].nodes, cases[c].degree);
		struct tag_search_options options = {.root = i % 2 ? 0 : CALLGRAPH_NONE};
		struct tag_search *search = new_search(graph, &options);
		uint32_t path[64] = {0}, n_callers, first;

		callgraph_callers(graph, 0, &n_callers, &first);
		for (int k = 0; k < 4; k++) {
			struct tag_search_answer answer;
			uint32_t n = cases[c].length - (uint32_t)k, leaf;

			random_path(&random, graph, path, n);
			leaf = k < 3 ? path[n - 1] : CALLGRAPH_NONE;
			answer = ask(search, tag_search_tag(graph, path, n), leaf);
			assert_path(&answer, path, n);
			assert_int_equal(answer.paths[0].unmodelled,
					 options.root == CALLGRAPH_NONE && n_callers);
		}
		tag_search_free(search);
		callgraph_free(graph);
	}
}

/* Both paths of a shared tag are reported, in the order of the calls that they lack. */
static void all_paths_that_fit_are_reported(void **state)
{
	struct callgraph *graph = new_graph();
	uint32_t root = enter(graph, 1000, "root"), a = enter(graph, 5, "a"), b;
	uint32_t leaf = enter(graph, 77, "leaf"), odd;
	uint32_t left[] = {root, a, leaf}, right[3], third[3];
	struct tag_search_options options = {.root = root};
	struct tag_search *search;
	struct tag_search_answer answer;

	(void)state;
	b = enter(graph, 5, "b"); /* two functions with one id */
	odd = enter(graph, 5, "odd");
	memcpy(right, (uint32_t[]){root, b, leaf}, sizeof(right));
	memcpy(third, (uint32_t[]){root, odd, leaf}, sizeof(third));
	assert_int_not_equal(a, b);
	edge(graph, root, a);
	edge(graph, root, b);
	edge(graph, a, leaf);
	edge(graph, b, leaf);
	edge(graph, odd, leaf); /* nothing is known to call it */
	assert_int_equal(callgraph_seal(graph), 0);
	search = new_search(graph, &options);
	answer = ask(search, tag_search_tag(graph, left, 3), leaf);
	assert_path(&answer, left, 3);
	assert_path(&answer, right, 3);
	assert_path(&answer, third, 3);
	assert_int_equal(answer.n, 3);
	assert_int_equal(answer.paths[1].unmodelled, 0);
	assert_int_equal(answer.paths[2].unmodelled, 1);
	tag_search_free(search);
	options.strict = true;
	search = new_search(graph, &options);
	answer = ask(search, tag_search_tag(graph, left, 3), CALLGRAPH_NONE);
	assert_int_equal(answer.n, 2);
	tag_search_free(search);
	callgraph_free(graph);
}

static void absence_differs_from_timeout(void **state)
{
	struct callgraph *graph = new_graph();
	uint32_t top = enter(graph, 11, "top"), middle = enter(graph, 12, "middle");
	uint32_t leaf = enter(graph, 13, "leaf");
	uint64_t time = 0;
	struct tag_search_options options = {.root = top, .now_ns = ticking, .now_arg = &time};
	struct tag_search_query query = {.tag = 4711, .leaf = leaf, .budget_ns = LONG_NS};
	struct tag_search *search;
	struct tag_search_answer answer;

	(void)state;
	edge(graph, top, middle);
	edge(graph, middle, leaf);
	assert_int_equal(callgraph_seal(graph), 0);
	search = new_search(graph, &options);
	assert_int_equal(tag_search_run(search, &query, &answer), 0);
	assert_int_equal(answer.status, TAG_SEARCH_NO_PATH);
	query.tag = tag_search_tag(graph, (uint32_t[]){top, middle, leaf}, 3);
	query.budget_ns = 0;
	assert_int_equal(tag_search_run(search, &query, &answer), 0);
	assert_int_equal(answer.status, TAG_SEARCH_NOT_IN_BUDGET);
	assert_int_equal(answer.steps, 0);
	query.leaf = 99;
	assert_int_equal(tag_search_run(search, &query, &answer), -EINVAL);
	query.leaf = middle; /* a wrong leaf: no path ends so */
	query.budget_ns = LONG_NS;
	assert_int_equal(tag_search_run(search, &query, &answer), 0);
	assert_int_equal(answer.status, TAG_SEARCH_NO_PATH);
	query.leaf_is_hint = true;
	assert_int_equal(tag_search_run(search, &query, &answer), 0);
	assert_path(&answer, (uint32_t[]){top, middle, leaf}, 3);
	tag_search_free(search);
	callgraph_free(graph);
}

/* Cycles have endless paths: the search ends with its budget, within its memory. */
static void cycles_end_with_the_budget(void **state)
{
	struct random_source random = {7};
	struct callgraph *graph = random_graph(&random, 200, 12);
	uint64_t time = 0;
	struct tag_search_options options = {
		.root = 0, .now_ns = ticking, .now_arg = &time, .memory_bytes = 1 << 20};
	struct tag_search *search = new_search(graph, &options);

	(void)state;
	for (uint64_t tag = 1; tag < 4; tag++) {
		struct tag_search_query query = {
			.tag = tag, .leaf = CALLGRAPH_NONE, .budget_ns = 200 * 1000000};
		struct tag_search_answer answer;

		assert_int_equal(tag_search_run(search, &query, &answer), 0);
		assert_int_equal(answer.status, TAG_SEARCH_NOT_IN_BUDGET);
		assert_true(answer.spent_ns >= query.budget_ns);
		assert_true(answer.spent_ns < 2 * query.budget_ns);
	}
	assert_true(tag_search_prefixes(search) * 18 < 1 << 20);
	tag_search_free(search);
	callgraph_free(graph);
}

/* Ids of a model that lies: all zero, so that every path has the tag 0. */
static void equal_ids_stay_bounded(void **state)
{
	struct callgraph *graph = new_graph();
	uint64_t time = 0;
	struct tag_search_options options = {.root = 0, .now_ns = ticking, .now_arg = &time};
	struct tag_search_query query = {.tag = 0, .leaf = 3, .budget_ns = 100 * 1000000};
	struct tag_search *search;
	struct tag_search_answer answer;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(enter(graph, 0, name), i);
	}
	for (uint32_t i = 0; i < 50 * 50; i++)
		edge(graph, i / 50, i % 50);
	assert_int_equal(callgraph_seal(graph), 0);
	search = new_search(graph, &options);
	query.all = true;
	assert_int_equal(tag_search_run(search, &query, &answer), 0);
	assert_int_equal(answer.status, TAG_SEARCH_FOUND);
	assert_true(answer.n > 1);
	for (size_t i = 0; i < answer.n; i++)
		assert_int_equal(answer.paths[i].nodes[answer.paths[i].n - 1], 3);
	tag_search_free(search);
	callgraph_free(graph);
}

static void unmodelled_call_is_marked(void **state)
{
	struct random_source random = {3};
	struct callgraph *graph = random_graph(&random, 100, 4);
	struct tag_search_options options = {.root = 0};
	struct tag_search *search = new_search(graph, &options);
	uint32_t path[10] = {0}, bad[10], tail[5];
	struct tag_search_answer answer;

	(void)state;
	random_path(&random, graph, path, 10);
	memcpy(bad, path, sizeof(bad));
	do {
		tail[0] = random_below(&random, 100);
	} while (callgraph_can_call(graph, path[4], tail[0]));
	random_path(&random, graph, tail, 5);
	memcpy(bad + 5, tail, sizeof(tail));
	answer = ask(search, tag_search_tag(graph, bad, 10), bad[9]);
	assert_path(&answer, bad, 10);
	assert_int_equal(answer.paths[0].unmodelled, 1);
	tag_search_free(search);
	options.strict = true;
	options.memory_bytes = 1 << 20;
	search = new_search(graph, &options);
	answer = ask(search, tag_search_tag(graph, path, 10), path[9]);
	assert_path(&answer, path, 10);
	tag_search_free(search);
	callgraph_free(graph);
}

/* top -> (left out) -> (hub, with a cycle of left-out ones) -> a, b */
static void transparent_nodes_are_walked_through(void **state)
{
	struct callgraph *graph = new_graph();
	uint32_t top = enter(graph, 21, "top"), a = enter(graph, 22, "a");
	uint32_t b = enter(graph, 23, "b"), left_out, hub, again;
	struct tag_search_options options = {.root = CALLGRAPH_NONE, .strict = true};
	struct tag_search *search;
	struct tag_search_answer answer;

	(void)state;
	assert_int_equal(callgraph_transparent(graph, 21, "left out", &left_out), 0);
	assert_int_equal(callgraph_transparent(graph, 1, "hub", &hub), 0);
	assert_int_equal(callgraph_transparent(graph, 2, "again", &again), 0);
	assert_int_not_equal(left_out, top);
	edge(graph, top, left_out);
	edge(graph, left_out, hub);
	edge(graph, hub, again);
	edge(graph, again, hub);
	edge(graph, again, b);
	edge(graph, hub, a);
	edge(graph, a, hub);
	assert_int_equal(callgraph_seal(graph), 0);
	assert_true(callgraph_can_call(graph, top, a));
	assert_true(callgraph_can_call(graph, top, b));
	assert_true(callgraph_can_call(graph, a, a));
	assert_false(callgraph_can_call(graph, b, a));
	assert_int_equal(callgraph_find(graph, 21), top);
	assert_int_equal(callgraph_find_name(graph, "b"), b);
	assert_int_equal(callgraph_find_name(graph, "hub"), CALLGRAPH_NONE);
	search = new_search(graph, &options);
	answer = ask(search, tag_search_tag(graph, (uint32_t[]){top, a, a, b}, 4), b);
	assert_path(&answer, (uint32_t[]){top, a, a, b}, 4);
	assert_int_equal(answer.paths[0].unmodelled, 0);
	tag_search_free(search);
	callgraph_free(graph);
}

/* A recursion of 900 levels among functions that call each other in many ways. */
static void deep_recursion_is_found(void **state)
{
	struct random_source random = {9};
	struct callgraph *graph = new_graph();
	uint32_t path[1000] = {0}, n = 3;
	struct tag_search_options options = {.root = 0};
	struct tag_search *search;
	struct tag_search_answer answer;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		enter(graph, random_next(&random), name);
	}
	for (uint32_t i = 0; i < 120; i++)
		edge(graph, i % 30, random_below(&random, 30));
	for (uint32_t i = 0; i < 30; i++)
		edge(graph, i, i);
	assert_int_equal(callgraph_seal(graph), 0);
	random_path(&random, graph, path, n);
	while (n < 900)
		path[n++] = path[2];
	search = new_search(graph, &options);
	answer = ask(search, tag_search_tag(graph, path, n), path[n - 1]);
	assert_path(&answer, path, n);
	tag_search_free(search);
	callgraph_free(graph);
}

/* A decoded path makes a much longer path of the same program findable. */
static void decoded_paths_help_the_next(void **state)
{
	struct random_source random = {4};
	struct callgraph *graph = random_graph(&random, 400, 10);
	struct tag_search_options options = {.root = 0, .memory_bytes = 8 << 20};
	struct tag_search *search = new_search(graph, &options);
	uint32_t path[60] = {0};

	(void)state;
	random_path(&random, graph, path, 60);
	for (uint32_t n = 4; n <= 60; n += 4) {
		struct tag_search_answer answer =
			ask(search, tag_search_tag(graph, path, n), path[n - 1]);

		assert_path(&answer, path, n);
	}
	tag_search_free(search);
	callgraph_free(graph);
}

/* One budget for many: what is left over by tags that are near known paths finds the first ones. */
static void batch_shares_its_budget(void **state)
{
	enum { TAGS = 40, LENGTH = 12, SHARED = 9 };
	struct random_source random = {11};
	struct callgraph *graph = random_graph(&random, 128, 6);
	uint64_t time = 0, spent = 0;
	struct tag_search_options options = {.root = 0, .now_ns = ticking, .now_arg = &time};
	struct tag_batch_item items[TAGS + 1] = {0};
	uint32_t paths[TAGS][LENGTH] = {0}, shared[SHARED] = {0};
	struct tag_search *search;

	(void)state;
	random_path(&random, graph, shared, SHARED);
	for (int i = 0; i < TAGS; i++) {
		memcpy(paths[i], shared, sizeof(shared));
		random_path(&random, graph, paths[i] + SHARED - 1, LENGTH - SHARED + 1);
		items[i].tag = tag_search_tag(graph, paths[i], LENGTH);
		items[i].leaf = CALLGRAPH_NONE;
	}
	items[TAGS].leaf = CALLGRAPH_NONE; /* tag 0: nothing called yet */
	search = new_search(graph, &options);
	assert_int_equal(tag_batch_run(search, items, TAGS + 1, 0, false), 0);
	assert_int_equal(items[0].status, TAG_SEARCH_NOT_IN_BUDGET);
	assert_int_equal(tag_batch_run(search, items, TAGS + 1, 200000000, false), 0);
	for (int i = 0; i < TAGS; i++) {
		assert_int_equal(items[i].status, TAG_SEARCH_FOUND);
		assert_int_equal(items[i].paths[0].n, LENGTH);
		assert_memory_equal(items[i].paths[0].nodes, paths[i], sizeof(paths[i]));
	}
	assert_int_equal(items[TAGS].status, TAG_SEARCH_FOUND);
	assert_int_equal(items[TAGS].paths[0].n, 0);
	for (int i = 0; i <= TAGS; i++) {
		spent += items[i].spent_ns;
		tag_batch_item_release(&items[i]);
	}
	assert_true(spent <= UINT64_C(200000000) * (TAGS + 2));
	tag_search_free(search);
	callgraph_free(graph);
}

static void invalid_graphs_are_refused(void **state)
{
	struct callgraph *graph = new_graph();
	struct tag_search_options options = {.root = CALLGRAPH_NONE};
	struct tag_search *search;
	uint32_t a = enter(graph, 1, "a");

	(void)state;
	assert_int_equal(enter(graph, 1, "a"), a);
	assert_int_equal(callgraph_edge(graph, a, 1), -EINVAL);
	assert_int_equal(tag_search_new(graph, &options, &search), -EINVAL);
	edge(graph, a, a);
	edge(graph, a, a);
	assert_int_equal(callgraph_seal(graph), 0);
	assert_int_equal(callgraph_edge_count(graph), 1);
	assert_int_equal(callgraph_edge(graph, a, a), -EBUSY);
	options.root = 1;
	assert_int_equal(tag_search_new(graph, &options, &search), -EINVAL);
	callgraph_free(graph);
	graph = new_graph(); /* nothing in it */
	assert_int_equal(callgraph_seal(graph), 0);
	options.root = CALLGRAPH_NONE;
	search = new_search(graph, &options);
	assert_int_equal(ask(search, 5, CALLGRAPH_NONE).status, TAG_SEARCH_NO_PATH);
	tag_search_free(search);
	callgraph_free(graph);
	tag_search_free(NULL);
	callgraph_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_paths_are_found),
		cmocka_unit_test(all_paths_that_fit_are_reported),
		cmocka_unit_test(absence_differs_from_timeout),
		cmocka_unit_test(cycles_end_with_the_budget),
		cmocka_unit_test(equal_ids_stay_bounded),
		cmocka_unit_test(unmodelled_call_is_marked),
		cmocka_unit_test(transparent_nodes_are_walked_through),
		cmocka_unit_test(deep_recursion_is_found),
		cmocka_unit_test(decoded_paths_help_the_next),
		cmocka_unit_test(batch_shares_its_budget),
		cmocka_unit_test(invalid_graphs_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
