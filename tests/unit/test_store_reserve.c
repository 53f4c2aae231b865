/* SPDX-License-Identifier: MIT */
/* A store that one process has to itself for writing windows, and what becomes of it. */
#include "store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/fsuid.h>
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

/* A file that another user has made beforehand, who could read what is written, is refused; but not
 * that of the user who has called sudo. */
static void of_another_user(void **state)
{
	char folder[] = "/tmp/test-store-reserve-XXXXXX", path[64];
	int fd;
	(void)state;

	if (geteuid())
		skip();
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/store.db", folder);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	assert_int_equal(fchown(fd, 61001, 61001), 0);
	close(fd);
	unsetenv("SUDO_UID");
	assert_int_equal(store_writer_reserve(path, &fd), -EPERM);
	setenv("SUDO_UID", "61002", 1);
	assert_int_equal(store_writer_reserve(path, &fd), -EPERM);
	setenv("SUDO_UID", "61001", 1);
	assert_int_equal(store_writer_reserve(path, &fd), 0);
	close(fd);
	unsetenv("SUDO_UID");
	assert_int_equal(chown(path, geteuid(), 0), 0);
	assert_int_equal(store_writer_reserve(path, &fd), 0);
	close(fd);
	unlink(path);
	rmdir(folder);
}

/* Where file systems map users, as NFS does root's (root_squash), a new file belongs to another
 * user than this process. Such a store is written to, in the first run and in others. */
static void where_users_are_mapped(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct store_recording info = fixture_info();
	struct store_writer *w;
	int fd, again;
	(void)state;

	if (geteuid()) {
		free(path);
		fixture_remove(folder);
		skip();
	}
	unsetenv("SUDO_UID");
	assert_int_equal(chown(folder, 61001, 61001), 0);
	setfsuid(61001); /* new files belong to this user */
	assert_int_equal(store_writer_reserve(path, &fd), 0);
	again = store_writer_new(path, &info, &w, NULL);
	setfsuid(0);
	assert_int_equal(again, 0);
	store_writer_free(w);
	close(fd);
	assert_int_equal(store_writer_reserve(path, &fd), -EPERM);
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(reserves),
					   cmocka_unit_test(of_another_user),
					   cmocka_unit_test(where_users_are_mapped)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
