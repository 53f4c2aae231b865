/* SPDX-License-Identifier: MIT */
/* Files that are overwritten while they are mapped, or before their event is read: what the table
 * has for a mapping in which the kernel half has met another state of the file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "file_clock.h"
#include "proc/met_mapping.h"
#include "proc/process.h"
#include "test_proc_fixture.h"

#define PID   81
#define OTHER 82
#define START 0x7000
#define OLD   0x41
#define NEW   0x42

struct context {
	struct fixture *f;
	struct object_table *objects;
	struct process_table *processes;
	char *path; /* the file that is overwritten; first, it holds OLD */
	struct object_mapping mapping;
	const struct object *old; /* its first content, which was read from a copy */
	uint8_t build_id[ELF_BUILD_ID_MAX];
};

static int set_up(void **state)
{
	struct context *c = calloc(1, sizeof(*c));
	struct object_mapping m;
	char *copy;

	c->f = fixture_new();
	assert_int_equal(object_table_new(c->f->proc, &c->objects), 0);
	assert_int_equal(process_table_new(c->objects, c->f->proc, &c->processes), 0);
	copy = fixture_elf_file(c->f, "copy.so", OLD);
	m = fixture_mapping(copy, START);
	assert_int_equal(object_table_resolve(c->objects, OTHER, &m, &c->old), 0);
	assert_non_null(c->old->elf);
	free(copy);
	c->path = fixture_elf_file(c->f, "own.so", OLD);
	c->mapping = fixture_mapping(c->path, START);
	fixture_process(c->f, PID, 1, 5, "program", "");
	fixture_process(c->f, OTHER, 1, 6, "program", "");
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	process_table_free(c->processes);
	object_table_free(c->objects);
	fixture_free(c->f);
	free(c->path);
	free(c);
	return 0;
}

static uint64_t changed_ns(const struct context *c)
{
	struct stat st;

	assert_int_equal(stat(c->path, &st), 0);
	return (uint64_t)elf_stamp_of(&st).ctime_ns;
}

/* Writes to the file itself, which keeps its inode; later than what was written before. */
static void overwrite(struct context *c)
{
	file_clock_goes_on();
	free(fixture_elf_file(c->f, "own.so", NEW));
}

/* The event of the mapping, made when the file held OLD, which is read now. */
static void read_event(struct context *c, uint64_t made_ns)
{
	struct object_mapping m = c->mapping;

	memcpy(c->build_id, c->old->build_id, c->old->build_id_len);
	m.inode = 0;
	m.dev_major = m.dev_minor = 0;
	m.build_id = c->build_id;
	m.build_id_len = c->old->build_id_len;
	m.made_ns = made_ns;
	assert_int_equal(process_table_on_mmap(c->processes, PID, &m), 0);
}

static const struct object *mapped(struct context *c)
{
	return process_table_mapping(c->processes, PID, START)->object;
}

/* What is proven of a sample that has met the mapping while the file had this change time. */
static const struct object *prove(struct context *c, uint64_t changed)
{
	const struct met_mapping met = {
		.start = START,
		.end = START + 0x1000,
		.offset = c->mapping.offset,
		.dev_major = c->mapping.dev_major,
		.dev_minor = c->mapping.dev_minor,
		.inode = c->mapping.inode,
		.changed_ns = changed,
	};

	return met_mapping_prove(c->processes, PID, &met);
}

static void check_unproven(struct context *c)
{
	assert_true(mapped(c)->is_unproven);
	assert_null(mapped(c)->elf);
	assert_string_equal(mapped(c)->path, c->old->path);
}

/* Somebody else has mapped the file with its later content, so that the table knows that. */
static void meet_new_content(struct context *c)
{
	struct object_mapping m = fixture_mapping(c->path, START);
	const struct object *object;

	fixture_map_file(c->f, OTHER, m.start, m.end, c->path);
	assert_int_equal(object_table_resolve(c->objects, OTHER, &m, &object), 0);
	assert_int_equal(object->build_id[0], NEW);
}

