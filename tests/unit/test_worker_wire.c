/* SPDX-License-Identifier: MIT */
/* What a worker sends, read as if a hostile file had subverted it: tables, names, identities. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "daemon/worker/debug_path.h"
#include "daemon/worker/name_wire.h"
#include "elf/elf_file.h"
#include "unwind/recipe_table.h"
#include "unwind/recipe_wire.h"

static struct elf_file *open_self(void)
{
	struct elf_file *file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	return file;
}

/* --- tables ---------------------------------------------------------------------------------- */

static struct recipe_table *table_of_self(void)
{
	struct elf_file *file = open_self();
	struct recipe_table *table;

	assert_int_equal(recipe_compile(file, &table), 0);
	elf_file_free(file);
	return table;
}

/* What keeps the rows in the bytes says the same as what copies them; fails as that does, and
 * leaves the bytes to the caller then. */
static void check_taken(const struct buf *bytes, int err, const struct recipe_table *table)
{
	struct recipe_table *taken = NULL;
	struct buf copy = {0};

	buf_put(&copy, bytes->data, bytes->len);
	assert_int_equal(recipe_wire_take(&copy, &taken), err);
	if (!err) {
		assert_null(copy.data);
		assert_int_equal(taken->row_count, table->row_count);
		if (table->row_count)
			assert_memory_equal(taken->rows, table->rows,
					    table->row_count * sizeof(*table->rows));
	} else {
		assert_null(taken);
		assert_int_equal(copy.len, bytes->len);
	}
	recipe_table_free(taken);
	buf_free(&copy);
}

static int get_table(const struct buf *bytes, struct recipe_table **ret_table)
{
	struct buf_reader reader = buf_reader(bytes->data, bytes->len);
	int err = recipe_wire_get(&reader, ret_table);

	check_taken(bytes, err, err ? NULL : *ret_table);
	return err;
}

static void test_table_is_the_same(void **state)
{
	struct recipe_table *table = table_of_self(), *got;
	struct buf bytes = {0};

	(void)state;
	recipe_wire_put(table, &bytes);
	assert_int_equal(get_table(&bytes, &got), 0);
	assert_int_equal(got->row_count, table->row_count);
	assert_int_equal(got->chunk_count, table->chunk_count);
	for (uint64_t at = 0; at < (uint64_t)(table->first_chunk + table->chunk_count) << 16;
	     at += 7)
		assert_memory_equal(recipe_lookup(got, at), recipe_lookup(table, at),
				    sizeof(struct stackd_rule));
	assert_memory_equal(recipe_table_stats(got), recipe_table_stats(table),
			    sizeof(struct recipe_stats));
	recipe_table_free(table);
	recipe_table_free(got);
	buf_free(&bytes);
}

/* A table that was taken names nothing that it does not have. */
static void assert_closed(const struct recipe_table *t)
{
	size_t rules;

	recipe_table_rules(t, &rules);
	for (size_t i = 0; i < t->row_count; i++)
		assert_true(t->rows[i].rule < rules);
	for (size_t i = 0; i < t->chunk_count; i++)
		assert_true(t->chunks[i] < t->chunks[i + 1] && t->chunks[i + 1] <= t->row_count);
}

static void test_damaged_tables(void **state)
{
	struct recipe_table *table = table_of_self(), *got;
	struct buf bytes = {0};
	unsigned taken = 0, refused = 0;

	(void)state;
	recipe_wire_put(table, &bytes);
	for (uint64_t i = 0; i < 2000; i++) {
		size_t at = hash_mix64(i) % (i & 1 ? bytes.len : 400);
		uint8_t was = bytes.data[at];

		bytes.data[at] ^= (uint8_t)(1u << i % 8);
		if (get_table(&bytes, &got)) {
			refused++;
		} else {
			taken++;
			assert_closed(got);
			recipe_table_free(got);
		}
		bytes.data[at] = was;
	}
	assert_true(taken && refused);
	recipe_table_free(table);
	buf_free(&bytes);
}

static void test_cut_tables(void **state)
{
	struct recipe_table *table = table_of_self(), *got;
	struct buf bytes = {0}, part;

	(void)state;
	recipe_wire_put(table, &bytes);
	part = bytes;
	for (part.len = 0; part.len < bytes.len; part.len += 1 + part.len / 8)
		assert_int_equal(get_table(&part, &got), -EBADMSG);
	buf_put_u8(&bytes, 0);
	assert_int_equal(get_table(&bytes, &got), -EBADMSG);
	recipe_table_free(table);
	buf_free(&bytes);
}

/* --- identities ------------------------------------------------------------------------------ */

static void test_identity(void **state)
{
	struct elf_file *file = open_self(), *got, *clone;
	struct buf bytes = {0};
	struct buf_reader reader;
	size_t len, got_len;
	const uint8_t *id;
	uint64_t vaddr, got_vaddr;

	(void)state;
	elf_file_put_identity(file, &bytes);
	reader = buf_reader(bytes.data, bytes.len);
	assert_int_equal(elf_file_of_identity(elf_file_descriptor(file), &reader, &got), 0);
	assert_int_equal(elf_file_clone(got, &clone), 0);
	assert_null(elf_file_libelf(got));
	assert_int_equal(elf_file_id(clone), elf_file_id(file));
	assert_int_equal(elf_file_inode(got), elf_file_inode(file));
	id = elf_file_build_id(file, &len);
	assert_memory_equal(elf_file_build_id(got, &got_len), id, len);
	assert_int_equal(got_len, len);
	for (uint64_t offset = 0; offset < 1 << 20; offset += 4096) {
		bool has = elf_file_offset_to_vaddr(file, offset, &vaddr);

		assert_int_equal(elf_file_offset_to_vaddr(clone, offset, &got_vaddr), has);
		if (has)
			assert_int_equal(vaddr, got_vaddr);
	}
	elf_file_free(file);
	elf_file_free(got);
	elf_file_free(clone);
	buf_free(&bytes);
}

