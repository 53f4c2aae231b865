/* SPDX-License-Identifier: MIT */
/* The formats of /proc, with hostile names in them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/named_file.h"
#include "proc/proc_fs.h"
#include "test_proc_fixture.h"

struct seen {
	struct proc_fs_map maps[16];
	char *paths[16];
	int count, stop_after;
};

static int see_map(void *arg, const struct proc_fs_map *map)
{
	struct seen *seen = arg;

	if (seen->count < 16) {
		seen->maps[seen->count] = *map;
		seen->paths[seen->count] = strdup(map->path);
	}
	seen->count++;
	return seen->count == seen->stop_after ? 77 : 0;
}

static void forget(struct seen *seen)
{
	for (int i = 0; i < 16; i++)
		free(seen->paths[i]);
	memset(seen, 0, sizeof(*seen));
}

static const char maps_text[] =
	"55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1234                       /usr/bin/a b\n"
	"55d0c0001000-55d0c0002000 r-xp 00001000 fe:01 18446744073709551615       /usr/bin/a b\n"
	"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
	"7f0000002000-7f0000003000 r-xs 7fffffff000 103:1ff 7 /tmp/two\\012lines  \n"
	"7f0000004000-7f0000005000 r-xp 00000000 00:05 9      /memfd:x (deleted)\n"
	"7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0      [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static void test_maps(void **state)
{
	struct fixture *f = fixture_new();
	struct seen seen = {0};
	(void)state;

	fixture_write_pid(f, 10, "maps", maps_text);
	assert_int_equal(proc_fs_each_map(f->proc, 10, see_map, &seen), 0);
	assert_int_equal(seen.count, 7);
	assert_true(seen.maps[0].start == 0x55d0c0000000 && seen.maps[0].end == 0x55d0c0001000);
	assert_false(seen.maps[0].executable);
	assert_true(seen.maps[1].executable);
	assert_true(seen.maps[1].offset == 0x1000 && seen.maps[1].inode == UINT64_MAX);
	assert_true(seen.maps[1].dev_major == 0xfe && seen.maps[1].dev_minor == 1);
	assert_string_equal(seen.paths[1], "/usr/bin/a b");
	assert_string_equal(seen.paths[2], "");
	assert_true(seen.maps[2].inode == 0 && seen.maps[2].executable);
	assert_string_equal(seen.paths[3], "/tmp/two\nlines  ");
	assert_true(seen.maps[3].dev_major == 0x103 && seen.maps[3].dev_minor == 0x1ff);
	assert_true(seen.maps[3].offset == 0x7fffffff000);
	assert_string_equal(seen.paths[4], "/memfd:x (deleted)");
	assert_string_equal(seen.paths[5], "[vdso]");
	assert_true(seen.maps[6].start == 0xffffffffff600000 && seen.maps[6].executable);
	forget(&seen);

	seen.stop_after = 2;
	assert_int_equal(proc_fs_each_map(f->proc, 10, see_map, &seen), 77);
	assert_int_equal(seen.count, 2);
	forget(&seen);
	fixture_free(f);
}

static void test_maps_bad(void **state)
{
	static const char *const bad[] = {
		"hello\n",
		"1000-2000\n",
		"1000-2000 r-x",
		"1000-2000 r-xp 0 1:2\n",
		"1000-2000 r-xp 0 1:2 x\n",
		"10000000000000000-2000 r-xp 0 1:2 3 /x\n",
		" 1000-2000 r-xp 0 1:2 3 /x\n",
		"-1000-2000 r-xp 0 1:2 3 /x\n",
		"\n",
	};
	struct fixture *f = fixture_new();
	struct seen seen = {0};
	(void)state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		fixture_write_pid(f, 10, "maps", bad[i]);
		assert_int_equal(proc_fs_each_map(f->proc, 10, see_map, &seen), -EBADMSG);
	}
	assert_int_equal(seen.count, 0);
	assert_int_equal(proc_fs_each_map(f->proc, 11, see_map, &seen), -ESRCH);
	fixture_write_pid(f, 12, "maps", "");
	assert_int_equal(proc_fs_each_map(f->proc, 12, see_map, &seen), 0);
	assert_int_equal(seen.count, 0);
	fixture_free(f);
}

struct cut {
	char *path;
	unsigned count;
};

static int cut_file(void *arg, const struct proc_fs_map *map)
{
	struct cut *cut = arg;
	(void)map;

	if (!cut->count++)
		assert_int_equal(truncate(cut->path, 0), 0);
	return 0;
}

/* The memory is removed while its mappings are read: the file is empty from then on. */
static void test_maps_cut(void **state)
{
	struct fixture *f = fixture_new();
	struct cut cut = {.path = fixture_path(f, "proc/10/maps")};
	char *text = calloc(1, 65536);
	const unsigned lines = 1000; /* of 64 bytes, so that each block ends with a line */
	(void)state;

	for (unsigned i = 0; i < lines; i++)
		sprintf(text + strlen(text),
			"%06x000-%06x000 r-xp 00000000 fe:01 12 /usr/bin/program0000\n", 0x100 + i,
			0x101 + i);
	fixture_write_pid(f, 10, "maps", text);
	assert_int_equal(proc_fs_each_map(f->proc, 10, cut_file, &cut), -ESRCH);
	assert_in_range(cut.count, 1, lines - 1);
	/* Nothing shows that a list without further lines is whole. */
	cut.count = 0;
	fixture_write_pid(f, 10, "maps", "1000-2000 r-xp 00000000 fe:01 12 /usr/bin/a\n");
	assert_int_equal(proc_fs_each_map(f->proc, 10, cut_file, &cut), -ESRCH);
	assert_int_equal(cut.count, 1);
	free(text);
	free(cut.path);
	fixture_free(f);
}

