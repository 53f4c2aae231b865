/* SPDX-License-Identifier: MIT */
/* The daemon's files: what is read to find out whether a file may be opened, or is to be copied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mount_list.h"
#include "daemon/recorder/recorder_files.h"
#include "daemon/worker/wire.h"

#define FILES 16

/* No file can be read here. */
static void run_worker(int socket, void *page)
{
	const struct wire wire = {.socket = socket};
	const struct wire_header failed = {.kind = WIRE_REPLY, .status = -ENOEXEC};
	struct buf request = {0};
	struct wire_header header;
	int fd;

	(void)page;
	while (!wire_receive(&wire, WIRE_MAX_BYTES, &header, &request, &fd)) {
		if (fd >= 0)
			close(fd);
		if (wire_send(&wire, &failed, "", -1))
			_exit(0);
	}
}

/* Files apart from the root's file system: the list of mounts is read once for all of them. */
static void test_list_of_mounts_is_kept(void **state)
{
	struct recorder_files files = {0};
	struct fork_server *server;
	struct workers *workers;
	struct stat root, st;
	uint64_t read = 0;

	(void)state;
	if (stat("/", &root) || stat("/dev/shm", &st) || root.st_dev == st.st_dev)
		skip();
	/* Nobody else mounts anything here. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
	assert_int_equal(fork_server_new(run_worker, &server), 0);
	assert_int_equal(workers_new(server, 0, &workers), 0);
	assert_int_equal(
		recorder_files_init(&files, &(struct recorder_options){.workers = workers}), 0);
	for (int i = 0; i < FILES; i++) {
		char path[] = "/dev/shm/stackd-test-XXXXXX";
		struct object_mapping m = {.start = 4096, .end = 8192, .path = path};
		const struct object *object;
		int fd = mkstemp(path);

		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		m.inode = st.st_ino;
		m.dev_major = major(st.st_dev);
		m.dev_minor = minor(st.st_dev);
		object_table_resolve(files.objects, getpid(), &m, &object);
		unlink(path);
		close(fd);
		if (i == 0)
			read = mount_lists_read(files.mounts);
	}
	assert_true(read > 0);
	assert_int_equal(mount_lists_read(files.mounts), read);
	recorder_files_fini(&files);
	workers_free(workers);
	fork_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_list_of_mounts_is_kept)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