static void test_damaged_identities(void **state)
{
	struct elf_file *file = open_self(), *got;
	struct buf bytes = {0};

	(void)state;
	elf_file_put_identity(file, &bytes);
	for (size_t at = 0; at < bytes.len * 8; at++) {
		struct buf_reader reader;

		bytes.data[at / 8] ^= (uint8_t)(1u << at % 8);
		reader = buf_reader(bytes.data, bytes.len);
		if (!elf_file_of_identity(elf_file_descriptor(file), &reader, &got))
			elf_file_free(got);
		bytes.data[at / 8] ^= (uint8_t)(1u << at % 8);
	}
	elf_file_free(file);
	buf_free(&bytes);
}

/* --- names ----------------------------------------------------------------------------------- */

static int count_line(void *arg, const struct store_line *line)
{
	unsigned *count = arg;

	assert_int_equal(line->location, 7);
	assert_int_equal(line->depth, *count);
	(*count)++;
	return 0;
}

static int get_names(const struct buf *bytes, unsigned *ret_count)
{
	struct buf_reader reader = buf_reader(bytes->data, bytes->len);

	*ret_count = 0;
	return name_wire_get(&reader, 7, count_line, ret_count);
}

static void test_names(void **state)
{
	const struct store_line line = {
		.function = "f", .file = "f.c", .line = 3, .function_start = 9};
	struct buf bytes = {0};
	unsigned count;

	(void)state;
	for (unsigned i = 0; i < NAME_WIRE_MAX_LINES; i++)
		name_wire_put(&line, &bytes);
	assert_int_equal(get_names(&bytes, &count), 0);
	assert_int_equal(count, NAME_WIRE_MAX_LINES);
	for (size_t at = 0; at < bytes.len * 8; at++) {
		bytes.data[at / 8] ^= (uint8_t)(1u << at % 8);
		get_names(&bytes, &count);
		bytes.data[at / 8] ^= (uint8_t)(1u << at % 8);
	}
	name_wire_put(&line, &bytes);
	assert_int_equal(get_names(&bytes, &count), -EBADMSG);
	buf_free(&bytes);
}

/* --- debug files ----------------------------------------------------------------------------- */

static void make_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	fchmod(fd, mode);
	close(fd);
}

/* Split DWARF and shared debug files, which may be anywhere. */
static void test_debug_paths_by_name(void **state)
{
	static const struct {
		const char *name;
		bool is_taken;
	} names[] = {
		{"a.dwo", true}, {"a.dwp", true},  {"a.debug", true},  {".dwz/a", true},
		{"a.so", false}, {"dwz/a", false}, {"a.dwo.x", false}, {"dwo", false},
	};
	char folder[] = "/tmp/test-worker-wire-XXXXXX", path[96];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/.dwz", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/dwz", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, names[i].name);
		make_file(path, "\177ELF open", 0644);
		fd = debug_path_open(path, "/usr/bin/object", 0);
		assert_int_equal(fd >= 0, names[i].is_taken);
		close(fd);
		chmod(path, 0600);
		assert_int_equal(debug_path_open(path, "/usr/bin/object", 0), -EPERM);
		unlink(path);
		make_file(path, "text", 0644);
		assert_int_equal(debug_path_open(path, "/usr/bin/object", 0), -EPERM);
		unlink(path);
		assert_int_equal(mkfifo(path, 0644), 0);
		assert_true(debug_path_open(path, "/usr/bin/object", 0) < 0);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/a.dwo", folder);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_true(debug_path_open(path, "/usr/bin/object", 0) < 0);
	assert_int_equal(debug_path_open("a.dwo", "/usr/bin/object", 0), -EPERM);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	assert_int_equal(system(path), 0);
}

static void test_debug_paths(void **state)
{
	char folder[] = "/tmp/test-worker-wire-XXXXXX", object[64], path[96];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(object, sizeof(object), "%s/object", folder);
	assert_int_equal(debug_path_open("/etc/passwd", object, 0), -EPERM);
	assert_int_equal(debug_path_open("/usr/lib/debug/../../../etc/passwd", object, 0), -EPERM);
	snprintf(path, sizeof(path), "%s/../x", folder);
	assert_int_equal(debug_path_open(path, object, 0), -EPERM);
	snprintf(path, sizeof(path), "%s/secret", folder);
	make_file(path, "\177ELF secret", 0600);
	assert_int_equal(debug_path_open(path, object, 0), -EPERM);
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(debug_path_open(path, object, 0), -EPERM);
	unlink(path);
	make_file(path, "\177ELF open", 0644);
	fd = debug_path_open(path, object, getuid());
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_is_the_same),
		cmocka_unit_test(test_damaged_tables),
		cmocka_unit_test(test_cut_tables),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_damaged_identities),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_debug_paths),
		cmocka_unit_test(test_debug_paths_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
