/* SPDX-License-Identifier: MIT */
/*
 * reader_names: a recording that was cut off gets the names that its reader finds by build-id,
 * never those of another file, kernel or process.
 */
#include "file_clock.h"
#include "reader_names_fixture.h"

#include <sys/stat.h>

#include "test_proc_fixture.h"

#define PID 90

/* --- files ----------------------------------------------------------------------------------- */

static void found_by_build_id(void **state)
{
	char *path = path_of("prog");
	struct looker l;

	(void)state;
	record_file("cut.db", "prog", path, false);
	look_once(&l, "cut.db", NULL);
	check_named(&l);
	look_away(&l);
	free(path);
}

/* Where no layout is recorded, a file that was written to since the recording began may be another
 * one with the same build-id. */
static void newer_file_is_refused(void **state)
{
	char *path = path_of("prog");
	struct looker l;

	(void)state;
	begins_after_s = 0;
	file_clock_goes_on();
	record_file("before.db", "prog", path, false);
	look_once(&l, "before.db", NULL);
	check_named(&l);
	look_away(&l);
	file_clock_goes_on();
	assert_int_equal(program_shell("cat prog > copy && cat copy > prog"), 0);
	look_once(&l, "before.db", NULL);
	check_nameless(&l);
	look_away(&l);
	begins_after_s = 3600;
	free(path);
}

/* A recorded layout tells whether it is: that of a file that was installed anew is the same. */
static void layout_decides(void **state)
{
	char *path = path_of("prog");
	struct looker l;

	(void)state;
	begins_after_s = 0;
	recorded_layout = LAYOUT_OWN;
	record_file("own.db", "prog", path, false);
	recorded_layout = LAYOUT_OTHER;
	record_file("other.db", "prog", path, false);
	recorded_layout = LAYOUT_NONE;
	file_clock_goes_on();
	assert_int_equal(program_shell("cat prog > copy && cat copy > prog"), 0);
	look_once(&l, "own.db", NULL);
	check_named(&l);
	look_away(&l);
	look_once(&l, "other.db", NULL);
	check_nameless(&l);
	look_away(&l);
	begins_after_s = 3600;
	free(path);
}

/* stackd looks up all names before it marks a recording as finished. */
static void finished_recording_is_skipped(void **state)
{
	char *path = path_of("prog");
	struct looker l;

	(void)state;
	record_file("done.db", "prog", path, true);
	look_once(&l, "done.db", NULL);
	check_nameless(&l);
	assert_int_equal(l.asked, 0);
	look_away(&l);
	free(path);
}

static void other_file_is_refused(void **state)
{
	static const char *const pairs[][2] = {{"prog", "other"},
					       {"anonymous", "stranger"},
					       {"prog", "anonymous"},
					       {"prog", "p.c"},
					       {"anonymous", "prog"}};
	struct looker l;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char *path = path_of(pairs[i][1]), store[16];

		snprintf(store, sizeof(store), "not%zu.db", i);
		record_file(store, pairs[i][0], path, false);
		look_once(&l, store, NULL);
		check_nameless(&l);
		look_away(&l);
		free(path);
	}
}

static void found_by_content(void **state)
{
	struct elf_file *file = program_open("anonymous");
	char *path = path_of("anonymous");
	struct recorded r;
	struct looker l;

	(void)state;
	begin(&r, "content.db");
	add_file(&r, "anonymous", path);
	add_place(&r, program_offset(file, "three") + INSIDE);
	commit(&r, false);
	end(&r);
	look_once(&l, "content.db", NULL);
	check_name(&l, 0, "three", program_offset(file, "three"));
	look_away(&l);
	elf_file_free(file);
	free(path);
}

static void unreadable_file_is_skipped(void **state)
{
	char *path = path_of("secret");
	struct looker l;

	(void)state;
	assert_int_equal(program_shell("cp prog secret"), 0);
	record_file("secret.db", "secret", path, false);
	if (geteuid()) { /* root may read it */
		assert_int_equal(chmod(path, 0), 0);
		look_once(&l, "secret.db", NULL);
		check_nameless(&l);
		look_away(&l);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0); /* opening a pipe must not block */
	look_once(&l, "secret.db", NULL);
	check_nameless(&l);
	look_away(&l);
	assert_int_equal(unlink(path), 0);
	look_once(&l, "secret.db", NULL);
	check_nameless(&l);
	assert_int_equal(reader_names_left(l.late), 0);
	look_away(&l);
	free(path);
}

/* A path of a container is looked up in the root of one of its processes. */
static void found_in_root_of_process(void **state)
{
	struct fixture *f = fixture_new();
	char *folder = fixture_path(f, "proc/90/root/data/x");
	struct recorded r;
	struct looker l;

	(void)state;
	fixture_process(f, PID, 1, 5, "prog", "");
	fixture_write_pid(f, PID, "ns/mnt", "");
	assert_int_equal(program_shell("cp prog %s/proc/90/root/data/inside", f->root), 0);
	begin(&r, "inside.db");
	add_file(&r, "prog", "/data/inside");
	add_functions(&r);
	add_program(&r, 89, "/data/other");
	add_program(&r, PID, "/data/inside");
	commit(&r, false);
	end(&r);
	look_once(&l, "inside.db", f->proc);
	check_named(&l);
	look_away(&l);
	fixture_process_gone(f, PID);
	look_once(&l, "inside.db", f->proc);
	check_nameless(&l);
	look_away(&l);
	free(folder);
	fixture_free(f);
}

