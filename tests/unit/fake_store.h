/* SPDX-License-Identifier: MIT */
/*
 * A store reader in memory: the tests of the model, the reports and the exports build its tables
 * directly, also such as no writer would write. It stands in for lib/record/store/store_reader.c at
 * link time, so a test program that includes this header must not use the real reader.
 */
#ifndef TESTS_FAKE_STORE_H
#define TESTS_FAKE_STORE_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "proc/object.h"
#include "stack/location.h"
#include "stackd_abi.h"
#include "store/store_reader.h"

struct store_reader {
	struct store_tables tables;
	struct store_object *objects;
	struct store_location *locations;
	struct store_line *lines;
	uint32_t *line_first;
	struct store_process *processes;
	struct store_thread *threads;
	struct store_node *nodes;
	uint64_t *tags;
	struct store_counter *counters;
	struct store_sample *samples;
	struct origin *origins;
	uint32_t n_samples;
};

/* Grows `array` to hold entry `n`: by doubling whenever n is a power of two. */
#define FAKE_GROW(array, n)                                                                        \
	do {                                                                                       \
		if (((n) & (-1 + (n))) == 0)                                                       \
			(array) = realloc((array), sizeof(*(array)) * ((n) ? 2 * (n) : 1));        \
	} while (0)

const struct store_tables *store_reader_tables(const struct store_reader *reader)
{
	return &reader->tables;
}

int store_reader_tags(struct store_reader *reader, const uint64_t **ret_tags)
{
	*ret_tags = reader->tags;
	return 0;
}

int store_reader_samples(struct store_reader *reader,
			 int (*each)(void *arg, const struct store_sample *sample), void *arg)
{
	for (uint32_t i = 0; i < reader->n_samples; i++) {
		int err = each(arg, &reader->samples[i]);

		if (err)
			return err;
	}
	return 0;
}

int store_reader_records(struct store_reader *reader, enum metric_series series,
			 int (*each)(void *arg, const struct store_sample *record), void *arg)
{
	return series == SERIES_CPU ? store_reader_samples(reader, each, arg) : 0;
}

int store_reader_all_records(struct store_reader *reader, enum metric_series series,
			     int (*each)(void *arg, const struct store_sample *record), void *arg)
{
	return store_reader_records(reader, series, each, arg);
}

const struct store_sum *store_reader_sums(const struct store_reader *reader, size_t *ret_count)
{
	(void)reader;
	*ret_count = 0;
	return NULL;
}

int store_reader_series(struct store_reader *reader, uint64_t *ret_series)
{
	(void)reader;
	*ret_series = 1u << SERIES_CPU;
	return 0;
}

static inline struct store_reader *fake_new(void)
{
	struct store_reader *f = calloc(1, sizeof(*f));

	f->tables.recording = (struct store_recording){
		.id = 7,
		.start_unix_ns = UINT64_C(1700000000000000000),
		.start_ns = 1000000000,
		.end_ns = 3500000000,
		.host = "box",
		.kernel = "6.1.0",
		.arch = "x86_64",
		.command = "stackd --pid 12",
		.target = "pid 12",
		.event = "cpu-clock",
		.note = "",
		.frequency_hz = 997,
		.cpus = 2,
		.finished = true,
	};
	FAKE_GROW(f->nodes, 0u);
	FAKE_GROW(f->tags, 0u);
	f->nodes[0] = (struct store_node){0, UINT32_MAX};
	f->tags[0] = 0;
	f->tables.n_nodes = 1;
	FAKE_GROW(f->origins, 0u);
	f->origins[0] = (struct origin){0};
	f->tables.n_origins = 1;
	FAKE_GROW(f->line_first, 0u);
	f->line_first[0] = 0;
	return f;
}

/* Makes the tables see what was added; call when all is. */
static inline struct store_reader *fake_done(struct store_reader *f)
{
	f->tables.objects = f->objects;
	f->tables.locations = f->locations;
	f->tables.lines = f->lines;
	f->tables.line_first = f->line_first;
	f->tables.processes = f->processes;
	f->tables.threads = f->threads;
	f->tables.nodes = f->nodes;
	f->tables.origins = f->origins;
	f->tables.counters = f->counters;
	f->tables.recording.samples = f->n_samples;
	f->tables.store_bytes = 4096;
	return f;
}

