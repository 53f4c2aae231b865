/* SPDX-License-Identifier: MIT */
/* The store: what is written is what is read, however it is split into commits. */
#include "store_fixture.h"

#include <errno.h>

static void store_round_trip(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(50000, 70000, 1);
	struct stat st;

	(void)state;
	assert_int_equal(fixture_record(path, &f), 1);
	fixture_assert_all(&f, path, 0);
	fixture_assert_all(&f, path, 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

/* Many commits; after each, a reader sees exactly what had been handed over. */
static void store_commits(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(40000, 3000, 2);
	struct store_recording info = fixture_info();
	struct store_writer *w = fixture_writer(path);
	struct store_reader *r;

	(void)state;
	for (unsigned share = 0; share <= 100; share += 7) {
		fixture_put(&f, w, share);
		info.samples = f.written.samples;
		info.end_ns = info.start_ns + share;
		assert_int_equal(store_writer_commit(w, &info), 0);
		assert_int_equal(store_writer_commit(w, &info), 0); /* with nothing new */
		r = fixture_open(path, 0);
		fixture_assert_lines(&f, store_reader_tables(r), f.written.lines);
		fixture_assert_samples(r, f.samples, f.written.samples);
		assert_false(store_reader_tables(r)->recording.finished);
		assert_true(store_reader_tables(r)->recording.samples == f.written.samples);
		assert_true(store_reader_tables(r)->recording.end_ns == info.end_ns);
		store_reader_close(r);
	}
	fixture_put(&f, w, 100);
	info.finished = true;
	assert_int_equal(store_writer_commit(w, &info), 0);
	store_writer_free(w);
	fixture_assert_all(&f, path, 0);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

static void store_info_and_counters(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info(), *list;
	struct store_writer *w;
	const struct store_tables *t;
	struct store_reader *r;
	size_t count;

	(void)state;
	info.note = "no PMU: fell back to cpu-clock";
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	assert_int_equal(store_writer_counter(w, "lost_ring", 3), 0);
	assert_int_equal(store_writer_counter(w, "entry", 1), 0);
	info.end_ns = 9000000000;
	info.lost = 4;
	info.kernel_ns = 5;
	info.kernel_runs = 6;
	assert_int_equal(store_writer_commit(w, &info), 0);
	assert_int_equal(store_writer_counter(w, "entry", UINT64_MAX), 0);
	info.finished = true;
	assert_int_equal(store_writer_commit(w, &info), 0);
	store_writer_free(w);
	r = fixture_open(path, 0);
	t = store_reader_tables(r);
	assert_int_equal(t->n_counters, 2);
	assert_string_equal(t->counters[0].name, "entry");
	assert_true(t->counters[0].value == UINT64_MAX);
	assert_true(t->counters[1].value == 3);
	assert_string_equal(t->recording.note, info.note);
	assert_string_equal(t->recording.event, "cpu-clock");
	assert_int_equal(t->recording.lost, 4);
	assert_int_equal(t->recording.kernel_ns, 5);
	assert_int_equal(t->recording.kernel_runs, 6);
	assert_int_equal(t->recording.frequency_hz, 997);
	assert_int_equal(t->recording.cpus, 4);
	assert_true(t->recording.start_unix_ns == info.start_unix_ns);
	assert_true(t->recording.end_ns == info.end_ns);
	assert_true(t->recording.finished);
	assert_int_equal(t->n_nodes, 1);
	assert_null(t->sizes);
	assert_true(t->store_bytes > 0);
	fixture_assert_samples(r, NULL, 0);
	store_reader_close(r);
	assert_int_equal(store_list_recordings(path, &list, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].id, 1);
	assert_string_equal(list[0].host, "host");
	store_recordings_free(list, count);
	free(path);
	fixture_remove(folder);
}

/* Samples that come late, within a commit and after it, are read in time order. */
static void store_late_samples(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(60000, 100, 3);
	struct store_recording info = fixture_info();
	struct store_writer *w = fixture_writer(path);
	struct store_sample *shuffled = calloc(f.n_samples, sizeof(*shuffled)),
			    *ordered = f.samples;
	struct store_reader *r;

	(void)state;
	memcpy(shuffled, f.samples, f.n_samples * sizeof(*shuffled));
	for (uint32_t i = 0; i + 1 < f.n_samples; i++) {
		uint32_t range = i % 5000 ? 10 : 30000, other = i + (uint32_t)fixture_random(range);
		struct store_sample s = shuffled[i];

		if (other < f.n_samples) {
			shuffled[i] = shuffled[other];
			shuffled[other] = s;
		}
	}
	f.samples = shuffled;
	for (unsigned share = 1; share <= 100; share += 3) {
		fixture_put(&f, w, share);
		assert_int_equal(store_writer_commit(w, &info), 0);
	}
	r = fixture_open(path, 0);
	fixture_assert_samples(r, ordered, f.n_samples);
	store_reader_close(r);
	store_writer_free(w);
	free(ordered);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

/* Several recordings in one store, from one and from two writers at a time. */
static void store_two_writers(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording a = fixture_make(30000, 500, 4), b = fixture_make(20000, 900, 5);
	struct store_recording info = fixture_info(), *list;
	struct store_writer *wa = fixture_writer(path), *wb = fixture_writer(path);
	size_t count;

	(void)state;
	assert_int_equal(store_writer_recording(wa), 1);
	assert_int_equal(store_writer_recording(wb), 2);
	for (unsigned share = 0; share <= 100; share += 10) {
		fixture_put(&a, wa, share);
		assert_int_equal(store_writer_commit(wa, &info), 0);
		fixture_put(&b, wb, share);
		assert_int_equal(store_writer_commit(wb, &info), 0);
	}
	store_writer_free(wa);
	store_writer_free(wb);
	fixture_assert_all(&a, path, 1);
	fixture_assert_all(&b, path, 2);
	fixture_assert_all(&b, path, 0);
	assert_int_equal(store_list_recordings(path, &list, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_int_equal(list[0].id, 1);
	assert_int_equal(list[1].id, 2);
	store_recordings_free(list, count);
	free_recording(&a);
	free_recording(&b);
	free(path);
	fixture_remove(folder);
}

/* A number out of order or out of range is refused and changes nothing. */
static void store_refuses_numbers(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(100, 100, 6);
	struct store_writer *w = fixture_writer(path);
	struct store_recording info = fixture_info();
	struct store_object object = {.number = 1, .path = "x"};
	struct store_location location = {.number = 0, .object = 0};
	struct store_process process = {.number = 1, .comm = "x"};
	struct store_thread thread = {.number = 0, .process = 0, .comm = "x"};
	struct store_node node = {.parent = 0, .location = 0};
	struct store_line line = {.location = 0};
	struct store_sample sample = {.thread = 0};
	struct origin_run run = {1, FRAME_SOURCE_ALIGNED, 90};
	struct origin origin = {.n_runs = 1, .runs = &run};

	(void)state;
	assert_int_equal(store_writer_object(w, &object), -EINVAL);
	assert_int_equal(store_writer_location(w, &location), -EINVAL);
	assert_int_equal(store_writer_process(w, &process), -EINVAL);
	assert_int_equal(store_writer_thread(w, &thread), -EINVAL);
	assert_int_equal(store_writer_node(w, &node), -EINVAL);
	assert_int_equal(store_writer_line(w, &line), -EINVAL);
	assert_int_equal(store_writer_sample(w, &sample), -EINVAL);
	assert_int_equal(store_writer_origin(w, 0, &origin), -EINVAL);
	assert_int_equal(store_writer_size(w, 1, 16), -EINVAL);
	assert_int_equal(store_writer_origin(w, 2, &origin), -EINVAL);
	fixture_put(&f, w, 100);
	object.number = f.n_objects + 1;
	assert_int_equal(store_writer_object(w, &object), -EINVAL);
	location.number = f.n_locations - 1;
	assert_int_equal(store_writer_location(w, &location), -EINVAL);
	location = (struct store_location){.number = f.n_locations, .object = f.n_objects};
	assert_int_equal(store_writer_location(w, &location), -EINVAL);
	location = (struct store_location){.number = f.n_locations, .provenance = PROVENANCE_COUNT};
	assert_int_equal(store_writer_location(w, &location), -EINVAL);
	node.parent = f.n_nodes;
	assert_int_equal(store_writer_node(w, &node), -EINVAL);
	node = (struct store_node){.parent = 0, .location = f.n_locations};
	assert_int_equal(store_writer_node(w, &node), -EINVAL);
	sample.node = f.n_nodes;
	assert_int_equal(store_writer_sample(w, &sample), -EINVAL);
	sample = (struct store_sample){.origin = f.n_origins};
	assert_int_equal(store_writer_sample(w, &sample), -EINVAL);
	run.source = FRAME_SOURCE_COUNT;
	assert_int_equal(store_writer_origin(w, f.n_origins, &origin), -EINVAL);
	run = (struct origin_run){0, FRAME_SOURCE_ALIGNED, 90};
	assert_int_equal(store_writer_origin(w, f.n_origins, &origin), -EINVAL);
	run = (struct origin_run){1, FRAME_SOURCE_ALIGNED, 101};
	assert_int_equal(store_writer_origin(w, f.n_origins, &origin), -EINVAL);
	origin.n_runs = 0;
	assert_int_equal(store_writer_origin(w, f.n_origins, &origin), -EINVAL);
	assert_int_equal(store_writer_commit(w, &info), 0);
	store_writer_free(w);
	fixture_assert_all(&f, path, 0);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

/* A writer that is freed without a commit leaves only the empty recording. */
static void store_free_without_commit(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(100, 100, 7);
	struct store_writer *w = fixture_writer(path);
	struct store_reader *r;

	(void)state;
	fixture_put(&f, w, 100);
	store_writer_free(w);
	store_writer_free(NULL);
	store_reader_close(NULL);
	store_recordings_free(NULL, 0);
	r = fixture_open(path, 0);
	fixture_assert_samples(r, NULL, 0);
	assert_int_equal(store_reader_tables(r)->n_objects, 0);
	store_reader_close(r);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

/* A reader keeps its snapshot while the writer goes on. */
static void store_reader_snapshot(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(40000, 100, 8);
	struct store_recording info = fixture_info();
	struct store_writer *w = fixture_writer(path);
	struct store_reader *before;

	(void)state;
	fixture_put(&f, w, 50);
	assert_int_equal(store_writer_commit(w, &info), 0);
	before = fixture_open(path, 0);
	fixture_put(&f, w, 100);
	assert_int_equal(store_writer_commit(w, &info), 0);
	fixture_assert_samples(before, f.samples, f.n_samples / 2);
	fixture_assert_all(&f, path, 0);
	store_writer_free(w);
	fixture_assert_samples(before, f.samples, f.n_samples / 2);
	store_reader_close(before);
	fixture_assert_all(&f, path, 0);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

static int store_stop_after(void *arg, const struct store_sample *sample)
{
	(void)sample;
	return --*(int *)arg ? 0 : 42;
}

static void store_each_can_stop(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(100, 100, 9);
	struct store_reader *r;
	int left = 10;

	(void)state;
	fixture_record(path, &f);
	r = fixture_open(path, 0);
	assert_int_equal(store_reader_samples(r, store_stop_after, &left), 42);
	assert_int_equal(left, 0);
	store_reader_close(r);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

/* Names beyond what a store takes are cut, not refused. */
static void store_long_names(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_writer *w = fixture_writer(path);
	struct store_recording info = fixture_info();
	struct store_object object = {.number = 0, .path = "x"};
	struct store_location location = {.number = 0, .object = 0};
	struct store_line line = {.location = 0};
	struct store_reader *r;
	char *name = malloc(200000);

	(void)state;
	memset(name, 'n', 199999);
	name[199999] = '\0';
	object.path = line.function = name;
	line.file = "";
	assert_int_equal(store_writer_object(w, &object), 0);
	assert_int_equal(store_writer_location(w, &location), 0);
	assert_int_equal(store_writer_line(w, &line), 0);
	assert_int_equal(store_writer_commit(w, &info), 0);
	store_writer_free(w);
	r = fixture_open(path, 0);
	assert_int_equal(strlen(store_reader_tables(r)->objects[0].path), 65535);
	assert_int_equal(strlen(store_reader_tables(r)->lines[0].function), 65535);
	assert_string_equal(store_reader_tables(r)->lines[0].file, "");
	store_reader_close(r);
	free(name);
	free(path);
	fixture_remove(folder);
}

/* Each window is a recording by itself, and its numbers begin at 0. */
static void store_windows(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording windows[] = {fixture_make(3000, 900, 7), fixture_make(10, 3, 8),
				      fixture_make(20000, 400, 9)};
	struct store_recording info = fixture_info(), *list;
	struct store_writer *w;
	size_t count;

	(void)state;
	store_writer_free(fixture_writer(path)); /* a recording that is no window */
	info.run = 1;
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_writer_counter(w, "n", (uint64_t)i), 0);
		fixture_put(&windows[i], w, 50);
		assert_int_equal(store_writer_commit(w, &info), 0);
		fixture_put(&windows[i], w, 100);
		info.finished = i < 2;
		assert_int_equal(store_writer_commit(w, &info), 0);
		info.finished = false;
		if (i < 2)
			assert_int_equal(store_writer_next_window(w, &info), 0);
		assert_int_equal(store_writer_recording(w), i < 2 ? 3 + i : 4);
	}
	store_writer_free(w); /* as kill -9 would: the last is not finished */
	assert_int_equal(store_list_recordings(path, &list, &count, NULL), 0);
	assert_int_equal(count, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(list[i].id, i + 1);
		assert_int_equal(list[i].run, i ? 2 : 0);
		assert_int_equal(list[i].finished, i == 1 || i == 2);
	}
	store_recordings_free(list, count);
	for (int i = 0; i < 3; i++) {
		struct store_reader *r = fixture_open(path, 2 + i);

		assert_int_equal(store_reader_tables(r)->n_counters, 1);
		assert_int_equal(store_reader_tables(r)->counters[0].value, i);
		store_reader_close(r);
		fixture_assert_all(&windows[i], path, 2 + i);
		free_recording(&windows[i]);
	}
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_round_trip),
		cmocka_unit_test(store_commits),
		cmocka_unit_test(store_info_and_counters),
		cmocka_unit_test(store_late_samples),
		cmocka_unit_test(store_two_writers),
		cmocka_unit_test(store_refuses_numbers),
		cmocka_unit_test(store_free_without_commit),
		cmocka_unit_test(store_reader_snapshot),
		cmocka_unit_test(store_each_can_stop),
		cmocka_unit_test(store_long_names),
		cmocka_unit_test(store_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
