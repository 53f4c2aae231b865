/* SPDX-License-Identifier: MIT */
/* Files that are written to while processes have mapped them: which frames are proven, and what is
 * mapped then. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "base/clock.h"
#include "proc/process.h"
#include "proc/written_files.h"
#include "test_proc_fixture.h"

#define PID   71
#define OTHER 72
#define START 0x7000

struct context {
	struct fixture *f;
	struct object_table *objects;
	struct process_table *processes;
	struct written_files *files;
	uint32_t epoch;
	char *path, *copy;
	const struct object *object;
};

static void map(struct context *c, pid_t pid, const char *path)
{
	struct object_mapping m = fixture_mapping(path, START);

	fixture_process(c->f, pid, 1, 5, "program", "");
	fixture_map_file(c->f, pid, m.start, m.end, path);
	assert_int_equal(process_table_on_mmap(c->processes, pid, &m), 0);
}

static int set_up(void **state)
{
	struct context *c = calloc(1, sizeof(*c));

	c->f = fixture_new();
	assert_int_equal(object_table_new(c->f->proc, &c->objects), 0);
	assert_int_equal(process_table_new(c->objects, c->f->proc, &c->processes), 0);
	assert_int_equal(written_files_new(c->objects, c->processes, &c->epoch, &c->files), 0);
	c->path = fixture_elf_file(c->f, "a.so", 0x41);
	c->copy = fixture_elf_file(c->f, "b.so", 0x41);
	map(c, PID, c->path);
	map(c, OTHER, c->copy);
	c->object = process_table_mapping(c->processes, PID, START)->object;
	assert_non_null(c->object->elf);
	assert_int_equal(written_files_look(c->files), 0);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	written_files_free(c->files);
	process_table_free(c->processes);
	object_table_free(c->objects);
	fixture_free(c->f);
	free(c->path);
	free(c->copy);
	free(c);
	return 0;
}

/* Writes to the file itself, which keeps its inode. */
static void overwrite(struct context *c, uint8_t mark)
{
	free(fixture_elf_file(c->f, "a.so", mark));
}

static const struct object *proven(struct context *c, pid_t pid, const struct object *object,
				   uint64_t time_ns)
{
	assert_int_equal(written_files_proven(c->files, pid, time_ns, &object), 0);
	return object;
}

static uint64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void nothing_is_written(void **state)
{
	struct context *c = *state;
	uint64_t time_ns = now();
	char *other = fixture_path(c->f, "name.so");

	assert_int_equal(rename(c->path, other), 0); /* which changes its state */
	assert_int_equal(written_files_look(c->files), 0);
	assert_ptr_equal(proven(c, PID, c->object, time_ns), c->object);
	assert_int_equal(written_files_frames(c->files), 0);
	assert_int_equal(c->epoch, 0);
	free(other);
}

static void other_code_is_written(void **state)
{
	struct context *c = *state;
	uint64_t before_ns, within_ns, after_ns;
	const struct object *made, *stand_in;

	before_ns = now() - 1000000000;
	overwrite(c, 0x42);
	within_ns = now();
	assert_int_equal(written_files_look(c->files), 0);
	after_ns = now();
	assert_int_equal(c->epoch, 1);
	assert_int_equal(written_files_unwatched(c->files), 0);

	/* The process runs the new code; the copy is untouched. */
	made = process_table_mapping(c->processes, PID, START)->object;
	assert_ptr_not_equal(made, c->object);
	assert_int_equal(made->build_id[0], 0x42);
	assert_ptr_equal(process_table_mapping(c->processes, OTHER, START)->object, c->object);

	assert_ptr_equal(proven(c, PID, c->object, before_ns), c->object);
	stand_in = proven(c, PID, c->object, within_ns);
	assert_ptr_not_equal(stand_in, c->object);
	assert_null(stand_in->elf);
	assert_string_equal(stand_in->path, c->object->path);
	assert_true(stand_in->file_id != c->object->file_id);
	assert_ptr_equal(proven(c, OTHER, c->object, after_ns), c->object);
	/* Older records are of the code before, though the mapping is the new one. */
	assert_ptr_not_equal(proven(c, PID, made, before_ns), made);
	assert_ptr_equal(proven(c, PID, made, after_ns), made);
	assert_int_equal(written_files_frames(c->files), 2);
	assert_int_equal(written_files_look(c->files), 0);
	assert_int_equal(c->epoch, 1);
}

