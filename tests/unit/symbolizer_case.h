/* SPDX-License-Identifier: MIT */
/* Opening a compiled program with a symbolizer, and asserting the functions that it names. */
#ifndef SYMBOLIZER_CASE_H
#define SYMBOLIZER_CASE_H

#include "sym_program.h"

#define FRAMES 8

struct opened {
	struct elf_file *file;
	struct symbolizer *sym;
	struct symbolizer_object *object;
};

static const struct symbolizer_options no_debug_files = {.with_lines = true};

/* Opens a program of sym_program.h with a symbolizer of its own; end with close_opened(). */
static inline struct opened open_with(const char *name, const struct symbolizer_options *options)
{
	struct opened o = {.file = program_open(name)};
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	assert_int_equal(symbolizer_new(options, &o.sym), 0);
	assert_int_equal(symbolizer_object_new(o.sym, o.file, path, &o.object), 0);
	return o;
}

static inline void close_opened(struct opened *o)
{
	symbolizer_free(o->sym);
	elf_file_free(o->file);
}

static inline bool ends_with(const char *text, const char *end)
{
	size_t len = text ? strlen(text) : 0, n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

/* Asserts that "mark" resolves to inner(), middle() and outer() of program_inlined. */
static inline void check_chain(struct opened *o, uint64_t mark, uint64_t outer)
{
	static const struct {
		const char *function;
		uint32_t line;
	} expected[] = {{"inner", 3}, {"middle", 7}, {"outer", 11}};
	struct symbolizer_frame frames[FRAMES];

	assert_int_equal(symbolizer_resolve(o->object, mark, frames, FRAMES), 3);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(frames[i].function, expected[i].function);
		assert_true(ends_with(frames[i].file, "/inlined.c"));
		assert_int_equal(frames[i].line, expected[i].line);
		assert_int_equal(frames[i].is_inlined, i < 2);
	}
	assert_int_equal(frames[0].start, 0);
	assert_true(frames[2].start == outer);
}

/* Compiles program_inlined to "inlined". */
static inline void compile_inlined(const char *compiler, const char *flags)
{
	program_write("inlined.c", program_inlined);
	assert_int_equal(program_shell("%s -O2 %s -o inlined $PWD/inlined.c", compiler, flags), 0);
}

/* Asserts the function at an offset and its start; NULL: no name is known. */
static inline void expect_name(struct opened *o, uint64_t offset, const char *name, uint64_t start)
{
	struct symbolizer_frame frame = {0};
	int n = symbolizer_resolve(o->object, offset, &frame, 1);

	if (!name) { /* The unwind information may still give its start. */
		assert_true(n == 0 || n == 1);
		assert_null(frame.function);
		assert_true(!n || (frame.start && frame.start <= offset));
		return;
	}
	assert_int_equal(n, 1);
	assert_string_equal(frame.function, name);
	assert_true(frame.start == start);
	assert_false(frame.is_inlined);
}

#endif
