/* SPDX-License-Identifier: MIT */
/* perf-PID.map files: formats, overlaps, whose they are, also after their process's end, and files
 * that are not what they seem. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proc/perf_map.h"
#include "test_proc_fixture.h"

#define MAP "proc/90/root/tmp/perf-90.map"

#define NAMES 3 /* of random lines */

enum { NONE = -1, DIFFER = -2 };

static int load_of_90(struct fixture *f, struct perf_map **ret_map)
{
	struct jit_owner owner;

	jit_owner_find(f->proc, 90, &owner);
	return perf_map_load(f->proc, &owner, ret_map);
}

static struct perf_map *load(struct fixture *f, const void *text, size_t len)
{
	struct perf_map *map = NULL;

	fixture_process(f, 90, 1, 5, "node", "");
	fixture_write(f, MAP, text, len);
	assert_int_equal(load_of_90(f, &map), 0);
	return map;
}

static void check(const struct perf_map *map, uint64_t address, const char *name, uint64_t start)
{
	uint64_t found = 0;
	const char *is = perf_map_find(map, address, &found);

	if (!name) {
		assert_null(is);
		return;
	}
	assert_non_null(is);
	assert_string_equal(is, name);
	assert_int_equal(found, start);
}

static void test_lines(void **state)
{
	static const char text[] = "1000 10 LazyCompile:~f /x.js:1:2\n"
				   "0x2000 0X20 with 0x\n"
				   "nonsense\n"
				   "3000 0 empty\n"
				   "4000 10 \n"
				   "5000 10\n"
				   "\n"
				   "ffffffffffffffff 2 wraps\n"
				   "11111111111111111 2 long\n"
				   "6000 10  two  blanks \n"
				   "7000 10 nul\0here\n"
				   "FFFFFFFFFFFFF000 fff top\n"
				   "8000 10 not ended";
	struct fixture *f = fixture_new();
	struct perf_map *map = load(f, text, sizeof(text) - 1);
	(void)state;

	check(map, 0xfff, NULL, 0);
	check(map, 0x1000, "LazyCompile:~f /x.js:1:2", 0x1000);
	check(map, 0x100f, "LazyCompile:~f /x.js:1:2", 0x1000);
	check(map, 0x1010, NULL, 0);
	check(map, 0x201f, "with 0x", 0x2000);
	check(map, 0x3000, NULL, 0);
	check(map, 0x4000, NULL, 0);
	check(map, 0x6000, "two  blanks ", 0x6000);
	check(map, 0x7000, NULL, 0);
	check(map, 0x8000, NULL, 0);
	check(map, UINT64_C(0xfffffffffffff001), "top", UINT64_C(0xfffffffffffff000));
	check(map, UINT64_MAX, NULL, 0);
	assert_int_equal(perf_map_skipped_lines(map), 9);
	perf_map_free(map);
	perf_map_free(NULL);
	fixture_free(f);
}

static void test_overlaps(void **state)
{
	static const char text[] = "100 300 f\n200 100 g\n200 80 h\n"
				   "1000 100 again\n1000 80 again\n1040 80 again\n";
	struct fixture *f = fixture_new();
	struct perf_map *map = load(f, text, sizeof(text) - 1);
	(void)state;

	check(map, 0x1ff, "f", 0x100);
	check(map, 0x27f, NULL, 0);
	check(map, 0x280, NULL, 0);
	check(map, 0x300, "f", 0x100);
	check(map, 0x400, NULL, 0);
	check(map, 0x1000, "again", 0x1000);
	check(map, 0x10bf, "again", 0x1040);
	check(map, 0x10c0, "again", 0x1000);
	perf_map_free(map);
	fixture_free(f);
}

/* Random lines of few names against a table with one cell per address: the last line, or that the
 * lines differ. */
static void test_against_model(void **state)
{
	struct fixture *f = fixture_new();
	(void)state;

	srand(7);
	for (int round = 0; round < 60; round++) {
		int model[256], lines = 1 + rand() % 60;
		unsigned starts[60];
		char text[60 * 32], *at = text;
		for (int a = 0; a < 256; a++)
			model[a] = NONE;
		for (int i = 0; i < lines; i++) {
			unsigned start = (unsigned)rand() % 256;
			unsigned size = 1 + (unsigned)rand() % (256 - start);
			at += sprintf(at, "%x %x %d\n", start, size, i % NAMES);
			starts[i] = start;
			for (unsigned a = start; a < start + size; a++)
				model[a] = model[a] == NONE || (model[a] >= 0 &&
								model[a] % NAMES == i % NAMES)
						   ? i
						   : DIFFER;
		}
		struct perf_map *map = load(f, text, (size_t)(at - text));
		for (unsigned a = 0; a < 256; a++) {
			char name[16];
			snprintf(name, sizeof(name), "%d", model[a] % NAMES);
			check(map, a, model[a] < 0 ? NULL : name,
			      model[a] < 0 ? 0 : starts[model[a]]);
		}
		perf_map_free(map);
	}
	fixture_free(f);
}

/* A process in a container: its own pid names the file. */
static void test_namespace(void **state)
{
	struct fixture *f = fixture_new();
	struct perf_map *map = NULL;
	char *status = fixture_format("Uid:\t%u\t%u\t0\t0\nNStgid:\t90\t1\n", getuid(), geteuid());
	(void)state;

	fixture_process(f, 90, 1, 5, "node", "");
	fixture_write(f, "proc/90/root/tmp/perf-1.map", "10 10 x\n", 8);
	fixture_write_pid(f, 90, "status", status);
	assert_int_equal(load_of_90(f, &map), 0);
	check(map, 0x10, "x", 0x10);
	perf_map_free(map);
	free(status);
	fixture_free(f);
}