/* --- functions without names ----------------------------------------------------------------- */

static void stripped_file_gives_starts(void **state)
{
	char *path = path_of("stripped");
	struct recorded r;
	struct looker l;

	(void)state;
	begin(&r, "starts.db");
	add_file(&r, "stripped", path);
	add_functions(&r);
	add_place(&r, starts[2] + INSIDE + 1); /* another location in three() */
	commit(&r, false);
	end(&r);
	look_once(&l, "starts.db", NULL);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		check_name(&l, i, NULL, starts[i]);
	check_name(&l, FUNCTIONS, NULL, starts[2]);
	look_away(&l);
	free(path);
}

/* --- the kernel, and JIT code ---------------------------------------------------------------- */

static void put_kernel(struct fixture *f, uint8_t mark)
{
	static const char symbols[] = "ffffffff81000000 T _stext\n"
				      "ffffffff81000100 T first\n"
				      "ffffffff81000200 T second\n"
				      "ffffffff81000400 T _etext\n";
	uint8_t note[36] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, mark};

	fixture_write(f, "proc/kallsyms", symbols, strlen(symbols));
	fixture_write(f, "proc/modules", "", 0);
	fixture_write(f, "proc/kernel/notes", note, sizeof(note));
}

static void kernel_of_same_build_id(void **state)
{
	const uint8_t build_id[20] = {1};
	struct fixture *f = fixture_new();
	struct recorded r;
	struct looker l;

	(void)state;
	begin(&r, "kernel.db");
	put_object(&r.made, &(struct store_object){.kind = OBJECT_KERNEL,
						   .path = "[kernel.kallsyms]",
						   .file_id = 1,
						   .build_id = build_id,
						   .build_id_len = sizeof(build_id)});
	add_place(&r, 0x210);
	commit(&r, false);
	end(&r);
	put_kernel(f, 1);
	look_once(&l, "kernel.db", f->proc);
	check_name(&l, 0, "second", 0x200);
	look_away(&l);
	put_kernel(f, 2); /* another kernel */
	look_once(&l, "kernel.db", f->proc);
	check_nameless(&l);
	look_away(&l);
	fixture_free(f);
}

static void put_jit(struct fixture *f, unsigned start, const char *exe)
{
	static const char map[] = "1000 100 compiled\n";
	char *link = fixture_path(f, "proc/90/exe");

	fixture_process(f, PID, 1, start, "node", "");
	fixture_write(f, "proc/90/root/tmp/perf-90.map", map, strlen(map));
	unlink(link);
	assert_int_equal(symlink(exe, link), 0);
	free(link);
}

/* Records JIT code of a process that started at tick 5, and more after each of `execs` execs. */
static void record_jit(const char *store, uint32_t execs)
{
	struct store_object object = {
		.kind = OBJECT_JIT, .path = "[jit]", .file_id = object_jit_id(PID, 5)};
	struct recorded r;

	begin(&r, store);
	for (uint32_t i = 0; i <= execs; i++) {
		put_object(&r.made, &object);
		add_place(&r, 0x1010);
		object.file_id = object_next_id(object.file_id);
	}
	add_program(&r, PID, "/bin/node");
	commit(&r, false);
	end(&r);
}

static void check_jit(struct fixture *f, const char *store, uint32_t location, const char *name)
{
	struct looker l;

	look_once(&l, store, f->proc);
	assert_int_equal(l.tables->n_lines, name != NULL);
	if (name)
		check_name(&l, location, name, 0x1000);
	look_away(&l);
}

static void jit_code_of_same_process(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	record_jit("jit.db", 0);
	record_jit("exec.db", 2);
	put_jit(f, 5, "/bin/node");
	check_jit(f, "jit.db", 0, "compiled");
	check_jit(f, "exec.db", 2,
		  "compiled");	    /* the objects of both earlier images have no code any more */
	put_jit(f, 6, "/bin/node"); /* another process with that pid */
	check_jit(f, "jit.db", 0, NULL);
	put_jit(f, 5, "/bin/java"); /* the process has called exec since */
	check_jit(f, "jit.db", 0, NULL);
	fixture_process_gone(f, PID);
	check_jit(f, "jit.db", 0, NULL);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_build_id),
		cmocka_unit_test(newer_file_is_refused),
		cmocka_unit_test(layout_decides),
		cmocka_unit_test(finished_recording_is_skipped),
		cmocka_unit_test(other_file_is_refused),
		cmocka_unit_test(found_by_content),
		cmocka_unit_test(unreadable_file_is_skipped),
		cmocka_unit_test(found_in_root_of_process),
		cmocka_unit_test(stripped_file_gives_starts),
		cmocka_unit_test(kernel_of_same_build_id),
		cmocka_unit_test(jit_code_of_same_process),
	};

	return cmocka_run_group_tests(tests, reader_names_setup, program_teardown);
}
