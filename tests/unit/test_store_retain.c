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
	struct recording f = fixture_make(20000, 2000, seed);
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
	free_recording(&f);
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
	struct recording kept = fixture_make(20000, 2000, 4);
	struct store_recording info = fixture_info();
	struct store_reader *r;
	struct store_writer *w;
	const size_t wal = 128 << 10; /* the part of a small limit that is left to the WAL */
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
	assert_int_equal(store_writer_retain(w, 0, wal + one + each * 25 / 10), 1);
	retain_assert_ids(path, "2345");
	assert_int_equal(store_writer_retain(w, 0, wal + one + each * 15 / 10), 1);
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
	free_recording(&kept);
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

/* What the store takes on the disk. */
static size_t retain_disk(const char *path)
{
	char *wal;
	size_t bytes;

	assert_true(asprintf(&wal, "%s-wal", path) > 0);
	bytes = retain_size(path) + retain_size(wal);
	free(wal);
	return bytes;
}

/* What a large window of the test below takes. */
static size_t retain_window_size(const char *folder)
{
	char *path = fixture_path(folder, "one.db");
	size_t bytes;

	retain_record(path, 0, true, 1);
	bytes = retain_size(path);
	free(path);
	return bytes;
}

/* Large and small windows below a limit of 2 MB: at any commit the store takes the limit and one
 * window at most, and after each turn the newest ones that fit are left. */
static void retain_while_running(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	const size_t limit = 2 << 20, largest = retain_window_size(folder);
	struct store_recording info = fixture_info(), *list;
	size_t peak = 0, early = 0, count;
	struct store_writer *w;

	(void)state;
	info.start_unix_ns = retain_now_ns();
	info.run = 1;
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	for (uint64_t i = 0; i < 40; i++) {
		struct recording f = fixture_make(i % 7 ? 20000 : 10000, 2000, i);

		for (unsigned share = 0; share <= 100; share += 20) {
			fixture_put(&f, w, share);
			info.finished = share == 100;
			assert_int_equal(store_writer_commit(w, &info), 0);
			peak = retain_disk(path) > peak ? retain_disk(path) : peak;
		}
		info.finished = false;
		assert_int_equal(store_writer_next_window(w, &info), 0);
		assert_true(store_writer_retain(w, 0, limit) >= 0);
		if (i == 20)
			early = peak;
		free_recording(&f);
	}
	assert_true(early > limit * 3 / 4);
	assert_true(peak <= limit + largest);
	assert_true(peak <= early + largest / 4); /* it does not creep up */
	assert_int_equal(store_list_recordings(path, &list, &count, NULL), 0);
	assert_true(count >= limit / 2 / largest && count <= 2 * limit / largest);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(list[i].id, 41 - count + i + 1);
	store_recordings_free(list, count);
	store_writer_free(w);
	free(path);
	fixture_remove(folder);
}

/* Windows are deleted when their end, not their run's, is too long ago. */
static void retain_windows_by_age(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct store_writer *w;

	(void)state;
	info.run = 1;
	info.start_unix_ns = retain_now_ns() - UINT64_C(5000) * 1000000000;
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	for (int i = 0; i < 5; i++) {
		info.end_ns = info.start_ns + UINT64_C(1000) * 1000000000;
		info.finished = true;
		assert_int_equal(store_writer_commit(w, &info), 0);
		info.finished = false;
		info.start_ns = info.end_ns;
		info.start_unix_ns += UINT64_C(1000) * 1000000000;
		assert_int_equal(store_writer_next_window(w, &info), 0);
	}
	retain_assert_ids(path, "123456");
	assert_int_equal(store_writer_retain(w, 2500, 0), 2);
	retain_assert_ids(path, "3456");
	assert_int_equal(store_writer_retain(w, 500, 0), 2); /* one ended just now */
	retain_assert_ids(path, "56");
	store_writer_free(w);
	free(path);
	fixture_remove(folder);
}

/* The oldest is dropped, never the one at hand, and the file shrinks. */
static void drops_oldest(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct store_writer *w;
	size_t before;

	(void)state;
	retain_record(path, 5000, true, 1);
	retain_record(path, 4000, true, 2);
	before = retain_size(path);
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	assert_int_equal(store_writer_drop_oldest(w), 1);
	retain_assert_ids(path, "23");
	assert_true(retain_size(path) < before * 3 / 4);
	assert_int_equal(store_writer_drop_oldest(w), 1);
	assert_int_equal(store_writer_drop_oldest(w), 0);
	retain_assert_ids(path, "3");
	store_writer_free(w);
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retain_by_age),
		cmocka_unit_test(retain_by_size),
		cmocka_unit_test(discard),
		cmocka_unit_test(retain_while_running),
		cmocka_unit_test(retain_windows_by_age),
		cmocka_unit_test(drops_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
