/* SPDX-License-Identifier: MIT */
/* kallsyms: a generated kernel in a folder, hidden and broken ones, and this machine's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/kallsyms.h"

static char root[] = "/tmp/stackd-kallsyms-XXXXXX";
static const struct kallsyms_options options = {.proc_root = root, .sys_root = root};

static void put(const char *path, const void *bytes, size_t len)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + sizeof(root); (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static const char made_kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
				    "ffffffff81000000 T _stext\n"
				    "ffffffff81000000 T _text\n"
				    "ffffffff81000000 t first\n"
				    "ffffffff81000100 t local_alias\n"
				    "ffffffff81000100 T __global_alias\n"
				    "ffffffff81000100 T global_alias\n"
				    "ffffffff81000100 W aaa_weak_alias\n"
				    "ffffffff81000200 T __sched_text_end\n"
				    "ffffffff81000300 t last\n"
				    "ffffffff81000400 T _etext\n"
				    "ffffffff81800000 D some_data\n"
				    "nonsense\n"
				    "\n"
				    "ffffffff81000180\n"
				    "ffffffffc0000080 t ext4_b\t[ext4]\n"
				    "ffffffffc0000010 t ext4_a\t[ext4]\n"
				    "ffffffffc0002000 t xfs_a\t[xfs]\n"
				    "ffffffffc0001000 t bpf_prog_1_x\t[bpf]\n"
				    "ffffffffc0009000 t bpf_prog_2_y\t[bpf]\n";

/* ext4's size reaches into xfs, as sizes do since Linux 6.4. */
static const char made_modules[] = "ext4 12288 1 - Live 0xffffffffc0000000\n"
				   "xfs 8192 2 ext4,x Live 0xffffffffc0002000 (E)\n"
				   "hidden 4096 0 - Live 0x0000000000000000\n"
				   "broken\n";

static void put_made(void)
{
	static const uint8_t note[36] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1};

	put_text("kallsyms", made_kallsyms);
	put_text("modules", made_modules);
	put("kernel/notes", note, sizeof(note));
	put("module/ext4/notes/.note.gnu.build-id", note, sizeof(note));
	put("module/xfs/notes/.note.gnu.build-id", note, 20);
}

static void expect(const struct kallsyms *k, uint64_t address, const char *name, uint64_t start)
{
	uint64_t got_start = 77;
	const char *got = kallsyms_find(k, address, &got_start);

	if (name) {
		assert_non_null(got);
		assert_string_equal(got, name);
		assert_true(got_start == start);
	} else {
		assert_null(got);
		assert_int_equal(got_start, 77);
	}
}

static void test_names(void **state)
{
	struct kallsyms *k = NULL;

	(void)state;
	put_made();
	assert_int_equal(kallsyms_load(&options, &k), 0);
	expect(k, 0xffffffff80ffffff, NULL, 0);
	expect(k, 0xffffffff81000000, "first", 0xffffffff81000000);
	expect(k, 0xffffffff810000ff, "first", 0xffffffff81000000);
	expect(k, 0xffffffff81000180, "global_alias", 0xffffffff81000100);
	expect(k, 0xffffffff81000200, NULL, 0); /* after a mark */
	expect(k, 0xffffffff810003ff, "last", 0xffffffff81000300);
	expect(k, 0xffffffff81000400, NULL, 0); /* after the text */
	expect(k, 0xffffffff81800000, NULL, 0); /* data */
	expect(k, 0xffffffffc0000008, NULL, 0); /* ext4, before its first function */
	expect(k, 0xffffffffc0000010, "ext4_a", 0xffffffffc0000010);
	expect(k, 0xffffffffc0000fff, "ext4_b", 0xffffffffc0000080);
	expect(k, 0xffffffffc0001004, "bpf_prog_1_x", 0xffffffffc0001000);
	expect(k, 0xffffffffc0002abc, "xfs_a", 0xffffffffc0002000);
	expect(k, 0xffffffffc0004000, NULL, 0); /* after xfs */
	expect(k, 0xffffffffc0009001, "bpf_prog_2_y", 0xffffffffc0009000);
	expect(k, 0xffffffffc0019000, NULL, 0); /* too far from it */
	expect(k, 0, NULL, 0);
	kallsyms_free(k);
	kallsyms_free(NULL);
}

static void count(void *calls)
{
	(*(int *)calls)++;
}

/* Reading the symbols of a kernel takes long, so the caller can do something meanwhile. */
static void test_meanwhile(void **state)
{
	struct kallsyms_options with = options;
	static const char line[] = "ffffffff81000000 T a_function_of_many\n";
	static char text[40000 * (sizeof(line) - 1)];
	struct kallsyms *k = NULL;
	int calls = 0;

	(void)state;
	put_made();
	for (size_t at = 0; at < sizeof(text); at += sizeof(line) - 1)
		memcpy(text + at, line, sizeof(line) - 1);
	put("kallsyms", text, sizeof(text));
	with.meanwhile = count;
	with.arg = &calls;
	assert_int_equal(kallsyms_load(&with, &k), 0);
	assert_true(calls > 1);
	expect(k, 0xffffffff81000000, "a_function_of_many", 0xffffffff81000000);
	kallsyms_free(k);
}

