/* SPDX-License-Identifier: MIT */
/*
 * late_names: a recording that was cut off has the names that its reader finds here, by build-id,
 * within a budget, and never those of another file, kernel or process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/late_names.h"
#include "store/store_writer.h"
#include "sym_program.h"
#include "test_proc_fixture.h"

#define FUNCTIONS 4
#define INSIDE	  4 /* bytes from a function's start to where samples hit */
#define PID	  90

static const char *const names[FUNCTIONS] = {"one", "two", "three", "four"};
static const char source[] = "#define F(n) __attribute__((noinline)) int n(int x) {"
			     "  __asm__ volatile(\"nop;nop;nop;nop;nop;nop;nop;nop\" : \"+r\"(x));"
			     "  return x + VALUE; }\n"
			     "F(one) F(two) F(three) F(four)\n"
			     "int main(int n, char **v) { (void)v;"
			     "  return one(two(three(four(n)))); }\n";

static uint64_t starts[FUNCTIONS]; /* of "prog", and of "stripped" */

static int setup(void **state)
{
	struct elf_file *file;

	if (program_setup(state))
		return -1;
	program_write("p.c", source);
	assert_int_equal(program_shell("cc -O1 -Wl,--build-id -DVALUE=1 p.c -o prog &&"
				       "cc -O1 -Wl,--build-id -DVALUE=2 p.c -o other &&"
				       "cc -O1 -Wl,--build-id=none -DVALUE=1 p.c -o anonymous &&"
				       "cc -O1 -Wl,--build-id=none -DVALUE=2 p.c -o stranger &&"
				       "strip prog -o stripped"),
			 0);
	file = program_open("prog");
	for (int i = 0; i < FUNCTIONS; i++)
		starts[i] = program_offset(file, names[i]);
	elf_file_free(file);
	return 0;
}

/* --- a recording ----------------------------------------------------------------------------- */

struct recording {
	struct store_writer *writer;
	struct store_recording info;
	uint32_t objects, locations;
};

static char *path_of(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", program_dir, name) > 0);
	return path;
}

static void begin(struct recording *r, const char *store)
{
	char *path = path_of(store);

	*r = (struct recording){.info = {.start_unix_ns = 1700000000000000000,
					 .start_ns = 5000000000,
					 .end_ns = 5000000000,
					 .host = "elsewhere",
					 .kernel = "6.1.0",
					 .arch = "x86_64",
					 .command = "stackd",
					 .target = "all",
					 .event = "cpu-clock",
					 .note = ""}};
	assert_int_equal(store_writer_new(path, &r->info, &r->writer, NULL), 0);
	free(path);
}

static void add_object(struct recording *r, const struct store_object *like)
{
	struct store_object object = *like;

	object.number = r->objects++;
	assert_int_equal(store_writer_object(r->writer, &object), 0);
}

/* An object that is the file `name`, said to lie at `path`. */
static void add_file(struct recording *r, const char *name, const char *path)
{
	struct elf_file *file = program_open(name);
	struct store_object object = {.kind = OBJECT_ELF, .path = path};

	object.build_id = elf_file_build_id(file, &object.build_id_len);
	object.file_id = elf_file_id(file);
	add_object(r, &object);
	elf_file_free(file);
}

/* A place in the newest object. */
static void add_location(struct recording *r, uint64_t offset)
{
	const struct store_location location = {
		.number = r->locations++, .object = r->objects - 1, .offset = offset};

	assert_int_equal(store_writer_location(r->writer, &location), 0);
}

static void add_functions(struct recording *r)
{
	for (int i = 0; i < FUNCTIONS; i++)
		add_location(r, starts[i] + INSIDE);
}

static void add_process(struct recording *r, uint32_t number, int pid, const char *exe)
{
	const struct store_process process = {
		.number = number, .pid = pid, .parent = 1, .comm = "prog", .exe = exe};

	assert_int_equal(store_writer_process(r->writer, &process), 0);
}

static void commit(struct recording *r, bool finished)
{
	r->info.finished = finished;
	assert_int_equal(store_writer_commit(r->writer, &r->info), 0);
}

