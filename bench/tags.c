/* SPDX-License-Identifier: MIT */
/*
 * Measures the time to decode a tag beside the enumeration of Besnard et al. (2019, figure 3b), in
 * random graphs of a given size and degree, for paths of a given length with known root and leaf.
 *
 *   tags [quick|full]     quick: two tags a case, enumeration given up after 2 s; full: 8, 60 s
 *
 * The enumeration is the paper's, literally: all paths from the root, depth first, tags compared.
 * Ends with 1 if a target is missed.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "random_graph.h"
#include "tag/tag_search.h"

static const struct bench_case {
	uint32_t nodes, degree, length;
	double target_ms, paper_s;
} bench_cases[] = {
	{512, 25, 8, 10, 25.6},
	{1024, 51, 8, 100, 3970},
	{128, 6, 16, 150, 1694},
	{256, 12, 14, 2000, 8 * 3600},
};

/* Processor time, which does not depend on the load of the machine. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct enumeration {
	const struct callgraph *graph;
	uint64_t tag, paths, found;
	uint32_t length;
	double deadline;
	bool is_over;
};

static void enumerate(struct enumeration *e, uint32_t node, uint64_t parent, uint32_t depth)
{
	uint64_t tag = hash_chain(parent, callgraph_at(e->graph, node)->id);
	uint32_t count, first;
	const uint32_t *callees;

	e->found += tag == e->tag;
	if ((++e->paths & 0xffffff) == 0)
		e->is_over = now_s() > e->deadline;
	if (depth == e->length)
		return;
	callees = callgraph_callees(e->graph, node, &count, &first);
	for (uint32_t i = 0; i < count && !e->is_over; i++)
		enumerate(e, callees[i], tag, depth + 1);
}

/* Seconds of the enumeration; negative: an estimate, since it was given up. */
static double bench_enumerate(const struct bench_case *c, const struct callgraph *graph,
			      uint64_t tag, double limit_s)
{
	double start = now_s(), all = 0, power = 1, spent;
	struct enumeration e = {
		.graph = graph, .tag = tag, .length = c->length, .deadline = start + limit_s};

	enumerate(&e, 0, 0, 1);
	spent = now_s() - start;
	if (!e.is_over)
		return e.found ? spent : -1;
	for (uint32_t i = 0; i < c->length; i++, power *= c->degree)
		all += power;
	return -spent * all / (double)e.paths;
}

/* Milliseconds for one tag, with everything that is made for it; negative: not found. */
static double bench_decode(const struct callgraph *graph, const uint32_t *path, uint32_t n)
{
	struct tag_search_options options = {.root = 0};
	struct tag_search_query query = {.tag = tag_search_tag(graph, path, n),
					 .leaf = path[n - 1],
					 .budget_ns = UINT64_C(60000000000)};
	struct tag_search *search;
	struct tag_search_answer answer;
	double start = now_s();
	bool is_right;

	if (tag_search_new(graph, &options, &search) < 0)
		return -1;
	is_right = tag_search_run(search, &query, &answer) == 0 && answer.n &&
		   answer.paths[0].n == n &&
		   memcmp(answer.paths[0].nodes, path, n * sizeof(*path)) == 0;
	start = 1000 * (now_s() - start);
	tag_search_free(search);
	return is_right ? start : -1;
}

static int bench_compare(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1
						       : *(const double *)a > *(const double *)b;
}

static int bench_case(const struct bench_case *c, unsigned tags, double limit_s)
{
	double ms[64], worst, median, enumerated = 0;

	for (unsigned i = 0; i < tags; i++) {
		struct random_source random = {i + 1};
		struct callgraph *graph = random_graph(&random, c->nodes, c->degree);
		uint32_t path[64] = {0};

		if (!graph)
			return 1;
		random_path(&random, graph, path, c->length);
		ms[i] = bench_decode(graph, path, c->length);
		if (i == 0)
			enumerated = bench_enumerate(
				c, graph, tag_search_tag(graph, path, c->length), limit_s);
		callgraph_free(graph);
		if (ms[i] < 0) {
			printf("%4u/%u/%u: tag %u was not decoded\n", c->nodes, c->degree,
			       c->length, i);
			return 1;
		}
	}
	qsort(ms, tags, sizeof(*ms), bench_compare);
	worst = ms[tags - 1];
	median = ms[tags / 2];
	printf("%4u/%2u/%2u %10.2f %10.2f %10.0f %s %11.4g s %10.3g x %9.0f s  %s\n", c->nodes,
	       c->degree, c->length, median, worst, c->target_ms, enumerated < 0 ? "~" : " ",
	       enumerated < 0 ? -enumerated : enumerated,
	       1000 * (enumerated < 0 ? -enumerated : enumerated) / median, c->paper_s,
	       worst <= c->target_ms ? "met" : "MISSED");
	return worst > c->target_ms;
}

int main(int argc, char **argv)
{
	bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
	int missed = 0;

	printf("decoding a tag of a random graph, root and leaf known, processor time of one thread (~: given up, "
	       "extrapolated)\n"
	       "nodes/out/len  median ms   worst ms  target ms   enumeration      ratio      "
	       "paper\n");
	for (size_t i = 0; i < sizeof(bench_cases) / sizeof(*bench_cases); i++)
		missed |= bench_case(&bench_cases[i], quick ? 2 : 8, quick ? 2 : 60);
	return missed;
}