/* The same bytes, long before the next look: what ran since is theirs. */
static void same_code_is_written(void **state)
{
	struct context *c = *state;
	uint64_t time_ns, after_ns;

	overwrite(c, 0x42);
	time_ns = now();
	overwrite(c, 0x41);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	after_ns = now();
	assert_int_equal(written_files_look(c->files), 0);
	assert_int_equal(c->epoch, 1);
	assert_ptr_equal(process_table_mapping(c->processes, PID, START)->object, c->object);
	assert_ptr_not_equal(proven(c, PID, c->object, time_ns), c->object);
	assert_ptr_equal(proven(c, PID, c->object, after_ns), c->object);
}

/* Between its opening and the first look. */
static void written_before_it_is_watched(void **state)
{
	struct context *c = *state;
	char *late = fixture_elf_file(c->f, "late.so", 0x51);
	const struct object *object;
	uint64_t time_ns;

	map(c, PID + 2, late);
	object = process_table_mapping(c->processes, PID + 2, START)->object;
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* a tick of change times */
	time_ns = now();
	free(fixture_elf_file(c->f, "late.so", 0x52));
	assert_int_equal(written_files_look(c->files), 0);
	assert_int_equal(c->epoch, 1);
	assert_int_equal(process_table_mapping(c->processes, PID + 2, START)->object->build_id[0],
			 0x52);
	assert_ptr_not_equal(proven(c, PID + 2, object, time_ns), object);
	free(late);
}

/* There is room for some; then more frames of this file are not proven, and never less. Those of
 * other files are. */
static void written_very_often(void **state)
{
	struct context *c = *state;
	char *path = fixture_elf_file(c->f, "still.so", 0x61);
	const struct object *still;
	uint64_t times[200];

	map(c, PID + 3, path);
	free(path);
	still = process_table_mapping(c->processes, PID + 3, START)->object;
	for (int i = 0; i < 200; i++) {
		times[i] = now();
		overwrite(c, i % 2 ? 0x41 : 0x42);
		assert_int_equal(written_files_look(c->files), 0);
	}
	for (int i = 0; i < 200; i++)
		assert_ptr_not_equal(proven(c, PID, c->object, times[i]), c->object);
	for (int i = 0; i < 200; i++)
		assert_ptr_equal(proven(c, PID + 3, still, times[i]), still);
	assert_int_equal(c->epoch, 200);
}

/* Files for which there is no time now have no proven frames from their write on. */
static void written_while_there_is_no_time(void **state)
{
	struct context *c = *state;
	const struct object *made;
	uint64_t before_ns;

	written_files_pace(c->files, 1e-9);
	overwrite(c, 0x42);
	assert_int_equal(written_files_look(c->files), 0);
	made = process_table_mapping(c->processes, PID, START)->object;
	assert_int_equal(made->build_id[0], 0x42);
	before_ns = now();
	assert_int_equal(written_files_look(c->files), 0);
	assert_ptr_equal(proven(c, PID, made, before_ns), made);
	overwrite(c, 0x43);
	assert_int_equal(written_files_look(c->files), 0);
	assert_int_equal(c->epoch, 2);
	assert_ptr_equal(process_table_mapping(c->processes, PID, START)->object, made);
	assert_ptr_not_equal(proven(c, PID, made, now()), made);
	assert_int_equal(written_files_look(c->files), 0);
	assert_int_equal(c->epoch, 2); /* nothing new */
	assert_ptr_not_equal(proven(c, PID, made, now()), made);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_written),   TEST(other_code_is_written),
		TEST(same_code_is_written), TEST(written_before_it_is_watched),
		TEST(written_very_often),   TEST(written_while_there_is_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
