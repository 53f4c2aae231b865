/* SPDX-License-Identifier: MIT */
/*
 * A store reader in memory: it reads a test's recording without a store, also such as no writer
 * would write. It stands in for lib/record/store/store_reader.c at link time, so a test program
 * that includes this header must not use the real reader.
 */
#ifndef TESTS_FAKE_STORE_H
#define TESTS_FAKE_STORE_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "recording_fixture.h"
#include "stack/location.h"
#include "stackd_abi.h"
#include "store/store_reader.h"

struct store_reader {
	struct recording made;
	struct store_tables tables; /* of its entries */
	uint32_t *line_first;
	uint64_t *tags;
};

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
	for (uint32_t i = 0; i < reader->made.n_samples; i++) {
		int err = each(arg, &reader->made.samples[i]);

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

/* A recording without entries, of 2.5 s. */
static inline struct recording fake_recording(void)
{
	struct store_recording info = usual_recording();

	info.id = 7;
	info.end_ns = 3500000000;
	return new_recording(&info);
}

/* Finds the first line of each location; lines are in order of their locations. */
static inline void fake_find_lines(struct store_reader *f)
{
	uint32_t at = 0;

	f->line_first = recording_realloc(f->line_first,
					  sizeof(*f->line_first) * (f->made.n_locations + 1));
	for (uint32_t i = 0; i <= f->made.n_locations; i++) {
		while (at < f->made.n_lines && f->made.lines[at].location < i)
			at++;
		f->line_first[i] = at;
	}
}

static inline void fake_find_tags(struct store_reader *f)
{
	const struct recording *r = &f->made;

	f->tags = recording_realloc(f->tags, sizeof(*f->tags) * r->n_nodes);
	f->tags[0] = 0;
	for (uint32_t i = 1; i < r->n_nodes; i++) {
		const struct store_location *l = &r->locations[r->nodes[i].location];

		f->tags[i] = hash_chain(f->tags[r->nodes[i].parent],
					location_id(r->objects[l->object].file_id, l->offset));
	}
}

/* Makes the reader see what was added to its recording. */
static inline void fake_refresh(struct store_reader *f)
{
	const struct recording *r = &f->made;

	fake_find_lines(f);
	fake_find_tags(f);
	f->tables = (struct store_tables){
		.recording = r->info,
		.objects = r->objects,
		.n_objects = r->n_objects,
		.locations = r->locations,
		.n_locations = r->n_locations,
		.lines = r->lines,
		.n_lines = r->n_lines,
		.line_first = f->line_first,
		.processes = r->processes,
		.n_processes = r->n_processes,
		.threads = r->threads,
		.n_threads = r->n_threads,
		.nodes = r->nodes,
		.n_nodes = r->n_nodes,
		.origins = r->origins,
		.n_origins = r->n_origins,
		.counters = r->counters,
		.n_counters = r->n_counters,
		.store_bytes = 4096,
	};
}

/* A reader of a recording, which it takes over; fake_free() frees both. */
static inline struct store_reader *fake_reader(struct recording *r)
{
	struct store_reader *f = recording_realloc(NULL, sizeof(*f));

	*f = (struct store_reader){.made = *r};
	fake_refresh(f);
	return f;
}

/* A reader of an empty recording, for a test that adds to it between two looks. */
static inline struct store_reader *fake_new(void)
{
	struct recording r = fake_recording();

	return fake_reader(&r);
}

static inline void fake_free(struct store_reader *f)
{
	free_recording(&f->made);
	free(f->line_first);
	free(f->tags);
	free(f);
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
static inline struct recording small_recording(void)
{
	struct recording r = fake_recording();
	uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t libc = add_object(&r, OBJECT_ELF, "/lib/libc.so.6");
	uint32_t libx = add_object(&r, OBJECT_ELF, "/opt/libx.so");
	uint32_t kernel = add_object(&r, OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t start = add_function(&r, prog, 0x1020, true, "_start");
	uint32_t in_main = add_function(&r, prog, 0x1110, true, "main");
	uint32_t in_work = add_location(&r, prog, 0x1220, false);
	uint32_t work_call, memcpy_at, fact, start_thread, unnamed, sys, node, at;
	uint32_t process, thread, pool, other, other_thread;

	add_line(&r, "inl", 0x1218, true);
	add_line(&r, "_ZN3app4workEv", 0x1200, false);
	work_call = add_function(&r, prog, 0x1230, true, "_ZN3app4workEv");
	memcpy_at = add_function(&r, libc, 0x5010, false, "memcpy");
	fact = add_function(&r, prog, 0x1340, true, "fact");
	start_thread = add_function(&r, libc, 0x6020, true, "start_thread");
	unnamed = add_location(&r, libx, 0x50, true);
	sys = add_function(&r, kernel, 0x7010, false, "do_sys");

	process = add_process(&r, 12, "prog");
	thread = add_thread(&r, process, 12, "prog");
	pool = add_thread(&r, process, 13, "pool");
	other = add_process(&r, 99, "other");
	other_thread = add_thread(&r, other, 99, "other");

	node = add_node(&r, add_node(&r, 0, start), in_main);
	add_samples(&r, thread, add_node(&r, node, in_work), STACKD_END_ENTRY, 40);
	add_samples(&r, thread, add_node(&r, add_node(&r, node, work_call), memcpy_at),
		    STACKD_END_ENTRY, 20);
	at = node;
	for (int i = 0; i < 4; i++)
		at = add_node(&r, at, fact);
	add_samples(&r, thread, at, STACKD_END_ENTRY, 10);
	add_samples(&r, pool, add_node(&r, add_node(&r, 0, start_thread), unnamed),
		    STACKD_END_ENTRY, 9);
	add_samples(&r, pool, add_node(&r, 0, work_call), STACKD_END_NO_RECIPE, 1);
	add_samples(&r, other_thread, add_node(&r, add_node(&r, 0, in_main), sys), STACKD_END_ENTRY,
		    20);
	return r;
}

static inline struct store_reader *fake_small(void)
{
	struct recording r = small_recording();

	return fake_reader(&r);
}

#endif