static void test_stat(void **state)
{
	struct fixture *f = fixture_new();
	struct proc_fs_stat stat;
	char comm[PROC_FS_COMM_SIZE];
	(void)state;

	fixture_process(f, 20, 7, 4321, "a) R 1 (b", "");
	assert_int_equal(proc_fs_stat(f->proc, 20, &stat), 0);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 7);
	assert_int_equal(stat.start_ticks, 4321);
	assert_int_equal(proc_fs_comm(f->proc, 20, 20, comm), 0);
	assert_string_equal(comm, "a) R 1 (b");
	assert_int_equal(proc_fs_comm(f->proc, 20, 21, comm), -ESRCH);
	assert_int_equal(proc_fs_stat(f->proc, 21, &stat), -ESRCH);

	assert_false(stat.is_in_exec); /* it has no further fields */

	fixture_write_pid(f, 20, "stat", "20 (x) S 1\n");
	assert_int_equal(proc_fs_stat(f->proc, 20, &stat), -EBADMSG);
	fixture_write_pid(f, 20, "task/20/comm", "0123456789abcdefXYZ\n");
	assert_int_equal(proc_fs_comm(f->proc, 20, 20, comm), 0);
	assert_string_equal(comm, "0123456789abcde");
	fixture_write_pid(f, 20, "task/20/comm", "a\nb\n");
	assert_int_equal(proc_fs_comm(f->proc, 20, 20, comm), 0);
	assert_string_equal(comm, "a\nb");
	fixture_free(f);
}

static void test_status(void **state)
{
	struct fixture *f = fixture_new();
	struct proc_fs_status status;
	(void)state;

	fixture_write_pid(f, 30, "status",
			  "Name:\tUid:\\n\nUid:\t1000\t33\t0\t0\nNStgid:\t30\t12\t1\nNSpid:\t5\n");
	assert_int_equal(proc_fs_status(f->proc, 30, &status), 0);
	assert_int_equal(status.uid, 1000);
	assert_int_equal(status.euid, 33);
	assert_int_equal(status.ns_pid, 1);
	fixture_write_pid(f, 30, "status", "Name:\tx\nUid:\t5\t6\t0\t0\n");
	assert_int_equal(proc_fs_status(f->proc, 30, &status), 0);
	assert_int_equal(status.ns_pid, 30);
	fixture_write_pid(f, 30, "status", "");
	assert_int_equal(proc_fs_status(f->proc, 30, &status), -EBADMSG);
	fixture_free(f);
}

