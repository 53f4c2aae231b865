/* SPDX-License-Identifier: MIT */
/*
 * Helpers of the tests of the store: a scratch folder, a fixed-seed random recording, handing it to
 * a writer, and comparing a reader's contents with it.
 */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "recording_fixture.h"
#include "stack/location.h"
#include "stack/provenance.h"
#include "store/store_reader.h"

#define UNUSED __attribute__((unused))

/* Random numbers that are the same on every machine. */
static uint64_t fixture_seed;

static UNUSED uint64_t fixture_random(uint64_t below)
{
	fixture_seed += UINT64_C(0x9e3779b97f4a7c15);
	return hash_mix64(fixture_seed) % below;
}

/* A folder of this test, in /dev/shm if that exists, since SQLite waits for the disk at every
 * checkpoint; fixture_remove() removes it. */
static UNUSED char *fixture_folder(void)
{
	const char *parent = getenv("TMPDIR");
	char *name;

	if (!parent)
		parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	assert_true(asprintf(&name, "%s/stackd-test-XXXXXX", parent) > 0);
	assert_non_null(mkdtemp(name));
	return name;
}

static UNUSED char *fixture_path(const char *folder, const char *file)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, file) > 0);
	return path;
}

static UNUSED void fixture_remove(char *folder)
{
	char *command;

	assert_true(asprintf(&command, "rm -rf '%s'", folder) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	free(folder);
}

static UNUSED struct store_recording fixture_info(void)
{
	return (struct store_recording){
		.start_unix_ns = UINT64_C(1700000000000000000),
		.start_ns = UINT64_C(5000000000),
		.end_ns = UINT64_C(5000000000),
		.host = "host",
		.kernel = "6.1.0-test",
		.arch = "x86_64",
		.command = "stackd --pid 1",
		.target = "pid 1",
		.event = "cpu-clock",
		.note = "",
		.frequency_hz = 997,
		.cpus = 4,
	};
}

/* Names for fixture_make(). */
typedef char fixture_names[1000][32];

static UNUSED void fixture_make_entries(struct recording *r, fixture_names names)
{
	for (uint32_t i = 0; i < 20; i++)
		put_object(r, &(struct store_object){
				      .kind = i % 3,
				      .file_id = hash_mix64(i + 1),
				      .path = names[i % 50],
				      .build_id = (const uint8_t *)names[i % 50],
				      .build_id_len = i % 21,
				      .layout = i % 2 ? hash_mix64(i + 2) : 0,
				      .problem = i % 4 ? NULL : "unreadable",
			      });
	for (uint32_t i = 0; i < 5; i++)
		put_process(r, &(struct store_process){.pid = (int32_t)(100 + i),
						       .parent = i % 2 ? -1 : 7,
						       .comm = names[i % 50],
						       .exe = i % 3 ? names[1] : NULL});
	for (uint32_t i = 0; i < 17; i++)
		put_thread(r, &(struct store_thread){.process = i % r->n_processes,
						     .tid = (int32_t)(200 + i),
						     .comm = names[i % 50],
						     .cgroup = i % 3 ? names[i % 7] : NULL});
}

/* Nodes with sizes, and the locations that they are of. */
static UNUSED void fixture_make_nodes(struct recording *r, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes / 3 + 10; i++)
		put_location(r, &(struct store_location){
					.object = (uint32_t)fixture_random(r->n_objects),
					.offset = i % 100 ? fixture_random(1 << 25)
							  : fixture_random(UINT64_MAX),
					.is_return = fixture_random(2),
					.provenance = (uint8_t)fixture_random(PROVENANCE_COUNT)});
	for (uint32_t i = 1; i <= nodes; i++) {
		add_node(r, fixture_random(4) ? i - 1 : (uint32_t)fixture_random(i),
			 (uint32_t)fixture_random(r->n_locations));
		put_size(r, i % 5 ? 16 * (i % 9) : (uint32_t)hash_mix64(i));
	}
}

static UNUSED void fixture_make_lines(struct recording *r, fixture_names names)
{
	for (uint32_t i = 0; i < r->n_locations && r->n_lines + 4 < r->n_locations * 2; i++) {
		uint32_t depths = (uint32_t)fixture_random(4), location = r->n_locations - 1 - i;

		for (uint32_t d = 0; d < depths; d++)
			put_line(r, &(struct store_line){
					    .location = location,
					    .depth = d,
					    .function = d == 2 ? NULL : names[fixture_random(1000)],
					    .file = fixture_random(2) ? names[fixture_random(30)]
								      : NULL,
					    .line = (uint32_t)fixture_random(5000),
					    .function_start = fixture_random(1000) * 16,
					    .is_inlined = d + 1 < depths});
	}
}

