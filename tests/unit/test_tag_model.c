/* SPDX-License-Identifier: MIT */
/* .btloc and .btedge: reading them, hostile ones, and the call graph that they make. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/hash.h"
#include "callgraph/plugin_model.h"
#include "tag/tag_search.h"

static void put(struct buf *b, uint64_t v, size_t bytes)
{
	buf_put(b, &v, bytes);
}

static void put_function(struct buf *b, uint64_t id, unsigned flags, uint64_t shape,
			 const char *name)
{
	size_t len = strlen(name) + 1 + strlen("src/a.c") + 1, padded = (len + 7) & ~(size_t)7;

	put(b, 32 + padded, 4);
	put(b, 1, 2);
	put(b, flags, 2);
	put(b, id, 8);
	put(b, 0x1000 + id, 8);
	put(b, shape, 8);
	buf_put(b, name, strlen(name) + 1);
	buf_put(b, "src/a.c", 8);
	for (; len < padded; len++)
		buf_put_u8(b, 0);
}

static void put_edge(struct buf *b, uint64_t caller, uint64_t callee, unsigned flags)
{
	put(b, 24, 4);
	put(b, 1, 2);
	put(b, flags, 2);
	put(b, caller, 8);
	put(b, callee, 8);
}

static int parse(const struct buf *loc, const struct buf *edge,
		 struct plugin_sections *ret_sections, struct plugin_sections_fault *ret_fault)
{
	return plugin_sections_parse(loc->data, loc->len, edge->data, edge->len, ret_sections,
				     ret_fault);
}

static void sections_are_read(void **state)
{
	struct buf loc = {0}, edge = {0};
	struct plugin_sections s;
	struct plugin_sections_fault fault;

	(void)state;
	put_function(&loc, 7, PLUGIN_FUNCTION_LOCAL, 99, "first");
	put(&loc, 0, 8); /* padding of a linker */
	put(&loc, 48 | (uint64_t)2 << 32, 8);
	for (int i = 0; i < 5; i++)
		put(&loc, 0x1111, 8); /* a record of version 2 */
	put_function(&loc, 8, 0, 0, "second");
	put(&loc, 0, 8);
	put_edge(&edge, 7, 8, PLUGIN_EDGE_TAIL);
	assert_int_equal(parse(&loc, &edge, &s, &fault), 0);
	assert_int_equal(s.n_functions, 2);
	assert_int_equal(s.n_edges, 1);
	assert_int_equal(s.n_skipped, 1);
	assert_string_equal(s.functions[0].name, "first");
	assert_string_equal(s.functions[0].file, "src/a.c");
	assert_int_equal(s.functions[0].vaddr, 0x1007);
	assert_int_equal(s.functions[0].shape, 99);
	assert_int_equal(s.functions[0].flags, PLUGIN_FUNCTION_LOCAL);
	assert_string_equal(s.functions[1].name, "second");
	assert_int_equal(s.edges[0].callee, 8);
	assert_int_equal(s.edges[0].flags, PLUGIN_EDGE_TAIL);
	plugin_sections_release(&s);
	plugin_sections_release(&s);
	buf_free(&loc);
	buf_free(&edge);
}

/* Cut at every byte, and with every byte replaced: refused or read, never out of bounds. */
static void broken_sections_are_refused(void **state)
{
	struct buf loc = {0}, edge = {0};
	struct plugin_sections s;
	struct plugin_sections_fault fault;
	size_t refused = 0;

	(void)state;
	put_function(&loc, 7, 0, 99, "first");
	put_function(&loc, 8, 0, 99, "another");
	put_edge(&edge, 7, 8, 0);
	for (size_t len = 0; len < loc.len; len++) {
		uint8_t *exact = malloc(len + !len);

		memcpy(exact, loc.data, len);
		if (plugin_sections_parse(exact, len, NULL, 0, &s, &fault) == 0) {
			assert_int_equal(len % loc.len == 0 || s.n_functions == 1, 1);
			plugin_sections_release(&s);
		} else {
			assert_string_equal(fault.section, ".btloc");
			assert_non_null(fault.what);
			refused++;
		}
		free(exact);
	}
	assert_int_equal(refused, loc.len - 2);
	for (size_t at = 0; at < loc.len; at++) {
		uint8_t was = loc.data[at];

		for (unsigned value = 0; value < 256; value += 15) {
			loc.data[at] = (uint8_t)value;
			if (parse(&loc, &edge, &s, &fault) == 0)
				plugin_sections_release(&s);
		}
		loc.data[at] = was;
	}
	edge.data[0] = 16;
	assert_int_equal(parse(&loc, &edge, &s, &fault), -EBADMSG);
	assert_string_equal(fault.section, ".btedge");
	buf_free(&loc);
	buf_free(&edge);
}

/* A program of one file: what its edges mean for paths. */
struct program {
	struct buf loc, edge;
	struct plugin_model *model;
	struct callgraph *graph;
	struct tag_search *search;
};

enum { MAIN = 101, WORK, COMPARE, METHOD, OTHER, LEFT, BY_TAIL, HANDLER, DEEP, THREAD, SORT };

