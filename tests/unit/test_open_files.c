/* SPDX-License-Identifier: MIT */
/* Files that no process maps are closed, and opened again when one does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proc/open_files.h"
#include "proc/process_table.h"
#include "test_proc_fixture.h"

#define FILES 6
#define KEPT  2
#define MOST  4
#define GRACE 100
#define PAUSE 10

struct context {
	struct fixture *f;
	struct object_table *objects;
	struct process_table *table;
	struct open_files *files;
	char *paths[FILES];
};

static int set_up(void **state)
{
	struct context *c = calloc(1, sizeof(*c));

	c->f = fixture_new();
	assert_int_equal(object_table_new(c->f->proc, &c->objects), 0);
	assert_int_equal(process_table_new(c->objects, c->f->proc, &c->table), 0);
	assert_int_equal(open_files_new(&(struct open_files_options){.objects = c->objects,
								     .processes = c->table,
								     .kept = KEPT,
								     .most = MOST,
								     .grace_ns = GRACE,
								     .pause_ns = PAUSE},
					&c->files),
			 0);
	for (int i = 0; i < FILES; i++) {
		char name[] = "lib/0.so";

		name[4] = (char)('0' + i);
		c->paths[i] = fixture_elf_file(c->f, name, (uint8_t)(0x10 + i));
	}
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	open_files_free(c->files);
	process_table_free(c->table);
	object_table_free(c->objects);
	fixture_free(c->f);
	for (int i = 0; i < FILES; i++)
		free(c->paths[i]);
	free(c);
	return 0;
}

/* A process of its own maps a file. */
static const struct object *map(struct context *c, int file)
{
	pid_t pid = 100 + file;
	struct object_mapping m = fixture_mapping(c->paths[file], 0x10000);

	assert_int_equal(process_table_on_comm(c->table, pid, pid, "app", true), 0);
	assert_int_equal(process_table_on_mmap(c->table, pid, &m), 0);
	return process_table_mapping(c->table, pid, m.start)->object;
}

/* Ends the process of a file, and so many that map nothing after it that its mappings are dropped:
 * the table keeps those of the processes that ended last. */
static void end(struct context *c, int file)
{
	assert_int_equal(process_table_on_exit(c->table, 100 + file, 100 + file), 0);
	for (pid_t pid = 1000; pid < 1000 + PROCESS_TABLE_MAPPINGS_KEPT; pid++) {
		assert_int_equal(process_table_on_fork(c->table, pid, pid, 1, 1), 0);
		assert_int_equal(process_table_on_exit(c->table, pid, pid), 0);
	}
}

static bool is_open(const struct context *c, uint32_t number)
{
	return elf_file_is_open(object_table_at(c->objects, number)->elf);
}

static unsigned look(struct context *c, uint64_t now)
{
	open_files_look(c->files, now);
	return (unsigned)open_files_closed(c->files);
}

/* Within what is kept nothing is closed; above it what no process maps, after the grace, and no
 * more than is needed. */
static void test_grace(void **state)
{
	struct context *c = *state;

	map(c, 0);
	map(c, 1);
	end(c, 0);
	end(c, 1);
	assert_int_equal(look(c, 1000), 0);
	assert_int_equal(look(c, 2000), 0);
	map(c, 2);
	assert_int_equal(look(c, 3000), 0); /* found without a mapping only now */
	assert_int_equal(look(c, 3000 + GRACE - 1), 0);
	assert_int_equal(look(c, 3000 + GRACE - 1 + PAUSE - 1), 0);
	assert_int_equal(look(c, 3000 + GRACE - 1 + PAUSE), 1);
	assert_false(is_open(c, 0));
	assert_true(is_open(c, 1));
	assert_true(is_open(c, 2));
	assert_int_equal(look(c, 9000), 1);
}

/* What is mapped stays open, however many there are; without the grace where there are too many,
 * but not at the first look. */
static void test_hurry(void **state)
{
	struct context *c = *state;

	for (int i = 0; i < FILES; i++)
		map(c, i);
	assert_int_equal(look(c, 1000), 0);
	assert_int_equal(look(c, 2000), 0);
	for (int i = 0; i < FILES - 1; i++)
		end(c, i);
	assert_int_equal(look(c, 2001), 0);
	assert_int_equal(look(c, 2002), FILES - KEPT);
	assert_true(is_open(c, FILES - 1));
}