/* Samples in time order at distinct times, of many threads. */
static UNUSED void fixture_make_samples(struct recording *r, uint32_t count)
{
	uint64_t time = UINT64_C(5000000000);

	for (uint32_t i = 0; i < count; i++) {
		struct store_sample sample;

		time += 1 + fixture_random(i % 1000 ? 300000 : UINT64_C(9000000000));
		sample = (struct store_sample){
			.time_ns = time,
			.period = fixture_random(50) ? 1003009 : fixture_random(UINT64_MAX),
			.thread = (uint32_t)fixture_random(r->n_threads),
			.node = (uint32_t)fixture_random(r->n_nodes),
			.cpu = (uint16_t)fixture_random(i % 100 ? 4 : 65536),
			.end_reason = (uint8_t)fixture_random(5)};
		if (i % 3 == 0)
			sample.origin = (uint32_t)fixture_random(r->n_origins);
		put_sample(r, &sample);
	}
}

static UNUSED void fixture_make_origins(struct recording *r)
{
	for (uint32_t i = 1; i < 300; i++) {
		uint32_t n = 1 + (uint32_t)fixture_random(i % 50 ? 4 : 200);
		struct origin_run runs[200];

		for (uint32_t k = 0; k < n; k++)
			runs[k] = (struct origin_run){
				.frames = 1 + (uint32_t)fixture_random(i % 20 ? 40 : UINT32_MAX),
				.source = (uint8_t)fixture_random(FRAME_SOURCE_COUNT),
				.confidence = (uint8_t)fixture_random(101)};
		put_origin(r, &(struct origin){
				      .is_complete = fixture_random(2),
				      .height = i % 3 ? (uint32_t)fixture_random(UINT32_MAX) : 0,
				      .n_runs = i % 6 == 1 && i % 3 ? 0 : n,
				      .runs = runs});
	}
}

/* A random recording, the same for each seed. */
static UNUSED struct recording fixture_make(uint32_t samples, uint32_t nodes, uint64_t seed)
{
	struct store_recording info = fixture_info();
	struct recording r = new_recording(&info);
	fixture_names names;

	fixture_seed = seed;
	for (unsigned i = 0; i < 1000; i++)
		snprintf(names[i], sizeof(names[i]), "function_%llu",
			 (unsigned long long)fixture_random(1000000));
	fixture_make_entries(&r, names);
	fixture_make_nodes(&r, nodes);
	fixture_make_lines(&r, names);
	fixture_make_origins(&r);
	fixture_make_samples(&r, samples);
	return r;
}

/* Hands over the entries that are new, of lines and samples up to `share` percent of all. */
static UNUSED void fixture_put(struct recording *r, struct store_writer *w, unsigned share)
{
	assert_int_equal(write_recording_share(r, w, share), 0);
}

/* --- comparing ------------------------------------------------------------------------------ */

static UNUSED void fixture_assert_string(const char *a, const char *b)
{
	if (a && b)
		assert_string_equal(a, b);
	else
		assert_true(!a && !b);
}

static UNUSED void fixture_assert_tables(const struct recording *f, const struct store_tables *t)
{
	assert_int_equal(t->n_objects, f->n_objects);
	for (uint32_t i = 0; i < f->n_objects; i++) {
		const struct store_object *a = &f->objects[i], *b = &t->objects[i];

		assert_true(a->number == b->number && a->kind == b->kind);
		assert_true(a->file_id == b->file_id && a->build_id_len == b->build_id_len);
		assert_true(a->layout == b->layout);
		assert_memory_equal(a->build_id, b->build_id, a->build_id_len);
		fixture_assert_string(a->path, b->path);
		fixture_assert_string(a->problem, b->problem);
	}
	assert_int_equal(t->n_processes, f->n_processes);
	for (uint32_t i = 0; i < f->n_processes; i++) {
		assert_int_equal(t->processes[i].pid, f->processes[i].pid);
		assert_int_equal(t->processes[i].parent, f->processes[i].parent);
		fixture_assert_string(t->processes[i].comm, f->processes[i].comm);
		fixture_assert_string(t->processes[i].exe, f->processes[i].exe);
	}
	assert_int_equal(t->n_threads, f->n_threads);
	for (uint32_t i = 0; i < f->n_threads; i++) {
		assert_int_equal(t->threads[i].process, f->threads[i].process);
		assert_int_equal(t->threads[i].tid, f->threads[i].tid);
		fixture_assert_string(t->threads[i].comm, f->threads[i].comm);
		fixture_assert_string(t->threads[i].cgroup, f->threads[i].cgroup);
	}
}

