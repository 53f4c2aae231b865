/* SPDX-License-Identifier: MIT */
/* Names that lead to what must not be opened: pipes, devices, the kernel's own interfaces, files of
 * others behind links, hard links, and mounts of a user's own namespace. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/named_file.h"
#include "proc/perf_map.h"

#define USER  61001 /* no account has these */
#define OTHER 61002

static char folder[] = "/tmp/test-named-file-XXXXXX";

static const char *below(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void make_file(const char *name, uid_t owner, mode_t mode)
{
	int fd = open(below(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "10 10 x\n", 8), 8);
	assert_int_equal(fchown(fd, owner, (gid_t)-1), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void make_folder(const char *name, uid_t owner, mode_t mode)
{
	assert_int_equal(mkdir(below(name), 0700), 0);
	assert_int_equal(chown(below(name), owner, (gid_t)-1), 0);
	assert_int_equal(chmod(below(name), mode), 0);
}

static void make_link(const char *name, const char *target, uid_t owner)
{
	assert_int_equal(symlink(target, below(name)), 0);
	assert_int_equal(lchown(below(name), owner, (gid_t)-1), 0);
}

static int begin(void **state)
{
	(void)state;
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	return mkdtemp(folder) && !chmod(folder, 0755) ? 0 : -1;
}

static int end(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* Returns what an opening function has returned, and closes the descriptor: 0 or -errno. */
static int closed(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void test_kinds_of_files(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)state;

	make_file("file", getuid(), 0644);
	assert_int_equal(closed(named_file_open(below("file"))), 0);
	make_link("link", "file", getuid());
	assert_int_equal(closed(named_file_open(below("link"))), 0);
	assert_int_equal(named_file_open(below("none")), -ENOENT);
	assert_int_equal(named_file_open(folder), -EACCES);
	assert_int_equal(mkfifo(below("pipe"), 0644), 0);
	assert_int_equal(named_file_open(below("pipe")), -EACCES); /* and does not block */
	make_link("to-pipe", "pipe", getuid());
	make_link("to-to-pipe", below("to-pipe"), getuid());
	assert_int_equal(named_file_open(below("to-to-pipe")), -EACCES);
	make_link("to-device", "/dev/null", getuid());
	assert_int_equal(named_file_open(below("to-device")), -EACCES);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", below("socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(named_file_open(below("socket")), -EACCES);
	close(fd);
	make_link("round", "round", getuid());
	assert_int_equal(named_file_open(below("round")), -ELOOP);
}

/* Regular files that are the kernel's: of all file systems of that kind that are mounted here, and
 * through a link. Memory files have no blocks either, and are opened. */
static void test_interfaces_of_the_kernel(void **state)
{
	static const char *const files[] = {
		"/proc/self/status",
		"/proc/kallsyms",
		"/proc/sys/kernel/pid_max",
		"/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/kernel/tracing/trace_pipe",
		"/sys/kernel/debug/sleep_time",
		"/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/unified/cgroup.procs",
	};
	int memory = memfd_create("test", MFD_CLOEXEC);
	char path[64];
	(void)state;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		int err = named_file_open(files[i]);

		assert_true(err == -EACCES || err == -ENOENT);
	}
	assert_int_equal(named_file_open("/proc/self/status"), -EACCES);
	make_link("to-proc", "/proc/self/status", getuid());
	assert_int_equal(named_file_open(below("to-proc")), -EACCES);
	assert_int_equal(named_file_open_for("/proc/self/status", 0), -EACCES);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	assert_int_equal(closed(named_file_open(path)), 0);
	close(memory);
}

static int reopen_of(const char *name, uid_t one, uid_t two)
{
	int path_fd = open(below(name), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int err = closed(named_file_reopen_of(path_fd, one, two));

	close(path_fd);
	return err;
}

static void test_owners(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	make_file("users", USER, 0600);
	make_file("roots", 0, 0644);
	assert_int_equal(reopen_of("users", USER, OTHER), 0);
	assert_int_equal(reopen_of("users", OTHER, USER), 0);
	assert_int_equal(reopen_of("users", OTHER, 0), -EACCES);
	assert_int_equal(reopen_of("roots", USER, USER), -EACCES);
	assert_int_equal(reopen_of("roots", USER, 0), 0);
	/* A second name that a user has given to root's file, and chosen. */
	assert_int_equal(link(below("roots"), below("second")), 0);
	assert_int_equal(reopen_of("second", USER, 0), -EACCES);
	make_link("link", "users", USER);
	assert_int_equal(reopen_of("link", USER, USER), -EACCES);
}

/* Whose file a name may lead to, by way of whose folders and links. `user`: 0 if the rights of
 * everybody decide. */
static const struct {
	const char *path;
	uid_t user;
	int result;
} ways[] = {
	{"open/file", 0, 0},
	{"open/secret", 0, -EPERM},
	{"open/secret", USER, -EPERM},
	{"open/mine", USER, 0}, /* mode 0600, the user's own */
	{"open/mine", 0, -EPERM},
	{"open/mine", OTHER, -EPERM},
	/* root's closed folder: what is in it was put there by root, whoever may read it */
	{"closed/file", 0, 0},
	{"closed/secret", 0, -EPERM},
	/* a user's closed folder, for himself and for others */
	{"home/file", USER, 0},
	{"home/file", OTHER, -EPERM},
	{"home/file", 0, -EPERM},
	/* a user's links out of his folder */
	{"home/to-open", USER, 0},
	{"home/to-closed", USER, -EPERM},
	{"home/to-secret", USER, -EPERM},
	{"home/up", USER, -EPERM},
	{"home/folder/file", USER, -EPERM},
	/* a chain of links, of which the middle one is the user's */
	{"first", USER, -EPERM},
	{"first", 0, -EPERM},
	/* root's own link into root's closed folder */
	{"roots-link", 0, 0},
	/* a folder where everybody may make files: root's link there can be a second name
	 */
	{"shared/to-closed", 0, -EPERM},
	{"shared/folder/file", 0, 0}, /* a folder has no second name */
	{"loose/folder/file", 0, -EPERM},
	{"home/pipe", USER, -EACCES},
	{"open/none", 0, -ENOENT},
	{"open/file/more", 0, -ENOTDIR},
	{"home/round", USER, -ELOOP},
};

static void make_ways(void)
{
	make_folder("open", 0, 0755);
	make_file("open/file", 0, 0644);
	make_file("open/secret", 0, 0600);
	make_file("open/mine", USER, 0600);
	make_folder("closed", 0, 0700);
	make_file("closed/file", 0, 0644);
	make_file("closed/secret", 0, 0600);
	make_folder("home", USER, 0700);
	make_file("home/file", USER, 0600);
	make_link("home/to-open", "../open/file", USER);
	make_link("home/to-closed", below("closed/file"), USER);
	make_link("home/to-secret", below("open/secret"), USER);
	make_link("home/up", "../closed/file", USER);
	make_link("home/folder", "../closed", USER);
	make_link("first", "home/second", 0);
	make_link("home/second", "../third", USER);
	make_link("third", "closed/file", 0);
	make_link("roots-link", "closed/file", 0);
	make_folder("shared", 0, 01777);
	make_link("shared/to-closed", "../closed/file", 0);
	make_folder("shared/folder", 0, 0700);
	make_file("shared/folder/file", 0, 0644);
	make_folder("loose", 0, 0777);
	make_folder("loose/folder", 0, 0700);
	make_file("loose/folder/file", 0, 0644);
	assert_int_equal(mkfifo(below("home/pipe"), 0666), 0);
	make_link("home/round", "round", USER);
}

static void test_ways(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	make_ways();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		int is = closed(named_file_open_for(below(ways[i].path), ways[i].user));

		if (is != ways[i].result)
			fail_msg("%s for %u: %d instead of %d", ways[i].path, ways[i].user, is,
				 ways[i].result);
	}
	assert_int_equal(named_file_open_for("open/file", 0), -EPERM);
}

static void test_long_paths(void **state)
{
	char path[2 * PATH_MAX], name[NAME_MAX + 3];
	(void)state;

	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(named_file_open_for(path, 0), -ENAMETOOLONG);
	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(named_file_open_for(name, 0), -ENAMETOOLONG);
	assert_int_equal(named_file_open_for("/", 0), -EACCES);
	assert_int_equal(named_file_open_for("", 0), -EPERM);
}

/* --- mounts of a user's own ------------------------------------------------------------------ */

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_written;
}

/* As a user without rights: makes namespaces of its own, and mounts `file` over its map of JIT
 * code. Says "+" on `to` and waits for its end, or "-" where the kernel does not let it. */
static void be_user(const char *file, int to)
{
	char map[64], path[64];
	const char *answer = "-";
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	snprintf(map, sizeof(map), "%d %d 1\n", USER, USER);
	if (!setresgid(USER, USER, USER) && !setresuid(USER, USER, USER) &&
	    !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) && /* /proc/self is the user's */
	    !unshare(CLONE_NEWUSER | CLONE_NEWNS) && write_text("/proc/self/uid_map", map)) {
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		close(fd);
		if (!mount(file, path, NULL, MS_BIND, NULL))
			answer = "+";
	}
	if (write(to, answer, 1) == 1)
		pause();
	_exit(0);
}

/* Returns how the map of a process is read that has mounted `file` over it; 1: users may not make
 * namespaces here. */
static int read_mounted(const char *file)
{
	struct perf_map *map = NULL;
	struct jit_owner owner;
	char path[64], answer = '-';
	int ends[2], err = 1;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		be_user(file, ends[1]);
	assert_true(pid > 0);
	assert_int_equal(read(ends[0], &answer, 1), 1);
	if (answer == '+') {
		jit_owner_find("/proc", pid, &owner);
		assert_int_equal(owner.uid, USER);
		err = perf_map_load("/proc", &owner, &map);
		perf_map_free(map);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	unlink(path);
	close(ends[0]);
	close(ends[1]);
	return err;
}

static void test_mounted_over_a_map(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	make_file("mine", USER, 0600);
	make_file("secret", 0, 0600);
	make_file("open", 0, 0644);
	if (read_mounted(below("mine")) == 1)
		skip();
	assert_int_equal(read_mounted(below("mine")), 0);
	assert_int_equal(read_mounted(below("secret")), -EACCES);
	assert_int_equal(read_mounted(below("open")), -EACCES);
	assert_int_equal(read_mounted("/proc/kmsg"), -EACCES);
	assert_int_equal(read_mounted("/proc/self/status"), -EACCES);
	assert_int_equal(read_mounted("/dev/null"), -EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kinds_of_files, begin, end),
		cmocka_unit_test_setup_teardown(test_interfaces_of_the_kernel, begin, end),
		cmocka_unit_test_setup_teardown(test_owners, begin, end),
		cmocka_unit_test_setup_teardown(test_ways, begin, end),
		cmocka_unit_test_setup_teardown(test_mounted_over_a_map, begin, end),
		cmocka_unit_test(test_long_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