static inline void fake_free(struct store_reader *f)
{
	free(f->objects);
	free(f->locations);
	free(f->lines);
	free(f->line_first);
	free(f->processes);
	free(f->threads);
	free(f->nodes);
	free(f->tags);
	free(f->origins);
	free(f->counters);
	free(f->samples);
	free(f);
}

static inline uint32_t fake_object(struct store_reader *f, enum object_kind kind, const char *path)
{
	uint32_t n = f->tables.n_objects++;

	FAKE_GROW(f->objects, n);
	f->objects[n] = (struct store_object){
		.number = n, .kind = kind, .file_id = hash_mix64(n + 1), .path = path};
	return n;
}

static inline void fake_line(struct store_reader *f, const char *function, uint64_t start,
			     bool is_inlined)
{
	uint32_t n = f->tables.n_lines++, location = f->tables.n_locations - 1;

	FAKE_GROW(f->lines, n);
	f->lines[n] = (struct store_line){
		.location = location,
		.depth = n - f->line_first[location],
		.function = function,
		.file = "x.c",
		.line = n + 1,
		.function_start = start,
		.is_inlined = is_inlined,
	};
	f->line_first[location + 1] = f->tables.n_lines;
}

/* A location; lines are added to the latest one, innermost function first. */
static inline uint32_t fake_location(struct store_reader *f, uint32_t object, uint64_t offset,
				     bool is_return)
{
	uint32_t n = f->tables.n_locations++;

	FAKE_GROW(f->locations, n);
	FAKE_GROW(f->line_first, n + 1);
	f->locations[n] = (struct store_location){
		.number = n, .object = object, .offset = offset, .is_return = is_return};
	f->line_first[n + 1] = f->tables.n_lines;
	return n;
}

static inline uint32_t fake_function(struct store_reader *f, uint32_t object, uint64_t offset,
				     bool is_return, const char *function)
{
	uint32_t n = fake_location(f, object, offset, is_return);

	fake_line(f, function, offset & ~UINT64_C(0xff), false);
	return n;
}

static inline uint32_t fake_node(struct store_reader *f, uint32_t parent, uint32_t location)
{
	uint32_t n = f->tables.n_nodes++;
	const struct store_location *l = &f->locations[location];

	FAKE_GROW(f->nodes, n);
	FAKE_GROW(f->tags, n);
	f->nodes[n] = (struct store_node){parent, location};
	f->tags[n] =
		hash_chain(f->tags[parent], location_id(f->objects[l->object].file_id, l->offset));
	return n;
}

static inline uint32_t fake_process(struct store_reader *f, int32_t pid, const char *comm)
{
	uint32_t n = f->tables.n_processes++;

	FAKE_GROW(f->processes, n);
	f->processes[n] = (struct store_process){n, pid, 1, comm, "/bin/prog"};
	return n;
}

static inline uint32_t fake_thread(struct store_reader *f, uint32_t process, int32_t tid,
				   const char *comm)
{
	uint32_t n = f->tables.n_threads++;

	FAKE_GROW(f->threads, n);
	f->threads[n] =
		(struct store_thread){.number = n, .process = process, .tid = tid, .comm = comm};
	return n;
}

static inline void fake_samples(struct store_reader *f, uint32_t thread, uint32_t node,
				uint8_t end_reason, uint32_t count)
{
	while (count--) {
		uint32_t n = f->n_samples++;

		FAKE_GROW(f->samples, n);
		f->samples[n] = (struct store_sample){
			.time_ns = 1000000000 + UINT64_C(1003009) * n,
			.period = 1003009,
			.thread = thread,
			.node = node,
			.cpu = (uint16_t)(n & 1),
			.end_reason = end_reason,
		};
	}
}

