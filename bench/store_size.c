/* SPDX-License-Identifier: MIT */
/*
 * Measures the bytes and the time that a sample costs in a store, without recording: a million
 * samples are generated, and committed 1,000 at a time.
 *
 * The program is a random call graph: functions of some call sites each, popular callees being
 * called from many call sites. From one sample to the next its stack loses some frames and grows
 * others. `few` is a simulation code: few functions, one hot loop. `many` is a compiler: many
 * functions, recursion, nearly every sample a path that was not seen before; how much of the
 * stack changes, and how far the leaf moves, is set so that new nodes and locations per sample
 * come out as measured for g++ (6.5 nodes and 0.7 locations a sample at 66,000 samples).
 *
 * usage: store_size [SAMPLES [FOLDER]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stack/location.h"
#include "stack/tag_trie.h"
#include "store/store_reader.h"
#include "store/store_writer.h"

struct program {
	const char *name;
	uint32_t functions, sites; /* call sites per function */
	uint32_t hot;		   /* of the functions, those that most calls go to */
	uint32_t depth, change;	   /* usual depth of the stack; frames that change */
	uint32_t leaf;		   /* instructions of a function where a sample can hit */
};

static const struct program programs[] = {
	{.name = "few",
	 .functions = 300,
	 .sites = 3,
	 .hot = 20,
	 .depth = 9,
	 .change = 3,
	 .leaf = 12},
	{.name = "many",
	 .functions = 20000,
	 .sites = 6,
	 .hot = 1500,
	 .depth = 34,
	 .change = 14,
	 .leaf = 8},
};

struct run {
	const struct program *program;
	struct store_writer *w;
	struct location_table *locations;
	struct tag_trie *trie;
	uint64_t seed;
	uint32_t function[256], node[256]; /* the stack, root first */
	uint32_t depth;
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "store_size: %s: %s\n", what, strerror(-err));
	exit(1);
}

static uint32_t run_random(struct run *run, uint32_t below)
{
	run->seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash_mix64(run->seed) % below);
}

/* The function that a call site calls: fixed, and often a hot one. */
static uint32_t run_callee(const struct program *p, uint32_t function, uint32_t site)
{
	uint64_t h = hash_mix64((uint64_t)function * 64 + site);
	uint64_t low = (h >> 40) % p->hot;

	return (uint32_t)(h % 3 ? low * low / p->hot : (h >> 20) % p->functions);
}

static uint32_t run_location(struct run *run, uint32_t function, uint32_t offset, bool is_return)
{
	struct location l = {.file_id = 42,
			     .offset = (uint64_t)function * 800 + offset + 0x1000,
			     .is_return = is_return};
	uint32_t number, known = location_count(run->locations);
	char name[64];

	check(location_intern(run->locations, &l, &number), "location_intern");
	if (number < known)
		return number;
	snprintf(name, sizeof(name), "_ZN3pro%llxE%x4pass%uEv",
		 (unsigned long long)hash_mix64(function) >> 40, function % 97, function);
	check(store_writer_location(run->w, &(struct store_location){.number = number,
								     .offset = l.offset,
								     .is_return = is_return}),
	      "store_writer_location");
	check(store_writer_line(run->w,
				&(struct store_line){.location = number,
						     .function = name,
						     .function_start = function * 800ull + 0x1000}),
	      "store_writer_line");
	return number;
}

static uint32_t run_child(struct run *run, uint32_t parent, uint32_t location)
{
	const struct location *l = location_at(run->locations, location);
	uint32_t node, known = tag_trie_count(run->trie);

	check(tag_trie_child(run->trie, parent, location, location_id(l->file_id, l->offset),
			     &node),
	      "tag_trie_child");
	if (node == known)
		check(store_writer_node(run->w, &(struct store_node){parent, location}),
		      "store_writer_node");
	return node;
}