static void end(struct recording *r)
{
	store_writer_free(r->writer);
}

/* The recording of four places in a file of that name and path, cut off. */
static void record_file(const char *store, const char *name, const char *path, bool finished)
{
	struct recording r;

	begin(&r, store);
	add_file(&r, name, path);
	add_functions(&r);
	commit(&r, finished);
	end(&r);
}

/* --- a reader -------------------------------------------------------------------------------- */

struct looker {
	struct late_names *late;
	struct store_reader *reader;
	const struct store_tables *tables;
	uint64_t now, asked; /* the clock, and how often it was looked at */
};

static uint64_t tick(void *arg)
{
	struct looker *l = arg;

	l->asked++;
	return l->now++;
}

static void look_with(struct looker *l, const char *root)
{
	const struct late_names_options options = {
		.proc_root = root, .sys_root = root, .now_ns = tick, .now_arg = l};

	*l = (struct looker){.late = NULL};
	assert_int_equal(late_names_new(&options, &l->late), 0);
}

static void look(struct looker *l, const char *store, uint64_t budget)
{
	char *path = path_of(store);

	store_reader_close(l->reader);
	assert_int_equal(store_reader_open(path, 0, &l->reader, NULL), 0);
	assert_int_equal(late_names_find(l->late, l->reader, budget), 0);
	l->tables = store_reader_tables(l->reader);
	free(path);
}

static void look_away(struct looker *l)
{
	store_reader_close(l->reader);
	late_names_free(l->late);
}

/* A first look with time enough; by default into a /proc where nothing runs. */
static void look_once(struct looker *l, const char *store, const char *root)
{
	look_with(l, root ? root : program_dir);
	look(l, store, 1000000);
}

static const struct store_line *line_of(const struct looker *l, uint32_t location)
{
	const struct store_tables *t = l->tables;

	return t->line_first[location] < t->line_first[location + 1]
		       ? &t->lines[t->line_first[location]]
		       : NULL;
}

static void check_name(const struct looker *l, uint32_t location, const char *name, uint64_t start)
{
	const struct store_line *line = line_of(l, location);

	assert_non_null(line);
	assert_int_equal(line->location, location);
	if (name)
		assert_string_equal(line->function, name);
	else
		assert_null(line->function);
	assert_int_equal(line->function_start, start);
}

static void check_named(const struct looker *l)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		check_name(l, i, names[i], starts[i]);
}

static void check_nameless(const struct looker *l)
{
	assert_int_equal(l->tables->n_lines, 0);
	for (uint32_t i = 0; i < l->tables->n_locations; i++)
		assert_null(line_of(l, i));
}

/* --- files ----------------------------------------------------------------------------------- */

static void by_build_id(void **state)
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

/* stackd itself asked, when it ended, those who could know. */
static void a_finished_one_is_left_alone(void **state)
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

static void another_file_of_that_name(void **state)
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

static void by_content(void **state)
{
	struct elf_file *file = program_open("anonymous");
	char *path = path_of("anonymous");
	struct recording r;
	struct looker l;

	(void)state;
	begin(&r, "content.db");
	add_file(&r, "anonymous", path);
	add_location(&r, program_offset(file, "three") + INSIDE);
	commit(&r, false);
	end(&r);
	look_once(&l, "content.db", NULL);
	check_name(&l, 0, "three", program_offset(file, "three"));
	look_away(&l);
	elf_file_free(file);
	free(path);
}

static void a_file_that_cannot_be_read(void **state)
{
	char *path = path_of("secret");
	struct looker l;

	(void)state;
	assert_int_equal(program_shell("cp prog secret"), 0);
	record_file("secret.db", "secret", path, false);
	if (geteuid()) { /* root reads it all the same */
		assert_int_equal(chmod(path, 0), 0);
		look_once(&l, "secret.db", NULL);
		check_nameless(&l);
		look_away(&l);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0); /* nor does it wait for one that is no file */
	look_once(&l, "secret.db", NULL);
	check_nameless(&l);
	look_away(&l);
	assert_int_equal(unlink(path), 0);
	look_once(&l, "secret.db", NULL);
	check_nameless(&l);
	assert_int_equal(late_names_left(l.late), 0);
	look_away(&l);
	free(path);
}