/* An origin; the runs are borrowed. */
static inline uint32_t fake_origin(struct store_reader *f, const struct origin_run *runs,
				   uint32_t n_runs, bool is_complete)
{
	uint32_t n = f->tables.n_origins++;

	FAKE_GROW(f->origins, n);
	f->origins[n] = (struct origin){.is_complete = is_complete, .n_runs = n_runs, .runs = runs};
	return n;
}

/* Samples whose frames have an origin. */
static inline void fake_inferred(struct store_reader *f, uint32_t thread, uint32_t node,
				 uint8_t end_reason, uint32_t origin, uint32_t count)
{
	fake_samples(f, thread, node, end_reason, count);
	for (uint32_t i = 0; i < count; i++)
		f->samples[f->n_samples - 1 - i].origin = origin;
}

static inline void fake_counter(struct store_reader *f, const char *name, uint64_t value)
{
	uint32_t n = f->tables.n_counters++;

	FAKE_GROW(f->counters, n);
	f->counters[n] = (struct store_counter){name, value};
}

/*
 * A small recording that has a bit of everything:
 *
 *   prog (12), thread 12 "prog":   _start > main > work [> inl inlined] ; work > memcpy
 *                                  main > fact > fact > fact > fact (recursion)
 *              thread 13 "pool":   start_thread > libx.so+0x51
 *                                  incomplete (no_recipe): work
 *   other (99), thread 99 "other": entry of the kernel: main > do_sys
 */
static inline struct store_reader *fake_small(void)
{
	struct store_reader *f = fake_new();
	uint32_t prog = fake_object(f, OBJECT_ELF, "/bin/prog");
	uint32_t libc = fake_object(f, OBJECT_ELF, "/lib/libc.so.6");
	uint32_t libx = fake_object(f, OBJECT_ELF, "/opt/libx.so");
	uint32_t kernel = fake_object(f, OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t start = fake_function(f, prog, 0x1020, true, "_start");
	uint32_t in_main = fake_function(f, prog, 0x1110, true, "main");
	uint32_t in_work = fake_location(f, prog, 0x1220, false);
	uint32_t work_call, memcpy_at, fact, start_thread, unnamed, sys, node, at;
	uint32_t process, thread, pool, other, other_thread;

	fake_line(f, "inl", 0x1218, true);
	fake_line(f, "_ZN3app4workEv", 0x1200, false);
	work_call = fake_function(f, prog, 0x1230, true, "_ZN3app4workEv");
	memcpy_at = fake_function(f, libc, 0x5010, false, "memcpy");
	fact = fake_function(f, prog, 0x1340, true, "fact");
	start_thread = fake_function(f, libc, 0x6020, true, "start_thread");
	unnamed = fake_location(f, libx, 0x50, true);
	sys = fake_function(f, kernel, 0x7010, false, "do_sys");

	process = fake_process(f, 12, "prog");
	thread = fake_thread(f, process, 12, "prog");
	pool = fake_thread(f, process, 13, "pool");
	other = fake_process(f, 99, "other");
	other_thread = fake_thread(f, other, 99, "other");

	node = fake_node(f, fake_node(f, 0, start), in_main);
	fake_samples(f, thread, fake_node(f, node, in_work), STACKD_END_ENTRY, 40);
	fake_samples(f, thread, fake_node(f, fake_node(f, node, work_call), memcpy_at),
		     STACKD_END_ENTRY, 20);
	at = node;
	for (int i = 0; i < 4; i++)
		at = fake_node(f, at, fact);
	fake_samples(f, thread, at, STACKD_END_ENTRY, 10);
	fake_samples(f, pool, fake_node(f, fake_node(f, 0, start_thread), unnamed),
		     STACKD_END_ENTRY, 9);
	fake_samples(f, pool, fake_node(f, 0, work_call), STACKD_END_NO_RECIPE, 1);
	fake_samples(f, other_thread, fake_node(f, fake_node(f, 0, in_main), sys), STACKD_END_ENTRY,
		     20);
	return fake_done(f);
}

#endif
