/* SPDX-License-Identifier: MIT */
/*
 * Counts the call paths of a program that share a tag: tag_collide PATHS FILE...
 *
 * The paths are those of the program's call graph (direct calls and tail calls, decoded from the
 * binary, by function) of up to 10 functions, from every function that nothing calls directly:
 * main, and what is called through pointers. If there are more than PATHS, all up to a depth that
 * fits, and those of the next depth in order until there are PATHS.
 *
 * Two paths collide if their tags are equal. All tags are made as often as memory needs parts of
 * them: each time those of one part are kept, sorted, and neighbours compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "callgraph/code_graph.h"

#define DEPTH 10
#define PART  (UINT64_C(1) << 25) /* tags at a time, about */

struct paths {
	const struct callgraph *graph;
	uint64_t limit, seen;
	uint32_t depth;	     /* all paths up to this one */
	uint64_t mask, part; /* tags with tag & mask == part are kept */
	uint64_t *tags;
	size_t n, room;
	bool is_over; /* no room */
};

static void keep(struct paths *p, uint64_t tag)
{
	p->seen++;
	if ((hash_mix64(tag) & p->mask) != p->part)
		return;
	if (p->n < p->room)
		p->tags[p->n++] = tag;
	else
		p->is_over = true;
}

/* Paths below one, of at most `depth` functions; with `only`, just those of that length. */
static void descend(struct paths *p, uint32_t node, uint64_t tag, uint32_t length, uint32_t depth,
		    bool only)
{
	uint32_t n, first;
	const uint32_t *callees;

	if (p->seen >= p->limit)
		return;
	if (!only || length == depth)
		keep(p, tag);
	if (length == depth)
		return;
	callees = callgraph_callees(p->graph, node, &n, &first);
	for (uint32_t i = 0; i < n; i++)
		if (!callgraph_at(p->graph, callees[i])->is_transparent)
			descend(p, callees[i],
				hash_chain(tag, callgraph_at(p->graph, callees[i])->id), length + 1,
				depth, only);
}

static bool is_start(const struct callgraph *graph, uint32_t node)
{
	uint32_t n, first;
	const uint32_t *callers = callgraph_callers(graph, node, &n, &first);

	for (uint32_t i = 0; i < n; i++)
		if (!callgraph_at(graph, callers[i])->is_transparent && callers[i] != node)
			return false;
	return !callgraph_at(graph, node)->is_transparent;
}

static void enumerate(struct paths *p)
{
	p->seen = p->n = 0;
	for (int only = 0; only < 2; only++)
		for (uint32_t i = 0; i < callgraph_count(p->graph); i++)
			if (is_start(p->graph, i) && (!only || p->depth < DEPTH))
				descend(p, i, callgraph_at(p->graph, i)->id, 1, p->depth + only,
					only);
}

/* Counts the paths of each length: for each node, those that end there. */
static void count_paths(const struct callgraph *graph, double ret_count[DEPTH + 1])
{
	uint32_t nodes = callgraph_count(graph);
	double *now = calloc(nodes, sizeof(*now)), *next = calloc(nodes, sizeof(*next));

	for (uint32_t i = 0; i < nodes; i++)
		now[i] = is_start(graph, i);
	for (int length = 1; length <= DEPTH; length++) {
		ret_count[length] = 0;
		memset(next, 0, nodes * sizeof(*next));
		for (uint32_t i = 0; i < nodes; i++) {
			uint32_t n, first;
			const uint32_t *callees = callgraph_callees(graph, i, &n, &first);

			ret_count[length] += now[i];
			for (uint32_t k = 0; now[i] > 0 && k < n; k++)
				if (!callgraph_at(graph, callees[k])->is_transparent)
					next[callees[k]] += now[i];
		}
		memcpy(now, next, nodes * sizeof(*now));
	}
	free(now);
	free(next);
}

/* A radix sort by bytes, the least significant first: eight passes. */
static void sort(uint64_t *tags, uint64_t *other, size_t n)
{
	for (unsigned shift = 0; shift < 64; shift += 16) {
		static size_t at[65537];
		uint64_t *swap = tags;

		memset(at, 0, sizeof(at));
		for (size_t i = 0; i < n; i++)
			at[(tags[i] >> shift & 0xffff) + 1]++;
		for (unsigned i = 0; i < 65536; i++)
			at[i + 1] += at[i];
		for (size_t i = 0; i < n; i++)
			other[at[tags[i] >> shift & 0xffff]++] = tags[i];
		tags = other;
		other = swap;
	}
}

/* Counts paths whose tag another path has, too. */
static uint64_t collisions(struct paths *p, uint64_t *ret_paths)
{
	uint64_t *other = malloc(p->room * sizeof(*other)), found = 0;

	p->tags = malloc(p->room * sizeof(*p->tags));
	if (!other || !p->tags) {
		fprintf(stderr, "tag_collide: out of memory\n");
		exit(1);
	}
	for (p->part = 0; p->part <= p->mask && !p->is_over; p->part++) {
		enumerate(p);
		sort(p->tags, other, p->n);
		for (size_t i = 1; i < p->n; i++)
			found += p->tags[i] == p->tags[i - 1];
	}
	*ret_paths = p->seen;
	free(other);
	free(p->tags);
	return found;
}

static int load(const char *path, struct callgraph **ret_graph)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct code_model *model = NULL;
	struct elf_file *file = NULL;

	err = fd < 0 ? -errno : elf_file_open(fd, &file);
	if (fd >= 0)
		close(fd);
	if (err == 0)
		err = code_model_new(&model);
	if (err == 0)
		err = code_model_take(model, file, path);
	if (err == 0)
		err = callgraph_new(ret_graph);
	if (err == 0)
		err = code_graph_functions(model, *ret_graph);
	if (err == 0)
		err = callgraph_seal(*ret_graph);
	code_model_free(model);
	return err;
}

static int measure(const char *path, uint64_t limit)
{
	struct paths p = {.limit = limit};
	double count[DEPTH + 1], total = 0;
	struct callgraph *graph;
	uint64_t paths, found, most;
	int err = load(path, &graph);

	if (err < 0) {
		fprintf(stderr, "tag_collide: %s: %s\n", path, strerror(-err));
		return 1;
	}
	p.graph = graph;
	count_paths(graph, count);
	for (p.depth = 0; p.depth < DEPTH && total + count[p.depth + 1] <= (double)limit;)
		total += count[++p.depth];
	most = p.depth == DEPTH ? (uint64_t)total : limit;
	while (most / (p.mask + 1) > PART)
		p.mask = p.mask * 2 + 1;
	p.room = most / (p.mask + 1) + most / (p.mask + 1) / 16 + 65536;
	found = collisions(&p, &paths);
	printf("%s\t%u\t%" PRIu64 "\t%u\t%" PRIu64 "\t%" PRIu64 "\n", path,
	       callgraph_count_real(graph), callgraph_edge_count(graph), p.depth, paths, found);
	callgraph_free(graph);
	if (p.is_over)
		fprintf(stderr, "tag_collide: %s: tags are not spread evenly\n", path);
	return p.is_over;
}

int main(int argc, char **argv)
{
	uint64_t limit = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	int status = 0;

	if (!limit) {
		fprintf(stderr, "usage: tag_collide PATHS FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		status |= measure(argv[i], limit);
	return status;
}