/* A mapping in between begins the grace anew. */
static void test_mapped_meanwhile(void **state)
{
	struct context *c = *state;

	map(c, 0);
	map(c, 1);
	map(c, 2);
	end(c, 0);
	assert_int_equal(look(c, 1000), 0);
	map(c, 0);
	assert_int_equal(look(c, 1000 + PAUSE), 0);
	end(c, 0);
	assert_int_equal(look(c, 1000 + GRACE), 0);
	assert_int_equal(look(c, 1000 + 2 * GRACE), 1);
}

/* The closed one keeps number and identity, cannot be read, and is opened by its next mapping: as
 * the same object if the file is the same, as another if its name has gone to another. */
static void test_back_again(void **state)
{
	struct context *c = *state;
	const struct object *object = map(c, 0), *again;
	uint64_t id = object->file_id, vaddr;
	char byte;

	map(c, 1);
	map(c, 2);
	end(c, 0);
	look(c, 1000);
	assert_int_equal(look(c, 1000 + GRACE), 1);
	assert_false(elf_file_is_open(object->elf));
	assert_int_equal(elf_file_duplicate(object->elf), -EBADF);
	assert_int_equal(elf_file_descriptor(object->elf), -1);
	assert_int_equal(elf_file_read(object->elf, 0, &byte, 1), -EBADF);
	assert_int_equal(elf_file_id(object->elf), id);
	assert_true(elf_file_offset_to_vaddr(object->elf, 0, &vaddr));
	again = map(c, 0);
	assert_ptr_equal(again, object);
	assert_int_equal(elf_file_read(object->elf, 0, &byte, 1), 1);
	assert_int_equal(byte, 0x7f);
	assert_int_equal(object_table_count(c->objects), 3);

	end(c, 0);
	look(c, 5000);
	assert_int_equal(look(c, 5000 + GRACE), 2);
	assert_int_equal(unlink(c->paths[0]), 0);
	free(fixture_elf_file(c->f, "lib/0.so", 0x77));
	again = map(c, 0);
	assert_ptr_not_equal(again, object);
	assert_int_equal(again->build_id[0], 0x77);
	assert_false(elf_file_is_open(object->elf));
}

/* Makes a set that closes deleted files, up to so many bytes, and those on another file system than
 * that of device `root`. */
static void use_burdens(struct context *c, uint64_t most_bytes, uint64_t root)
{
	open_files_free(c->files);
	assert_int_equal(
		open_files_new(&(struct open_files_options){.objects = c->objects,
							    .processes = c->table,
							    .kept = FILES,
							    .most = FILES,
							    .grace_ns = GRACE,
							    .deleted_grace_ns = GRACE,
							    .most_deleted_bytes = most_bytes,
							    .apart_grace_ns = 2 * GRACE,
							    .root_dev = root,
							    .names_grace_ns = GRACE,
							    .burden_pause_ns = PAUSE,
							    .pause_ns = PAUSE},
			       &c->files),
		0);
}

/* A deleted file is closed soon after its last process, though few files are open and the table
 * still has the process's mappings; one that is mapped or has its name is not. */
static void test_deleted(void **state)
{
	struct context *c = *state;
	const struct object *first = map(c, 0);

	use_burdens(c, UINT64_MAX, elf_file_stamp(first->elf)->dev);
	map(c, 1);
	assert_int_equal(unlink(c->paths[0]), 0);
	assert_int_equal(look(c, 1000), 0);
	assert_int_equal(look(c, 1000 + 2 * GRACE), 0);
	assert_int_equal(process_table_on_exit(c->table, 100, 100), 0);
	assert_int_equal(process_table_on_exit(c->table, 101, 101), 0);
	assert_int_equal(look(c, 2000), 0);
	assert_int_equal(look(c, 2000 + GRACE - 1), 0);
	assert_int_equal(look(c, 2000 + GRACE - 1 + PAUSE), 1);
	assert_false(is_open(c, 0));
	assert_int_equal(look(c, 9000), 1);
	assert_true(is_open(c, 1));
}

