/* SPDX-License-Identifier: MIT */
/* A store that one process has to itself for writing windows, and what becomes of it. */
#include "store_fixture.h"

#include <errno.h>
#include <sys/stat.h>

/* A store is reserved for one; a deleted one is noticed, and the next can be reserved again. */
static void reserves(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct store_writer *w;
	int first, second = -1;
	struct stat st;

	(void)state;
	assert_int_equal(store_writer_reserve(path, &first), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(store_writer_reserve(path, &second), -EBUSY);
	assert_int_equal(second, -1);
	assert_int_equal(store_writer_new(path, &info, &w, NULL), 0);
	assert_false(store_writer_has_moved(w));
	assert_int_equal(unlink(path), 0);
	assert_true(store_writer_has_moved(w));
	assert_int_equal(store_writer_reserve(path, &second), 0);
	assert_true(store_writer_has_moved(w));
	store_writer_free(w);
	close(first);
	close(second);
	assert_int_equal(store_writer_reserve("/nowhere/s.db", &first), -ENOENT);
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(reserves)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
