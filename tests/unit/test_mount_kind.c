/* SPDX-License-Identifier: MIT */
/* Files on a FUSE mount that nobody serves: each call that asks its file system anything would wait
 * for ever. What is on such a mount, or behind it on a path, is found out and left alone. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mount_kind.h"
#include "base/mount_list.h"
#include "base/named_file.h"
#include "base/path_walk.h"
#include "elf/elf_file.h"
#include "proc/proc_fs.h"
#include "served_mount.h"

#define MOST_S 600 /* a call that waits is ended with the test */

static char folder[] = "/tmp/test-mount-kind-XXXXXX", mounted[64];
static int device = -1;

static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int begin(void **state)
{
	int fd;

	(void)state;
	alarm(MOST_S);
	if (!mkdtemp(folder) || chmod(folder, 0755))
		return -1;
	fd = open(below("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	close(fd);
	snprintf(mounted, sizeof(mounted), "%s/served", folder);
	/* In a namespace of its own: test_kept_lists() would see what others mount meanwhile. */
	if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		device = served_mount(mounted, false);
	return fd < 0 || symlink("served/file", below("into")) || symlink("..", below("up")) ? -1
											     : 0;
}

static int end(void **state)
{
	char command[96];

	(void)state;
	if (device >= 0) {
		close(device); /* ends what waits */
		umount2(mounted, MNT_DETACH);
	}
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static enum mount_kind kind_of_path(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	enum mount_kind kind = mount_kind_of(NULL, fd, "/proc", 0);

	close(fd);
	return kind;
}

static void test_kinds(void **state)
{
	int memory = memfd_create("test", MFD_CLOEXEC);
	(void)state;

	assert_int_equal(mount_kind_of(NULL, memory, "/proc", 0), MOUNT_LOCAL);
	assert_int_equal(mount_check(NULL, memory, "/proc", 0), 0);
	assert_int_equal(kind_of_path("/proc/self/status"), MOUNT_LOCAL);
	assert_int_equal(kind_of_path("/dev/null"), MOUNT_LOCAL);
	assert_int_equal(mount_kind_of(NULL, -1, "/proc", 0), MOUNT_UNKNOWN);
	close(memory);
	assert_int_equal(kind_of_path(below("file")), MOUNT_LOCAL);
	if (device < 0)
		skip();
	assert_int_equal(kind_of_path(mounted), MOUNT_SERVED);
}

/* Mounts an overlay of two folders, and returns the kind of its file system, or -1: it could not be
 * mounted. */
static int kind_of_overlay(const char *lower)
{
	char options[256], over[64];
	int kind = -1;

	snprintf(over, sizeof(over), "%s/over", folder);
	snprintf(options, sizeof(options), "lowerdir=%s", lower);
	mkdir(over, 0755);
	if (!mount("over", over, "overlay", 0, options)) {
		kind = (int)kind_of_path(over);
		umount2(over, MNT_DETACH);
	}
	rmdir(over);
	return kind;
}

/* An overlay is as its layers are, if the paths of these are known. */
static void test_overlays(void **state)
{
	char lower[128], first[64], here[256];
	int kind;
	(void)state;

	if (device < 0)
		skip();
	snprintf(first, sizeof(first), "%s/first", folder);
	assert_int_equal(mkdir(first, 0755), 0);
	snprintf(lower, sizeof(lower), "%s:%s/second", first, folder);
	assert_int_equal(mkdir(below("second"), 0755), 0);
	assert_int_equal(mount("none", first, "tmpfs", 0, NULL), 0);
	kind = kind_of_overlay(lower);
	if (kind >= 0) {
		assert_int_equal(kind, MOUNT_LOCAL);
		assert_non_null(getcwd(here, sizeof(here)));
		assert_int_equal(chdir(folder), 0);
		assert_int_equal(kind_of_overlay("first:second"), MOUNT_LAYERED);
		assert_int_equal(chdir(here), 0);
	}
	umount2(first, MNT_DETACH);
	rmdir(first);
	rmdir(below("second"));
}

/* Mounts an overlay in a mount namespace of its own, and waits to be killed. */
static void hide_overlay(int flags, const int *pipe_fds)
{
	char options[256], over[64];
	char is_mounted;

	snprintf(over, sizeof(over), "%s/over", folder);
	snprintf(options, sizeof(options), "lowerdir=%s/first:%s/second", folder, folder);
	is_mounted = !unshare(CLONE_NEWNS | flags) &&
		     !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		     !mount("over", over, "overlay", 0, options);
	if (write(pipe_fds[1], &is_mounted, 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

/* Returns the kind of an overlay that this process does not see; -1: it could not be mounted. */
static int kind_of_hidden(int flags)
{
	char path[96], is_mounted = 0;
	int fds[2], fd, kind = -1;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child)
		hide_overlay(flags, fds);
	assert_int_equal(read(fds[0], &is_mounted, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/root%s/over", (int)child, folder);
	fd = is_mounted ? open(path, O_PATH | O_CLOEXEC) : -1;
	if (fd >= 0) {
		kind = (int)mount_kind_of(NULL, fd, "/proc", child);
		assert_int_equal(mount_check(NULL, fd, "/proc", child), 0);
		close(fd);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fds[0]);
	close(fds[1]);
	return kind;
}

/* Of an overlay that only others see, it counts whether root has mounted it. */
static void test_hidden_overlays(void **state)
{
	static const char *const names[] = {"first", "second", "over"};
	int by_root, by_user;
	(void)state;

	if (device < 0)
		skip();
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(mkdir(below(names[i]), 0755), 0);
	by_root = kind_of_hidden(0);
	by_user = kind_of_hidden(CLONE_NEWUSER);
	for (size_t i = 0; i < 3; i++)
		rmdir(below(names[i]));
	assert_true(by_root < 0 || by_root == MOUNT_LAYERED);
	assert_true(by_user < 0 || by_user == MOUNT_FOREIGN);
	if (by_root < 0 || by_user < 0)
		skip();
}

/* Without descriptors nothing is known of a mount other than the root folder's, and the error says
 * so. */
static void test_no_descriptors(void **state)
{
	int fd = open("/proc/version", O_PATH | O_CLOEXEC);
	struct rlimit before, none;
	int err;
	(void)state;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = mount_check(NULL, fd, "/proc", 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err, -EMFILE);
	assert_int_equal(mount_check(NULL, fd, "/proc", 0), 0);
	close(fd);
}

/* Ends with 0 if a file is on a local mount for who has a root folder that is no mount point. */
static void look_below_root(void)
{
	char proc[64];

	snprintf(proc, sizeof(proc), "%s/proc", folder);
	if (mkdir(proc, 0755) || mount("/proc", proc, NULL, MS_BIND, NULL) || chroot(folder) ||
	    chdir("/"))
		_exit(2);
	_exit(kind_of_path("/file") != MOUNT_LOCAL);
}

/* The lists of mounts lack the root's own mount then. */
static void test_root_is_no_mount(void **state)
{
	char proc[64];
	int status;
	pid_t child;
	(void)state;

	if (device < 0)
		skip();
	child = fork();
	if (!child)
		look_below_root();
	assert_int_equal(waitpid(child, &status, 0), child);
	snprintf(proc, sizeof(proc), "%s/proc", folder);
	umount2(proc, MNT_DETACH);
	assert_int_equal(status, 0);
}

static void test_stat_does_not_ask(void **state)
{
	struct stat st, of_path;
	int fd;
	(void)state;

	if (device < 0)
		skip();
	fd = open(mounted, O_PATH | O_CLOEXEC);
	assert_int_equal(mount_stat(fd, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(mount_stat_path(mounted, &of_path), 0);
	assert_true(st.st_dev == of_path.st_dev && st.st_ino == of_path.st_ino);
	close(fd);
	fd = open(below("file"), O_PATH | O_CLOEXEC);
	assert_int_equal(mount_stat(fd, &st), 0);
	assert_int_equal(fstat(fd, &of_path), 0);
	assert_true(st.st_dev == of_path.st_dev && st.st_ino == of_path.st_ino &&
		    st.st_size == of_path.st_size && st.st_mode == of_path.st_mode &&
		    st.st_uid == of_path.st_uid && st.st_nlink == of_path.st_nlink &&
		    st.st_ctim.tv_sec == of_path.st_ctim.tv_sec &&
		    st.st_ctim.tv_nsec == of_path.st_ctim.tv_nsec &&
		    st.st_mtim.tv_nsec == of_path.st_mtim.tv_nsec);
	close(fd);
}

static void test_walks_stop_before_it(void **state)
{
	static const char *const names[] = {"served", "served/file", "served/..", "into"};
	(void)state;

	if (device < 0)
		skip();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(named_file_open_for(below(names[i]), 0), -EREMOTE);
		assert_int_equal(proc_fs_root_file("/proc", getpid(), below(names[i]), true, NULL),
				 -EREMOTE);
	}
	assert_true(named_file_open_for(below("file"), 0) >= 0);
}

/* Lists of mounts are read once, as long as they are true. */
static void test_kept_lists(void **state)
{
	struct mount_lists *lists;
	uint64_t read;
	char over[64];
	int fd, again;
	(void)state;

	if (device < 0)
		skip();
	snprintf(over, sizeof(over), "%s/over", folder);
	assert_int_equal(mkdir(over, 0755), 0);
	assert_int_equal(mount("none", over, "tmpfs", 0, NULL), 0);
	fd = open(over, O_PATH | O_CLOEXEC);
	assert_int_equal(mount_lists_new(&lists), 0);
	assert_int_equal(mount_kind_of(lists, fd, "/proc", 0), MOUNT_LOCAL);
	read = mount_lists_read(lists);
	assert_true(read > 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(mount_kind_of(lists, fd, "/proc", getpid()), MOUNT_LOCAL);
	assert_int_equal(mount_lists_read(lists), read);

	/* The same folder has another mount at once. */
	assert_int_equal(mount(mounted, over, NULL, MS_BIND, NULL), 0);
	again = open(over, O_PATH | O_CLOEXEC);
	assert_int_equal(mount_kind_of(lists, again, "/proc", 0), MOUNT_SERVED);
	assert_int_equal(mount_lists_read(lists), read + 1);

	/* A list that nobody asks for is given up, and read again. */
	mount_lists_rest(lists, clock_ns(CLOCK_MONOTONIC));
	assert_int_equal(mount_kind_of(lists, again, "/proc", 0), MOUNT_SERVED);
	assert_int_equal(mount_lists_read(lists), read + 1);
	mount_lists_rest(lists, clock_ns(CLOCK_MONOTONIC) + UINT64_C(1000000000000));
	assert_int_equal(mount_kind_of(lists, again, "/proc", 0), MOUNT_SERVED);
	assert_int_equal(mount_lists_read(lists), read + 2);
	mount_lists_free(lists);
	close(again);
	close(fd);
	assert_int_equal(umount2(over, MNT_DETACH), 0);
	assert_int_equal(umount2(over, MNT_DETACH), 0);
	rmdir(over);
}

/* What is asked of an open file now and then waits for no server either. */
static void test_open_file_does_not_ask(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *file;
	(void)state;

	if (device < 0)
		skip();
	assert_int_equal(elf_file_open_any(fd, &file), 0);
	close(fd);
	assert_false(elf_file_is_touched(file));
	/* From now on, its descriptor is of a file there. */
	fd = open(mounted, O_PATH | O_CLOEXEC);
	assert_true(dup2(fd, elf_file_descriptor(file)) >= 0);
	assert_true(elf_file_is_touched(file));
	assert_true(elf_file_is_written(file));
	assert_false(elf_file_is_deleted(file));
	elf_file_changed_ns(file);
	elf_file_free(file);
	close(fd);
}

/* A folder below which a walk must stay, as in a process's root. */
static void test_walks_stay_below_the_root(void **state)
{
	struct path_walk how = {.proc_root = "/proc", .follows_last = true};
	struct stat root, st;
	int fd;
	(void)state;

	how.root = open(folder, O_PATH | O_CLOEXEC);
	assert_int_equal(fstat(how.root, &root), 0);
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = {"..", "/../..", "up", "up/../."};

		fd = path_walk(&how, names[i]);
		assert_true(fd >= 0 && !fstat(fd, &st));
		assert_true(st.st_ino == root.st_ino && st.st_dev == root.st_dev);
		close(fd);
	}
	how.follows_last = false;
	fd = path_walk(&how, "up");
	assert_true(fd >= 0 && !fstat(fd, &st) && S_ISLNK(st.st_mode));
	close(fd);
	assert_int_equal(path_walk(&how, "file/x"), -ENOTDIR);
	assert_int_equal(path_walk(&how, "none"), -ENOENT);
	close(how.root);
}

/* Once it is unmounted, while a descriptor is open, no list has the mount: it is not trusted. */
static void test_unmounted(void **state)
{
	int fd, copy;
	(void)state;

	if (device < 0)
		skip();
	fd = open(mounted, O_PATH | O_CLOEXEC);
	assert_int_equal(umount2(mounted, MNT_DETACH), 0);
	assert_int_equal(mount_kind_of(NULL, fd, "/proc", getpid()), MOUNT_UNKNOWN);
	assert_int_equal(mount_check(NULL, fd, "/proc", getpid()), -ENOLINK);
	copy = path_walk(&(struct path_walk){.root = fd, .proc_root = "/proc"}, "file");
	assert_int_equal(copy, -ENOLINK);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_overlays),
		cmocka_unit_test(test_hidden_overlays),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_root_is_no_mount),
		cmocka_unit_test(test_stat_does_not_ask),
		cmocka_unit_test(test_kept_lists),
		cmocka_unit_test(test_open_file_does_not_ask),
		cmocka_unit_test(test_walks_stop_before_it),
		cmocka_unit_test(test_walks_stay_below_the_root),
		cmocka_unit_test(test_unmounted),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