static UNUSED void fixture_assert_paths(const struct recording *f, struct store_reader *r)
{
	const struct store_tables *t = store_reader_tables(r);
	const uint64_t *tags;

	assert_int_equal(store_reader_tags(r, &tags), 0);
	assert_int_equal(t->n_locations, f->n_locations);
	for (uint32_t i = 0; i < f->n_locations; i++) {
		assert_true(t->locations[i].number == i);
		assert_true(t->locations[i].object == f->locations[i].object);
		assert_true(t->locations[i].offset == f->locations[i].offset);
		assert_true(t->locations[i].is_return == f->locations[i].is_return);
		assert_true(t->locations[i].provenance == f->locations[i].provenance);
	}
	assert_int_equal(t->n_nodes, f->n_nodes);
	assert_int_equal(t->nodes[0].location, UINT32_MAX);
	assert_true(tags[0] == 0);
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		const struct store_location *l = &f->locations[f->nodes[i].location];
		uint64_t id = location_id(f->objects[l->object].file_id, l->offset);

		assert_true(t->nodes[i].parent == f->nodes[i].parent);
		assert_true(t->nodes[i].location == f->nodes[i].location);
		assert_true(t->sizes[i] == f->sizes[i]);
		assert_true(tags[i] == hash_chain(tags[t->nodes[i].parent], id));
	}
}

/* The first `count` lines that were handed over are there, and no others. */
static UNUSED void fixture_assert_lines(const struct recording *f, const struct store_tables *t,
					uint32_t count)
{
	assert_int_equal(t->n_lines, count);
	assert_int_equal(t->line_first[t->n_locations], count);
	for (uint32_t i = 0; i < count; i++) {
		const struct store_line *a = &f->lines[i], *b;

		assert_true(t->line_first[a->location] + a->depth < t->line_first[a->location + 1]);
		b = &t->lines[t->line_first[a->location] + a->depth];
		assert_true(a->location == b->location && a->depth == b->depth);
		assert_true(a->line == b->line && a->is_inlined == b->is_inlined);
		assert_true(a->function_start == b->function_start);
		fixture_assert_string(a->function, b->function);
		fixture_assert_string(a->file, b->file);
	}
}

static UNUSED void fixture_assert_origins(const struct recording *f, const struct store_tables *t)
{
	assert_int_equal(t->n_origins, f->n_origins);
	assert_int_equal(t->origins[0].n_runs, 0);
	for (uint32_t i = 1; i < f->n_origins; i++) {
		const struct origin *a = &f->origins[i], *b = &t->origins[i];

		assert_true(a->n_runs == b->n_runs && a->is_complete == b->is_complete);
		assert_true(a->height == b->height);
		for (uint32_t k = 0; k < a->n_runs; k++) {
			assert_true(a->runs[k].frames == b->runs[k].frames);
			assert_true(a->runs[k].source == b->runs[k].source);
			assert_true(a->runs[k].confidence == b->runs[k].confidence);
		}
	}
}

struct fixture_cursor {
	const struct store_sample *at;
	uint32_t left;
};

static UNUSED int fixture_each(void *arg, const struct store_sample *b)
{
	struct fixture_cursor *c = arg;
	const struct store_sample *a = c->at++;

	assert_true(c->left-- > 0);
	assert_true(a->time_ns == b->time_ns && a->period == b->period);
	assert_true(a->thread == b->thread && a->node == b->node && a->cpu == b->cpu);
	assert_true(a->end_reason == b->end_reason && a->origin == b->origin);
	return 0;
}

/* The samples are `expected`, exactly and in that order. */
static UNUSED void fixture_assert_samples(struct store_reader *r,
					  const struct store_sample *expected, uint32_t count)
{
	struct fixture_cursor c = {.at = expected, .left = count};

	assert_int_equal(store_reader_samples(r, fixture_each, &c), 0);
	assert_int_equal(c.left, 0);
}

static UNUSED struct store_reader *fixture_open(const char *path, int64_t recording)
{
	struct store_reader *r = NULL;
	char *error = NULL;
	int err = store_reader_open(path, recording, &r, &error);

	if (err < 0)
		print_error("%s\n", error ? error : "no sentence");
	free(error);
	assert_int_equal(err, 0);
	return r;
}

static UNUSED struct store_writer *fixture_writer(const char *path)
{
	struct store_recording info = fixture_info();
	struct store_writer *w = NULL;
	char *error = NULL;
	int err = store_writer_new(path, &info, &w, &error);

	if (err < 0)
		print_error("%s\n", error ? error : "no sentence");
	free(error);
	assert_int_equal(err, 0);
	return w;
}

/* Writes all of a recording; returns its id. */
static UNUSED int64_t fixture_record(const char *path, struct recording *f)
{
	struct store_recording info = fixture_info();
	struct store_writer *w = fixture_writer(path);
	int64_t id = store_writer_recording(w);

	fixture_put(f, w, 100);
	info.end_ns += UINT64_C(1000000000);
	info.samples = f->n_samples;
	info.finished = true;
	assert_int_equal(store_writer_commit(w, &info), 0);
	store_writer_free(w);
	return id;
}

static UNUSED void fixture_assert_all(const struct recording *f, const char *path, int64_t id)
{
	struct store_reader *r = fixture_open(path, id);

	fixture_assert_tables(f, store_reader_tables(r));
	fixture_assert_paths(f, r);
	fixture_assert_lines(f, store_reader_tables(r), f->n_lines);
	fixture_assert_origins(f, store_reader_tables(r));
	fixture_assert_samples(r, f->samples, f->n_samples);
	store_reader_close(r);
}

#endif