static int count_pids(void *arg, pid_t pid)
{
	int *sum = arg;

	*sum += pid;
	return 0;
}

static void test_folders(void **state)
{
	struct fixture *f = fixture_new();
	int sum = 0;
	(void)state;

	fixture_write_pid(f, 3, "task/3/comm", "x\n");
	fixture_write_pid(f, 3, "task/40/comm", "y\n");
	fixture_write_pid(f, 500, "maps", "");
	fixture_write(f, "proc/12ab/x", "", 0);
	fixture_write(f, "proc/self/x", "", 0);
	assert_int_equal(proc_fs_each_process(f->proc, count_pids, &sum), 0);
	assert_int_equal(sum, 503);
	sum = 0;
	assert_int_equal(proc_fs_each_task(f->proc, 3, count_pids, &sum), 0);
	assert_int_equal(sum, 43);
	assert_int_equal(proc_fs_each_task(f->proc, 4, count_pids, &sum), -ESRCH);
	fixture_free(f);
}

/* Links that lead out of the process's root stay inside; special files are not opened. */
static void test_root_files(void **state)
{
	struct fixture *f = fixture_new();
	char *out = fixture_path(f, "etc/secret");
	char *link = fixture_path(f, "proc/60/root/lib/link");
	char *fifo = fixture_path(f, "proc/60/root/fifo");
	char buf[8] = {0};
	(void)state;

	fixture_write(f, "etc/secret", "out", 3);
	fixture_write(f, "proc/60/root/etc/secret", "in", 2);
	assert_int_equal(symlink("/etc/secret", link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);

	int path_fd = proc_fs_root_file(f->proc, 60, "/lib/link", true, NULL);
	assert_true(path_fd >= 0);
	int fd = named_file_reopen(path_fd);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, buf, sizeof(buf)), 2);
	assert_string_equal(buf, "in");
	close(fd);
	close(path_fd);

	path_fd = proc_fs_root_file(f->proc, 60, "/lib/link", false, NULL);
	assert_true(path_fd >= 0);
	assert_int_equal(named_file_reopen(path_fd), -EACCES);
	close(path_fd);
	path_fd = proc_fs_root_file(f->proc, 60, "/fifo", true, NULL);
	assert_true(path_fd >= 0);
	assert_int_equal(named_file_reopen(path_fd), -EACCES);
	close(path_fd);
	assert_int_equal(proc_fs_root_file(f->proc, 60, "/none", true, NULL), -ENOENT);
	assert_int_equal(proc_fs_root_file(f->proc, 61, "/none", true, NULL), -ESRCH);
	free(out);
	free(link);
	free(fifo);
	fixture_free(f);
}

static int count_maps(void *arg, const struct proc_fs_map *map)
{
	int *count = arg;

	*count += map->executable;
	return 0;
}

static void test_huge_maps(void **state)
{
	struct fixture *f = fixture_new();
	char *text = malloc(100000 * 64), *at = text;
	int count = 0;
	(void)state;

	assert_non_null(text);
	for (unsigned i = 0; i < 100000; i++)
		at += sprintf(at, "%x-%x r%cxp 0 08:01 %u /x/%u\n", i << 13, (i << 13) + 0x1000,
			      i & 1 ? 'w' : '-', i + 1, i);
	fixture_write(f, "proc/70/maps", text, (size_t)(at - text));
	assert_int_equal(proc_fs_each_map(f->proc, 70, count_maps, &count), 0);
	assert_int_equal(count, 100000);
	free(text);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps),	   cmocka_unit_test(test_maps_bad),
		cmocka_unit_test(test_maps_cut),   cmocka_unit_test(test_stat),
		cmocka_unit_test(test_status),	   cmocka_unit_test(test_folders),
		cmocka_unit_test(test_root_files), cmocka_unit_test(test_huge_maps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