static void make_program(struct program *p)
{
	struct tag_search_options options = {.root = CALLGRAPH_NONE, .strict = true};
	struct plugin_sections s;
	struct plugin_sections_fault fault;

	put_function(&p->loc, MAIN, PLUGIN_FUNCTION_PUBLIC, 1, "main");
	put_function(&p->loc, WORK, 0, 1, "work");
	put_function(&p->loc, COMPARE, PLUGIN_FUNCTION_LOCAL, 2, "compare");
	put_function(&p->loc, METHOD, PLUGIN_FUNCTION_VIRTUAL, 3, "method");
	put_function(&p->loc, OTHER, 0, 3, "other");
	put_function(&p->loc, LEFT, PLUGIN_FUNCTION_LEFT_OUT, 1, "left");
	put_function(&p->loc, BY_TAIL, 0, 0, "by_tail");
	put_function(&p->loc, HANDLER, PLUGIN_FUNCTION_ROOT, 4, "handler");
	put_function(&p->loc, DEEP, 0, 5, "deep");
	put_function(&p->loc, THREAD, 0, 6, "thread");
	put_edge(&p->edge, MAIN, WORK, 0);
	put_edge(&p->edge, MAIN, LEFT, 0);
	put_edge(&p->edge, LEFT, DEEP, 0);
	put_edge(&p->edge, WORK, SORT, 0);		   /* foreign */
	put_edge(&p->edge, 0, COMPARE, PLUGIN_EDGE_TAKEN); /* which calls it back */
	put_edge(&p->edge, 0, METHOD, PLUGIN_EDGE_TAKEN);
	put_edge(&p->edge, 0, OTHER, PLUGIN_EDGE_TAKEN);
	put_edge(&p->edge, 0, THREAD, PLUGIN_EDGE_TAKEN);
	put_edge(&p->edge, DEEP, 3, PLUGIN_EDGE_INDIRECT | PLUGIN_EDGE_METHOD);
	put_edge(&p->edge, WORK, 3, PLUGIN_EDGE_INDIRECT);
	put_edge(&p->edge, COMPARE, BY_TAIL, PLUGIN_EDGE_TAIL);
	put_edge(&p->edge, COMPARE, HANDLER, 0);
	assert_int_equal(parse(&p->loc, &p->edge, &s, &fault), 0);
	assert_int_equal(plugin_model_new(&p->model), 0);
	assert_int_equal(plugin_model_take(p->model, &s), 0);
	assert_int_equal(plugin_model_functions(p->model), 10);
	assert_int_equal(plugin_model_graph(p->model, &p->graph), 0);
	assert_int_equal(callgraph_seal(p->graph), 0);
	assert_int_equal(tag_search_new(p->graph, &options, &p->search), 0);
}

static void free_program(struct program *p)
{
	tag_search_free(p->search);
	callgraph_free(p->graph);
	plugin_model_free(p->model);
	buf_free(&p->loc);
	buf_free(&p->edge);
}

/* True if the model has the path of these ids (terminated by 0). */
static bool has_path(struct program *p, const uint64_t *ids)
{
	struct tag_search_query query = {.leaf = CALLGRAPH_NONE, .budget_ns = 200 * 1000000};
	struct tag_search_answer answer;
	uint32_t n = 0;

	for (; ids[n]; n++)
		query.tag = hash_chain(query.tag, ids[n]);
	assert_int_equal(tag_search_run(p->search, &query, &answer), 0);
	for (size_t i = 0; i < answer.n; i++) {
		uint32_t same = 0;

		if (answer.paths[i].n != n)
			continue;
		while (same < n &&
		       callgraph_at(p->graph, answer.paths[i].nodes[same])->id == ids[same])
			same++;
		if (same == n)
			return true;
	}
	return false;
}

#define PATH(...) ((const uint64_t[]){__VA_ARGS__, 0})

static void edges_become_calls(void **state)
{
	struct program p = {0};

	(void)state;
	make_program(&p);
	assert_true(has_path(&p, PATH(MAIN, WORK)));
	assert_true(has_path(&p, PATH(MAIN, DEEP)));	      /* through what is left out */
	assert_true(has_path(&p, PATH(MAIN, WORK, COMPARE))); /* called back */
	assert_true(has_path(&p, PATH(MAIN, WORK, BY_TAIL))); /* a tail call of COMPARE */
	assert_true(has_path(&p, PATH(MAIN, DEEP, METHOD)));
	assert_true(has_path(&p, PATH(MAIN, WORK, OTHER)));
	assert_true(has_path(&p, PATH(MAIN, WORK, METHOD)));
	assert_true(has_path(&p, PATH(THREAD)));
	assert_true(has_path(&p, PATH(HANDLER)));
	assert_false(has_path(&p, PATH(MAIN, DEEP, OTHER))); /* no method */
	assert_false(has_path(&p, PATH(MAIN, WORK, DEEP)));
	assert_false(has_path(&p, PATH(MAIN, WORK, COMPARE, HANDLER))); /* a root */
	assert_false(has_path(&p, PATH(MAIN, LEFT)));
	assert_false(has_path(&p, PATH(WORK, OTHER))); /* WORK is called by MAIN alone */
	free_program(&p);
}

/* H() as docs/TAGS.md has it. */
static void ids_are_hashes_of_names(void **state)
{
	(void)state;
	assert_true(plugin_sections_id("a") == hash_mix64('a' + 1));
	assert_true(plugin_sections_id("ab") == hash_mix64(hash_mix64('a' + 1) + 'b' + 1));
	assert_true(plugin_sections_id("") == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_are_read),
		cmocka_unit_test(broken_sections_are_refused),
		cmocka_unit_test(edges_become_calls),
		cmocka_unit_test(ids_are_hashes_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