/* Beyond the bound in bytes, a deleted file is closed at once. */
static void test_deleted_bytes(void **state)
{
	struct context *c = *state;
	const struct object *first = map(c, 0);

	use_burdens(c, elf_file_stamp(first->elf)->size, elf_file_stamp(first->elf)->dev);
	map(c, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(unlink(c->paths[i]), 0);
		assert_int_equal(process_table_on_exit(c->table, 100 + i, 100 + i), 0);
	}
	assert_int_equal(look(c, 1000), 1);
	assert_true(is_open(c, 0));
	assert_false(is_open(c, 1));
}

/* A deleted file stays open for names that are awaited, which are asked for at once then, but not
 * for ever. */
static void test_names_first(void **state)
{
	struct context *c = *state;
	const struct object *first = map(c, 0), *second = map(c, 1);

	use_burdens(c, UINT64_MAX, elf_file_stamp(first->elf)->dev);
	object_await_names(first, 2);
	object_await_names(second, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(unlink(c->paths[i]), 0);
		assert_int_equal(process_table_on_exit(c->table, 100 + i, 100 + i), 0);
	}
	assert_int_equal(look(c, 1000), 0);
	assert_false(object_wants_names(first));
	assert_int_equal(look(c, 1000 + GRACE), 0);
	assert_true(object_wants_names(first));
	object_end_await(first, 1);
	assert_int_equal(look(c, 1000 + GRACE + PAUSE), 0);
	object_end_await(first, 1);
	assert_int_equal(look(c, 1000 + GRACE + 2 * PAUSE), 1);
	assert_false(is_open(c, 0));
	assert_false(object_wants_names(first));
	assert_true(object_wants_names(second));
	assert_int_equal(look(c, 1000 + 2 * GRACE - 1), 1);
	assert_int_equal(look(c, 1000 + 2 * GRACE - 1 + PAUSE), 2);
	assert_false(object_wants_names(second));
}

/* If a process maps the file again, its names are in no hurry any more. */
static void test_names_of_mapped(void **state)
{
	struct context *c = *state;
	const struct object *first = map(c, 0);

	use_burdens(c, UINT64_MAX, elf_file_stamp(first->elf)->dev + 1);
	object_await_names(first, 1);
	assert_int_equal(process_table_on_exit(c->table, 100, 100), 0);
	assert_int_equal(look(c, 1000), 0);
	assert_int_equal(look(c, 1000 + 2 * GRACE), 0);
	assert_true(object_wants_names(first));
	map(c, 0);
	assert_int_equal(look(c, 1000 + 4 * GRACE), 0);
	assert_false(object_wants_names(first));
}

/* Beyond the bound in bytes, names are asked for, and waited for until the next look alone. */
static void test_names_beyond_bytes(void **state)
{
	struct context *c = *state;
	const struct object *first = map(c, 0);

	use_burdens(c, 0, elf_file_stamp(first->elf)->dev);
	object_await_names(first, 1);
	assert_int_equal(unlink(c->paths[0]), 0);
	assert_int_equal(process_table_on_exit(c->table, 100, 100), 0);
	assert_int_equal(look(c, 1000), 0);
	assert_true(object_wants_names(first));
	assert_int_equal(look(c, 1000 + PAUSE), 1);
}

/* A file on another file system does not keep that busy for long. */
static void test_apart(void **state)
{
	struct context *c = *state;
	const struct object *first = map(c, 0);

	use_burdens(c, UINT64_MAX, elf_file_stamp(first->elf)->dev + 1);
	assert_int_equal(look(c, 1000), 0);
	assert_int_equal(process_table_on_exit(c->table, 100, 100), 0);
	assert_int_equal(look(c, 2000), 0);
	assert_int_equal(look(c, 2000 + GRACE), 0);
	assert_int_equal(look(c, 2000 + 2 * GRACE), 1);
	assert_false(is_open(c, 0));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_grace),
		TEST(test_hurry),
		TEST(test_mapped_meanwhile),
		TEST(test_back_again),
		TEST(test_deleted),
		TEST(test_deleted_bytes),
		TEST(test_apart),
		TEST(test_names_first),
		TEST(test_names_of_mapped),
		TEST(test_names_beyond_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