static void test_functions(void **state)
{
	uint64_t start = 77, end = 77;
	struct kallsyms *k = NULL;

	(void)state;
	put_made();
	assert_int_equal(kallsyms_load(&options, &k), 0);
	assert_false(kallsyms_function(k, "_stext", &start, &end)); /* a mark */
	assert_false(kallsyms_function(k, "some_data", &start, &end));
	assert_true(start == 77 && end == 77);
	assert_true(kallsyms_function(k, "global_alias", &start, &end));
	assert_true(start == 0xffffffff81000100 && end == 0xffffffff81000200);
	assert_true(kallsyms_function(k, "ext4_a", &start, &end));
	assert_true(start == 0xffffffffc0000010 && end == 0xffffffffc0000080);
	kallsyms_free(k);
}

static const struct kallsyms_part *part_at(const struct kallsyms *k, uint64_t a, const char *name)
{
	size_t index = 9999;
	const struct kallsyms_part *part = kallsyms_part(k, a, &index);

	assert_non_null(part);
	assert_string_equal(part->name, name);
	assert_true(index < kallsyms_part_count(k));
	return part;
}

static void test_parts(void **state)
{
	struct kallsyms *k = NULL;
	const struct kallsyms_part *part;
	size_t index;

	(void)state;
	put_made();
	assert_int_equal(kallsyms_load(&options, &k), 0);
	assert_int_equal(kallsyms_part_count(k), 5);
	part = part_at(k, 0xffffffff81000123, "[kernel.kallsyms]");
	assert_true(part->start == 0xffffffff81000000 && part->end == 0xffffffff81000400);
	assert_int_equal(part->build_id_len, 20);
	assert_int_equal(part->build_id[0], 1);
	part = part_at(k, 0xffffffffc0000008, "[ext4]");
	assert_true(part->start == 0xffffffffc0000000 && part->end == 0xffffffffc0002000);
	assert_int_equal(part->build_id_len, 20);
	part = part_at(k, 0xffffffffc0003fff, "[xfs]");
	assert_int_equal(part->build_id_len, 0);
	part = part_at(k, 0xffffffffc0009001, "[bpf]");
	assert_true(part->start == 0xffffffffc0001000);
	part_at(k, 0xffffffffc0001fff, "[bpf]");
	part_at(k, 0xffffffffc0005000, "[kernel.other]");
	part_at(k, 0xffffffff80000000, "[kernel.other]");
	assert_null(kallsyms_part(k, 0x401000, &index));
	kallsyms_free(k);
}

static void test_hidden(void **state)
{
	struct kallsyms *k = NULL;

	(void)state;
	put_text("kallsyms", "0000000000000000 T _stext\n0000000000000000 t x\t[ext4]\n");
	assert_int_equal(kallsyms_load(&options, &k), -EACCES);
	put_text("kallsyms", "");
	assert_int_equal(kallsyms_load(&options, &k), -ENOENT);
	assert_null(k);
}

static void test_missing(void **state)
{
	static const struct kallsyms_options nowhere = {.proc_root = "/nonexistent",
							.sys_root = "/nonexistent"};
	struct kallsyms *k = NULL;

	(void)state;
	assert_int_equal(kallsyms_load(&nowhere, &k), -ENOENT);
	assert_null(k);
}

/* Without modules, notes and marks, names are found as well. */
static void test_kallsyms_alone(void **state)
{
	struct kallsyms_options bare = {.proc_root = root, .sys_root = "/nonexistent"};
	struct kallsyms *k = NULL;
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/modules", root);
	unlink(path);
	put_text("kallsyms", "ffffffff81000100 T b\nffffffff81000000 T a\n");
	assert_int_equal(kallsyms_load(&bare, &k), 0);
	expect(k, 0xffffffff81000001, "a", 0xffffffff81000000);
	expect(k, 0xffffffff81000101, "b", 0xffffffff81000100);
	assert_int_equal(part_at(k, 0xffffffff81000101, "[kernel.kallsyms]")->build_id_len, 0);
	kallsyms_free(k);
}

/* Lines cross the ends of what is read at once, one is longer than that, the last one has no end.
 */
static void test_lines(void **state)
{
	char *text = NULL, name[400];
	struct kallsyms *k = NULL;
	size_t size;
	FILE *f;

	(void)state;
	f = open_memstream(&text, &size);
	assert_non_null(f);
	for (int i = 0; i < 2000; i++) {
		fprintf(f, "%x T f%0*d%s", 0x1000 + i * 16, 1 + i * 7 % 300, i,
			i < 1999 ? "\n" : "");
		if (i == 1000)
			fprintf(f, "%020000d\n", 0);
	}
	assert_int_equal(fclose(f), 0);
	put("kallsyms", text, size);
	assert_int_equal(kallsyms_load(&options, &k), 0);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "f%0*d", 1 + i * 7 % 300, i);
		expect(k, 0x1000 + (uint64_t)i * 16 + 3, name, 0x1000 + (uint64_t)i * 16);
	}
	kallsyms_free(k);
	free(text);
}

static void test_this_machine(void **state)
{
	static const struct kallsyms_options real = {.proc_root = "/proc", .sys_root = "/sys"};
	struct kallsyms *k = NULL;
	const struct kallsyms_part *part;
	int err = kallsyms_load(&real, &k);

	(void)state;
	if (err == -EACCES || err == -ENOENT)
		skip();
	assert_int_equal(err, 0);
	part = part_at(k, UINT64_C(0xffffffffffff0000), "[kernel.other]");
	assert_int_equal(part->build_id_len, 0);
	kallsyms_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_functions),
		cmocka_unit_test(test_parts),	  cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_missing),	  cmocka_unit_test(test_kallsyms_alone),
		cmocka_unit_test(test_lines),	  cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_meanwhile),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