static void test_refused(void **state)
{
	struct fixture *f = fixture_new();
	struct perf_map *map = NULL;
	char *path = fixture_path(f, MAP), *other = fixture_path(f, "proc/90/root/tmp/other");
	(void)state;

	assert_int_equal(load_of_90(f, &map), -ENOENT); /* no process */
	fixture_process(f, 90, 1, 5, "node", "");
	assert_int_equal(load_of_90(f, &map), -ENOENT); /* no file */

	fixture_write(f, "proc/90/root/tmp/other", "10 10 x\n", 8);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(load_of_90(f, &map), -EACCES);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(load_of_90(f, &map), -EACCES);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(load_of_90(f, &map), -EACCES); /* and does not block */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(load_of_90(f, &map), -EACCES);
	assert_null(map);
	free(path);
	free(other);
	fixture_free(f);
}

static void test_foreign_owner(void **state)
{
	struct perf_map *map = NULL;
	(void)state;

	if (geteuid())
		skip();
	struct fixture *f = fixture_new();
	char *path = fixture_path(f, MAP);
	fixture_process(f, 90, 1, 5, "node", "");
	fixture_write_pid(f, 90, "status", "Uid:\t1000\t1001\t0\t0\nNStgid:\t90\n");
	fixture_write(f, MAP, "10 10 x\n", 8);
	static const struct {
		uid_t owner;
		int result;
	} cases[] = {{0, -EACCES}, {1000, 0}, {1001, 0}, {1002, -EACCES}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(chown(path, cases[i].owner, 0), 0);
		assert_int_equal(load_of_90(f, &map), cases[i].result);
		perf_map_free(map);
		map = NULL;
	}
	free(path);
	fixture_free(f);
}

/* Gives a process of the fixture the root and the mounts of another one. */
static void share_files(struct fixture *f, pid_t of, pid_t with)
{
	static const char *const links[] = {"root", "ns/mnt"};

	for (size_t i = 0; i < 2; i++) {
		char *from = fixture_format("proc/%d/%s", of, links[i]);
		char *to = fixture_format("%s/proc/%d/%s", f->root, with, links[i]);
		char *link = fixture_path(f, from);

		assert_int_equal(symlink(to, link), 0);
		free(from);
		free(to);
		free(link);
	}
}

static void write_map(struct fixture *f, pid_t pid, time_t modified)
{
	char *name = fixture_format("proc/%d/root/tmp/perf-90.map", pid);
	char *path = fixture_path(f, name);
	const struct timespec times[2] = {{.tv_sec = modified}, {.tv_sec = modified}};

	fixture_write(f, name, "10 10 x\n", 8);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	free(path);
	free(name);
}

static int load_ended(struct fixture *f, const struct jit_owner *owner)
{
	struct perf_map *map = NULL;
	int err = perf_map_load(f->proc, owner, &map);

	if (!err)
		check(map, 0x10, "x", 0x10);
	perf_map_free(map);
	return err;
}

static void test_ended(void **state)
{
	struct fixture *f = fixture_new();
	const pid_t self = getpid();
	const time_t now = time(NULL);
	struct jit_owner known, gone, distant;
	(void)state;

	fixture_write_pid(f, self, "ns/mnt", "");
	fixture_write_pid(f, self, "root/tmp/other", "");
	fixture_process(f, 90, 1, 5, "node", "");
	share_files(f, 90, self);
	jit_owner_find(f->proc, 90, &known);
	assert_true(known.is_near && known.start_ticks == 5);
	fixture_process_gone(f, 90);
	assert_int_equal(load_ended(f, &known), -ENOENT); /* no file */
	write_map(f, self, now);
	assert_int_equal(load_ended(f, &known), 0);

	/* Another process has the pid by now, and other files. */
	fixture_process(f, 90, 1, 6, "other", "");
	fixture_write(f, MAP, "10 10 y\n", 8);
	assert_int_equal(load_ended(f, &known), 0);
	fixture_write_pid(f, 90, "ns/mnt", "");
	jit_owner_find(f->proc, 90, &distant);
	assert_false(distant.is_near);
	fixture_process_gone(f, 90);
	assert_int_equal(load_ended(f, &distant), -ENOENT);

	/* A map from before the process is another's. */
	jit_owner_find(f->proc, 90, &gone);
	assert_int_equal(load_ended(f, &gone), 0);
	write_map(f, self, now - 60);
	assert_int_equal(load_ended(f, &gone), -EACCES);
	assert_int_equal(load_ended(f, &known), 0);
	write_map(f, self, known.since_s - 1);
	assert_int_equal(load_ended(f, &known), -EACCES);
	fixture_free(f);
}

static void test_empty(void **state)
{
	struct fixture *f = fixture_new();
	struct perf_map *map = load(f, "", 0);
	(void)state;

	check(map, 0, NULL, 0);
	assert_int_equal(perf_map_skipped_lines(map), 0);
	perf_map_free(map);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	      cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_against_model), cmocka_unit_test(test_namespace),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_foreign_owner),
		cmocka_unit_test(test_ended),	      cmocka_unit_test(test_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