/* The mapping is gone, or another is at its address: what the file holds now is not taken for what
 * it held. */
static void overwritten_before_the_event(void **state)
{
	struct context *c = *state;
	const uint64_t before = changed_ns(c);

	overwrite(c);
	meet_new_content(c);
	read_event(c, before + 1000000);
	assert_ptr_equal(mapped(c), c->old);
	assert_null(prove(c, before));
	check_unproven(c);
	assert_null(prove(c, before));
	check_unproven(c);
}

static void overwritten_and_mapped_again(void **state)
{
	struct context *c = *state;
	const uint64_t before = changed_ns(c);

	overwrite(c);
	fixture_map_file(c->f, PID, START, START + 0x1000, c->path);
	read_event(c, before + 1000000);
	assert_ptr_equal(mapped(c), c->old);
	assert_null(prove(c, before));
	check_unproven(c);
	/* Samples of the later content have its names again. */
	assert_int_equal(prove(c, changed_ns(c))->build_id[0], NEW);
	assert_int_equal(mapped(c)->build_id[0], NEW);
}

/* The file's last change before the sample is older than the mapping. */
static void event_is_later_than_the_change(void **state)
{
	struct context *c = *state;
	const uint64_t before = changed_ns(c);

	overwrite(c);
	read_event(c, before + 15000000);
	assert_ptr_equal(prove(c, before), c->old);
	assert_ptr_equal(mapped(c), c->old);
	assert_true(object_table_has_proof(c->objects, c->old, c->mapping.inode, before));
}

static void overwritten_while_it_is_mapped(void **state)
{
	struct context *c = *state;
	const uint64_t before = changed_ns(c);

	fixture_map_file(c->f, PID, START, START + 0x1000, c->path);
	read_event(c, before + 15000000);
	assert_ptr_equal(prove(c, before), c->old);
	overwrite(c);
	assert_int_equal(prove(c, changed_ns(c))->build_id[0], NEW);
	assert_int_equal(mapped(c)->build_id[0], NEW);
	/* That was read from the file; what it held before is known by its event alone. */
	assert_null(prove(c, before + 1));
	check_unproven(c);
}

/* chmod() changes the change time of the same content; the mapping is still there to look at. */
static void other_mode(void **state)
{
	struct context *c = *state;
	const struct object *object;
	struct object_mapping m = c->mapping;
	const uint64_t before = changed_ns(c);

	fixture_map_file(c->f, OTHER, START, START + 0x1000, c->path);
	assert_int_equal(object_table_resolve(c->objects, OTHER, &m, &object), 0);
	assert_ptr_equal(object, c->old);
	file_clock_goes_on();
	assert_int_equal(chmod(c->path, 0700), 0);
	assert_true(changed_ns(c) != before);
	read_event(c, 0);
	fixture_map_file(c->f, PID, START, START + 0x1000, c->path);
	assert_ptr_equal(prove(c, changed_ns(c)), c->old);
}

/* An event without a build-id, which is read too late, has no object of the present content. */
static void event_by_inode(void **state)
{
	struct context *c = *state;
	struct object_mapping m = c->mapping;
	const struct object *object;
	const uint64_t made_ns = changed_ns(c) + 1000000;

	overwrite(c);
	m.made_ns = made_ns;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(object_table_resolve(c->objects, PID, &m, &object), 0);
		assert_null(object->elf);
		assert_int_equal(object->error, -ESTALE);
		meet_new_content(c);
		fixture_process_gone(c->f, OTHER);
	}
	m.made_ns = changed_ns(c) + 1000000;
	assert_int_equal(object_table_resolve(c->objects, PID, &m, &object), 0);
	assert_int_equal(object->build_id[0], NEW);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(overwritten_before_the_event),
		TEST(overwritten_and_mapped_again),
		TEST(event_is_later_than_the_change),
		TEST(overwritten_while_it_is_mapped),
		TEST(other_mode),
		TEST(event_by_inode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