/* Changes the stack as between two samples, and gives the leaf's node. */
static uint32_t run_step(struct run *run)
{
	const struct program *p = run->program;
	uint32_t pop = run_random(run, p->change), push = run_random(run, p->change), function,
		 leaf;

	while (pop-- && run->depth > 1)
		run->depth--;
	if (run->depth > p->depth + p->depth / 2)
		push = 0;
	if (run->depth < p->depth / 2)
		push += 2;
	while (push-- && run->depth < 255) {
		uint32_t at = run->depth - 1, site = run_random(run, p->sites);

		run->node[run->depth] =
			run_child(run, run->node[at],
				  run_location(run, run->function[at], site * 16 + 15, true));
		run->function[run->depth++] = run_callee(p, run->function[at], site);
	}
	function = run->function[run->depth - 1];
	leaf = run_random(run, p->leaf) * run_random(run, p->leaf) / p->leaf;
	return run_child(run, run->node[run->depth - 1],
			 run_location(run, function, leaf * 16 + 2, false));
}

static int count_sample(void *arg, const struct store_sample *sample)
{
	(void)sample;
	++*(uint64_t *)arg;
	return 0;
}

static void run_read(const char *path, const char *name, uint64_t samples, double worst_ms,
		     double all_ms)
{
	double start = seconds(), opened, done;
	struct store_reader *r;
	const struct store_tables *t;
	uint64_t count = 0;

	check(store_reader_open(path, 0, &r, NULL), "store_reader_open");
	opened = seconds();
	check(store_reader_samples(r, count_sample, &count), "store_reader_samples");
	done = seconds();
	t = store_reader_tables(r);
	if (count != samples)
		check(-5, "samples are missing");
	printf("%-5s %9llu %9u %9u %8.2f %10.2f %10.2f %9.0f %9.0f\n", name,
	       (unsigned long long)samples, t->n_nodes, t->n_locations,
	       (double)t->store_bytes / (double)samples, all_ms / ((double)samples / 1000),
	       worst_ms, (opened - start) * 1e3, (done - opened) * 1e3);
	store_reader_close(r);
}

static void run_program(const struct program *p, uint64_t samples, const char *path)
{
	struct run run = {.program = p, .depth = 1};
	struct store_recording info = {.event = "cpu-clock", .frequency_hz = 997};
	uint64_t time = 1000000000;
	double worst = 0, all = 0;

	check(store_writer_new(path, &info, &run.w, NULL), "store_writer_new");
	check(location_table_new(&run.locations), "location_table_new");
	check(tag_trie_new(&run.trie), "tag_trie_new");
	check(store_writer_object(run.w, &(struct store_object){.file_id = 42, .path = "/bin/x"}),
	      "store_writer_object");
	check(store_writer_process(run.w, &(struct store_process){.pid = 1, .comm = "x"}),
	      "process");
	check(store_writer_thread(run.w, &(struct store_thread){.tid = 1, .comm = "x"}), "thread");
	for (uint64_t i = 0; i < samples; i++) {
		struct store_sample s = {.period = 1003009, .node = run_step(&run)};
		double start;

		/* latencies of some microseconds, as measured for a timer */
		s.time_ns = time + run_random(&run, 4000) + run_random(&run, 4000);
		time += 1003009;
		check(store_writer_sample(run.w, &s), "store_writer_sample");
		if ((i + 1) % 1000 && i + 1 < samples)
			continue;
		info.finished = i + 1 == samples;
		start = seconds();
		check(store_writer_commit(run.w, &info), "store_writer_commit");
		start = seconds() - start;
		all += start;
		worst = start > worst ? start : worst;
	}
	store_writer_free(run.w);
	location_table_free(run.locations);
	tag_trie_free(run.trie);
	run_read(path, p->name, samples, worst * 1e3, all * 1e3);
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	const char *folder = argc > 2 ? argv[2] : "/tmp";
	char path[4096], command[4200];

	snprintf(path, sizeof(path), "%s/store_size-XXXXXX", folder);
	if (!mkdtemp(path)) {
		perror(path);
		return 1;
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	strcat(path, "/s.db");
	printf("%-5s %9s %9s %9s %8s %10s %10s %9s %9s\n", "kind", "samples", "nodes", "locations",
	       "B/sample", "ms/commit", "worst", "open ms", "read ms");
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		run_program(&programs[i], samples, path);
		unlink(path);
	}
	return system(command) ? 1 : 0;
}
