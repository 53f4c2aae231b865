/* SPDX-License-Identifier: MIT */
/* Retention deletes old recordings, keeps running ones, and shrinks the file. */
#include "store_fixture.h"

#include <errno.h>
#include <time.h>

static uint64_t retain_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* A recording that ended `age_s` ago. */
static int64_t retain_record(const char *path, uint64_t age_s, bool finished, uint64_t seed)
{
	struct fixture f = fixture_make(20000, 2000, seed);
	struct store_recording info = fixture_info();
	struct store_writer *w;
	int64_t id;

	info.start_unix_ns = retain_now_ns() - (age_s + 10) * 1000000000;
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	fixture_put(&f, w, 100);
	info.end_ns = info.start_ns + UINT64_C(10000000000);
	info.finished = finished;
	assert_int_equal(store_writer_commit(w, &info), 0);
	id = store_writer_recording(w);
	store_writer_free(w);
	fixture_free(&f);
	return id;
}

/* The ids of the recordings, as a string of digits. */
static void retain_assert_ids(const char *path, const char *expected)
{
	struct store_recording *list;
	char ids[32] = "";
	size_t count;

	assert_int_equal(store_list_recordings(path, &list, &count, NULL), 0);
	for (size_t i = 0; i < count; i++)
		ids[i] = (char)('0' + list[i].id);
	store_recordings_free(list, count);
	assert_string_equal(ids, expected);
}

static size_t retain_size(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (size_t)st.st_size;
}

static void retain_by_age(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct store_writer *w;
	size_t before;

	(void)state;
	retain_record(path, 5000, true, 1);
	retain_record(path, 1000, true, 2);
	retain_record(path, 5000, false, 3); /* crashed long ago */
	retain_record(path, 100, true, 4);
	before = retain_size(path);
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0); /* itself of 2023 */
	assert_int_equal(store_writer_retain(w, 0, 0), 0);
	retain_assert_ids(path, "12345");
	assert_int_equal(store_writer_retain(w, 2000, 0), 2);
	retain_assert_ids(path, "245");
	assert_int_equal(store_writer_retain(w, 2000, 0), 0);
	store_writer_free(w);
	assert_true(retain_size(path) < before * 6 / 10);
	free(path);
	fixture_remove(folder);
}

static void retain_by_size(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct fixture kept = fixture_make(20000, 2000, 4);
	struct store_recording info = fixture_info();
	struct store_reader *r;
	struct store_writer *w;
	size_t one, each;

	(void)state;
	retain_record(path, 300, true, 1);
	one = retain_size(path);
	retain_record(path, 200, true, 2);
	each = retain_size(path) - one;
	retain_record(path, 5, false, 3); /* may still be running: stays */
	retain_record(path, 90, true, 4);
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	assert_int_equal(store_writer_retain(w, 0, 10 * one), 0);
	assert_int_equal(store_writer_retain(w, 0, one + each * 25 / 10), 1);
	retain_assert_ids(path, "2345");
	assert_int_equal(store_writer_retain(w, 0, one + each * 15 / 10), 1);
	retain_assert_ids(path, "345");
	r = fixture_open(path, 4);
	fixture_assert_paths(&kept, r);
	fixture_assert_samples(r, kept.samples, kept.n_samples);
	assert_int_equal(store_writer_retain(w, 0, 1),
			 1); /* beside a reader of the deleted recording */
	retain_assert_ids(path, "35");
	fixture_assert_samples(r, kept.samples, kept.n_samples);
	store_reader_close(r);
	assert_int_equal(store_writer_commit(w, &info), 0);
	store_writer_free(w);
	assert_true(retain_size(path) < one + each / 2);
	/* numbers are not given twice */
	assert_int_equal(retain_record(path, 0, true, 9), 6);
	fixture_free(&kept);
	free(path);
	fixture_remove(folder);
}

/* A discarded run leaves no recording, and does not touch the others. */
static void discard(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct store_writer *w;

	(void)state;
	retain_record(path, 100, true, 1);
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	retain_assert_ids(path, "12");
	assert_int_equal(store_writer_discard(w), 0);
	store_writer_free(w);
	retain_assert_ids(path, "1");
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retain_by_age),
		cmocka_unit_test(retain_by_size),
		cmocka_unit_test(discard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
