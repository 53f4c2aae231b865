/* SPDX-License-Identifier: MIT */
/* Compiled programs, recordings of locations in them, and a reader that looks up their names. */
#ifndef READER_NAMES_FIXTURE_H
#define READER_NAMES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proc/object.h"
#include "recording_fixture.h"
#include "sym/reader_names.h"
#include "sym_program.h"

#define FUNCTIONS 4
#define INSIDE	  4 /* bytes from a function's start to where samples hit */

static const char *const names[FUNCTIONS] = {"one", "two", "three", "four"};
static const char source[] = "#define F(n) __attribute__((noinline)) int n(int x) {"
			     "  __asm__ volatile(\"nop;nop;nop;nop;nop;nop;nop;nop\" : \"+r\"(x));"
			     "  return x + VALUE; }\n"
			     "F(one) F(two) F(three) F(four)\n"
			     "int main(int n, char **v) { (void)v;"
			     "  return one(two(three(four(n)))); }\n";

static uint64_t starts[FUNCTIONS]; /* file offsets in "prog" and "stripped" */

static inline int reader_names_setup(void **state)
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

/* A recording, and where it is written. */
struct recorded {
	struct recording made;
	struct store_writer *writer;
};

static inline char *path_of(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", program_dir, name) > 0);
	return path;
}

/* When recordings begin, after all files were made; a test that changes a file moves it. */
static int64_t begins_after_s = 3600; /* from now */

static inline uint64_t begin_unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)(now.tv_sec + begins_after_s) * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void begin(struct recorded *r, const char *store)
{
	char *path = path_of(store);
	struct store_recording info;

	info = usual_recording();
	info.start_unix_ns = begin_unix_ns();
	info.host = "elsewhere";
	r->made = new_recording(&info);
	assert_int_equal(store_writer_new(path, &info, &r->writer, NULL), 0);
	free(path);
}

/* What is put into the layout of a recorded file: 0, as in stores of older versions; its own; or
 * that of another file. */
enum recorded_layout { LAYOUT_NONE, LAYOUT_OWN, LAYOUT_OTHER };
static __attribute__((unused)) enum recorded_layout recorded_layout;

/* Adds the file `name` as an object whose recorded path is `path`. */
static inline void add_file(struct recorded *r, const char *name, const char *path)
{
	struct elf_file *file = program_open(name);
	struct store_object object = {.kind = OBJECT_ELF, .path = path};

	object.build_id = elf_file_build_id(file, &object.build_id_len);
	object.file_id = elf_file_id(file);
	if (recorded_layout)
		object.layout = elf_file_layout(file) + (recorded_layout == LAYOUT_OTHER);
	put_object(&r->made, &object);
	elf_file_free(file);
}

/* Adds a location in the newest object. */
static inline void add_place(struct recorded *r, uint64_t offset)
{
	add_location(&r->made, r->made.n_objects - 1, offset, false);
}

static inline void add_functions(struct recorded *r)
{
	for (int i = 0; i < FUNCTIONS; i++)
		add_place(r, starts[i] + INSIDE);
}

static inline void add_program(struct recorded *r, int pid, const char *exe)
{
	put_process(&r->made,
		    &(struct store_process){.pid = pid, .parent = 1, .comm = "prog", .exe = exe});
}

static inline void commit(struct recorded *r, bool finished)
{
	r->made.info.finished = finished;
	assert_int_equal(write_recording(&r->made, r->writer), 0);
	assert_int_equal(store_writer_commit(r->writer, &r->made.info), 0);
}

static inline void end(struct recorded *r)
{
	store_writer_free(r->writer);
	free_recording(&r->made);
}

/* Records a location in each function of a file, under that path. */
static inline void record_file(const char *store, const char *name, const char *path, bool finished)
{
	struct recorded r;

	begin(&r, store);
	add_file(&r, name, path);
	add_functions(&r);
	commit(&r, finished);
	end(&r);
}

/* --- a reader -------------------------------------------------------------------------------- */

struct looker {
	struct reader_names *late;
	struct store_reader *reader;
	const struct store_tables *tables;
	uint64_t now, asked; /* the clock, and how often it was read */
};

static inline uint64_t tick(void *arg)
{
	struct looker *l = arg;

	l->asked++;
	return l->now++;
}

static inline void look_with(struct looker *l, const char *root)
{
	const struct reader_names_options options = {
		.proc_root = root, .sys_root = root, .now_ns = tick, .now_arg = l};

	*l = (struct looker){.late = NULL};
	assert_int_equal(reader_names_new(&options, &l->late), 0);
}

static inline void look(struct looker *l, const char *store, uint64_t budget)
{
	char *path = path_of(store);

	store_reader_close(l->reader);
	assert_int_equal(store_reader_open(path, 0, &l->reader, NULL), 0);
	assert_int_equal(reader_names_find(l->late, l->reader, budget), 0);
	l->tables = store_reader_tables(l->reader);
	free(path);
}

static inline void look_away(struct looker *l)
{
	store_reader_close(l->reader);
	reader_names_free(l->late);
}

/* A first look without a limit of time; by default with a /proc without processes. */
static inline void look_once(struct looker *l, const char *store, const char *root)
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

static inline void check_name(const struct looker *l, uint32_t location, const char *name,
			      uint64_t start)
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

static inline void check_named(const struct looker *l)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		check_name(l, i, names[i], starts[i]);
}

static inline void check_nameless(const struct looker *l)
{
	assert_int_equal(l->tables->n_lines, 0);
	for (uint32_t i = 0; i < l->tables->n_locations; i++)
		assert_null(line_of(l, i));
}

#endif
