/* SPDX-License-Identifier: MIT */
/*
 * Measures the hashed trie on the paths of a real recording: frames hashed and found per second,
 * and bytes per distinct path.
 *
 *   tag_trie STORE...
 *
 * Every sample's complete path, root to leaf, is inserted frame by frame, without using the sample
 * before it (the daemon keeps a thread's last path, and inserts only what has changed). All are
 * inserted once, then again and again for a second: those are the repeated
 * ones, of which the fastest round is printed, in processor time. A line for each store has:
 *
 *   frames/s of the first time, frames/s of the repeated ones, nodes, bytes a node, samples, frames
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vec.h"
#include "stack/location.h"
#include "stack/tag_trie.h"
#include "store/store_reader.h"

struct bench {
	const struct store_tables *tables;
	uint64_t *ids; /* by location */
	VEC(uint32_t) frames;
	VEC(uint32_t) ends; /* of the samples' paths in `frames` */
};

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "tag_trie: %s: %s\n", what, strerror(-err));
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void bench_ids(struct bench *b)
{
	const struct store_tables *t = b->tables;

	b->ids = calloc(t->n_locations + 1, sizeof(*b->ids));
	check(b->ids ? 0 : -ENOMEM, "ids");
	for (uint32_t i = 0; i < t->n_locations; i++) {
		const struct store_location *l = &t->locations[i];

		b->ids[i] = location_id(t->objects[l->object].file_id, l->offset);
	}
}

static int add_sample(void *arg, const struct store_sample *sample)
{
	struct bench *b = arg;
	const struct store_node *nodes = b->tables->nodes;
	size_t depth = 0, at;

	for (uint32_t n = sample->node; n; n = nodes[n].parent)
		depth++;
	check(VEC_RESERVE(&b->frames, depth), "frames");
	check(VEC_RESERVE(&b->ends, 1), "samples");
	b->frames.count += depth;
	at = b->frames.count;
	for (uint32_t n = sample->node; n; n = nodes[n].parent)
		b->frames.items[--at] = nodes[n].location;
	b->ends.items[b->ends.count++] = (uint32_t)b->frames.count;
	return 0;
}

/* Inserts every path; returns the sum of the nodes, so that nothing is optimised away. */
static uint64_t put_all(const struct bench *b, struct tag_trie *trie)
{
	uint64_t sum = 0;
	size_t at = 0;

	for (size_t i = 0; i < b->ends.count; i++) {
		uint32_t node = TAG_TRIE_ROOT;

		for (; at < b->ends.items[i]; at++) {
			uint32_t location = b->frames.items[at];

			check(tag_trie_child(trie, node, location, b->ids[location], &node),
			      "trie");
		}
		sum += node;
	}
	return sum;
}

/* The fastest of the repeated rounds of a second, in seconds. */
static double put_again(const struct bench *b, struct tag_trie *trie, uint64_t sum)
{
	double start = now_s(), least = 1e9, before = start, now;

	do {
		if (put_all(b, trie) != sum)
			check(-EBADMSG, "the same paths gave other nodes");
		now = now_s();
		least = now - before < least ? now - before : least;
		before = now;
	} while (now - start < 1);
	return least;
}

static void bench_store(const char *path)
{
	struct bench b = {0};
	struct store_reader *reader;
	struct tag_trie *trie;
	double start, first, again;
	uint64_t sum;

	check(store_reader_open(path, 0, &reader, NULL), path);
	b.tables = store_reader_tables(reader);
	bench_ids(&b);
	check(store_reader_samples(reader, add_sample, &b), path);
	check(b.frames.count ? 0 : -ENODATA, path);
	check(tag_trie_new(&trie), "trie");
	start = now_s();
	sum = put_all(&b, trie);
	first = now_s() - start;
	again = put_again(&b, trie, sum);
	printf("%.0f %.0f %u %.2f %zu %zu\n", (double)b.frames.count / first,
	       (double)b.frames.count / again, tag_trie_count(trie) - 1,
	       (double)tag_trie_memory_bytes(trie) / (tag_trie_count(trie) - 1), b.ends.count,
	       b.frames.count);
	tag_trie_free(trie);
	free(b.ids);
	free(b.frames.items);
	free(b.ends.items);
	store_reader_close(reader);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		bench_store(argv[i]);
	return 0;
}