/* Code of a container: the path is that of a process's own root. */
static void in_the_root_of_a_process(void **state)
{
	struct fixture *f = fixture_new();
	char *folder = fixture_path(f, "proc/90/root/data/x");
	struct recording r;
	struct looker l;

	(void)state;
	fixture_process(f, PID, 1, 5, "prog", "");
	fixture_write_pid(f, PID, "ns/mnt", "");
	assert_int_equal(program_shell("cp prog %s/proc/90/root/data/inside", f->root), 0);
	begin(&r, "inside.db");
	add_file(&r, "prog", "/data/inside");
	add_functions(&r);
	add_process(&r, 0, 89, "/data/other");
	add_process(&r, 1, PID, "/data/inside");
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

static void by_start(void **state)
{
	char *path = path_of("stripped");
	struct recording r;
	struct looker l;

	(void)state;
	begin(&r, "starts.db");
	add_file(&r, "stripped", path);
	add_functions(&r);
	add_location(&r, starts[2] + INSIDE + 1); /* another place in three() */
	commit(&r, false);
	end(&r);
	look_once(&l, "starts.db", NULL);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		check_name(&l, i, NULL, starts[i]);
	check_name(&l, FUNCTIONS, NULL, starts[2]);
	look_away(&l);
	free(path);
}

/* --- time ------------------------------------------------------------------------------------ */

#define PLACES 10 /* in each function */

/* Of many places: how many have a name, and how many the start of their function alone. */
static void count_named(const struct looker *l, uint32_t *ret_named, uint32_t *ret_started)
{
	*ret_named = *ret_started = 0;
	for (uint32_t i = 0; i < FUNCTIONS * PLACES; i++) {
		const struct store_line *line = line_of(l, i);

		if (!line)
			continue;
		assert_int_equal(line->function_start, starts[i / PLACES]);
		if (line->function)
			assert_string_equal(line->function, names[i / PLACES]);
		*ret_named += line->function != NULL;
		*ret_started += line->function == NULL;
	}
}

/* Each look gets some names further, and groups some more by the starts of functions. The clock
 * goes on by one whenever it is looked at, which is before each place: so there is never more done
 * than there is time for. */
static void within_a_budget(void **state)
{
	const uint32_t budget = 24, all = FUNCTIONS * PLACES;
	uint32_t named = 0, started, looks = 0;
	char *path = path_of("prog");
	struct recording r;
	struct looker l;

	(void)state;
	begin(&r, "budget.db");
	add_file(&r, "prog", path);
	for (uint32_t i = 0; i < all; i++)
		add_location(&r, starts[i / PLACES] + i % PLACES);
	commit(&r, false);
	end(&r);
	look_with(&l, program_dir);
	while (named < all) {
		uint32_t before = named;
		uint64_t asked = l.asked;

		look(&l, "budget.db", budget);
		assert_true(l.asked > asked && l.asked - asked <= budget + 3);
		count_named(&l, &named, &started);
		assert_true(named > before);
		assert_true(started > 0 || named == all);
		assert_int_equal(late_names_left(l.late), all - named);
		looks++;
	}
	assert_true(looks == 3 || looks == 4); /* three quarters of the budget are for names */
	look_away(&l);
	free(path);
}

/* Without any time there are no names, and nothing fails. */
static void without_time(void **state)
{
	char *path = path_of("prog");
	struct looker l;

	(void)state;
	record_file("late.db", "prog", path, false);
	look_with(&l, program_dir);
	look(&l, "late.db", 0);
	check_nameless(&l);
	assert_int_equal(late_names_left(l.late), FUNCTIONS);
	look(&l, "late.db", 1000000);
	check_named(&l);
	look_away(&l);
	free(path);
}

/* A place is asked about once: what was found is there at the next look, without its file and
 * without time. New places come to it. */
static void what_was_found_is_kept(void **state)
{
	char *path = path_of("copy");
	struct recording r;
	struct looker l;
	uint64_t asked;

	(void)state;
	assert_int_equal(program_shell("cp prog copy"), 0);
	begin(&r, "kept.db");
	add_file(&r, "copy", path);
	add_functions(&r);
	commit(&r, false);
	look_with(&l, program_dir);
	look(&l, "kept.db", 1000000);
	assert_int_equal(unlink(path), 0);
	asked = l.asked;
	look(&l, "kept.db", 0);
	check_named(&l);
	assert_int_equal(l.asked, asked);
	add_location(&r, starts[1] + INSIDE + 1);
	/* stackd finds a name, too: the store's is the one that is shown. */
	assert_int_equal(store_writer_line(r.writer, &(struct store_line){.function = "of stackd"}),
			 0);
	commit(&r, false);
	look(&l, "kept.db", 1000000);
	check_name(&l, 0, "of stackd", 0);
	check_name(&l, 1, names[1], starts[1]);
	check_name(&l, FUNCTIONS, names[1], starts[1]);
	end(&r);
	look_away(&l);
	free(path);
}

/* Another recording of the store has other places by the same numbers. */
static void another_recording(void **state)
{
	char *path = path_of("prog");
	struct recording r;
	struct looker l;

	(void)state;
	record_file("two.db", "prog", path, false);
	look_with(&l, program_dir);
	look(&l, "two.db", 1000000);
	begin(&r, "two.db");
	add_file(&r, "prog", path);
	for (int i = FUNCTIONS; i > 0; i--)
		add_location(&r, starts[i - 1] + INSIDE);
	commit(&r, false);
	end(&r);
	look(&l, "two.db", 1000000);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		check_name(&l, i, names[FUNCTIONS - 1 - i], starts[FUNCTIONS - 1 - i]);
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

static void the_kernel(void **state)
{
	const uint8_t build_id[20] = {1};
	struct fixture *f = fixture_new();
	struct recording r;
	struct looker l;

	(void)state;
	begin(&r, "kernel.db");
	add_object(&r, &(struct store_object){.kind = OBJECT_KERNEL,
					      .path = "[kernel.kallsyms]",
					      .file_id = 1,
					      .build_id = build_id,
					      .build_id_len = sizeof(build_id)});
	add_location(&r, 0x210);
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

/* JIT code of a process that began at tick 5; with `execs`, of it after that. */
static void record_jit(const char *store, uint32_t execs)
{
	struct store_object object = {
		.kind = OBJECT_JIT, .path = "[jit]", .file_id = object_jit_id(PID, 5)};
	struct recording r;

	begin(&r, store);
	for (uint32_t i = 0; i <= execs; i++) {
		add_object(&r, &object);
		add_location(&r, 0x1010);
		object.file_id = object_next_id(object.file_id);
	}
	add_process(&r, 0, PID, "/bin/node");
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

static void jit_code(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	record_jit("jit.db", 0);
	record_jit("exec.db", 2);
	put_jit(f, 5, "/bin/node");
	check_jit(f, "jit.db", 0, "compiled");
	check_jit(f, "exec.db", 2, "compiled"); /* the two before it are gone */
	put_jit(f, 6, "/bin/node");		/* another process of that pid */
	check_jit(f, "jit.db", 0, NULL);
	put_jit(f, 5, "/bin/java"); /* it has called exec since */
	check_jit(f, "jit.db", 0, NULL);
	fixture_process_gone(f, PID);
	check_jit(f, "jit.db", 0, NULL);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_build_id),
		cmocka_unit_test(a_finished_one_is_left_alone),
		cmocka_unit_test(another_file_of_that_name),
		cmocka_unit_test(by_content),
		cmocka_unit_test(a_file_that_cannot_be_read),
		cmocka_unit_test(in_the_root_of_a_process),
		cmocka_unit_test(by_start),
		cmocka_unit_test(within_a_budget),
		cmocka_unit_test(without_time),
		cmocka_unit_test(what_was_found_is_kept),
		cmocka_unit_test(another_recording),
		cmocka_unit_test(the_kernel),
		cmocka_unit_test(jit_code),
	};

	return cmocka_run_group_tests(tests, setup, program_teardown);
}
