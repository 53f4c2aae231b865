/* SPDX-License-Identifier: MIT */
/*
 * symbolizer: a limit on line tables changes no name, in any order of look-ups, and reduces the
 * memory in use. The object is this program, which has many units.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "sym/symbolizer.h"

#define FRAMES 16
#define STEP   64 /* bytes of code between two look-ups */

struct opened {
	struct elf_file *file;
	struct symbolizer *sym;
	struct symbolizer_object *object;
};

static uint64_t text_start, text_end; /* file offsets */

static struct opened open_self(size_t line_bytes)
{
	static const struct symbolizer_options options = {.with_lines = true};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct opened o;

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &o.file), 0);
	close(fd);
	assert_int_equal(symbolizer_new(&options, &o.sym), 0);
	symbolizer_limit(o.sym, line_bytes);
	assert_int_equal(symbolizer_object_new(o.sym, o.file, NULL, &o.object), 0);
	return o;
}

static void close_opened(struct opened *o)
{
	symbolizer_free(o->sym);
	elf_file_free(o->file);
}

/* Finds the executable program header. */
static int find_text(void **state)
{
	struct opened o = open_self(0);
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;

	(void)state;
	assert_int_equal(elf_file_read(o.file, 0, &ehdr, sizeof(ehdr)), sizeof(ehdr));
	for (int i = 0; i < ehdr.e_phnum && !text_end; i++) {
		uint64_t at = ehdr.e_phoff + (uint64_t)i * sizeof(phdr);

		assert_int_equal(elf_file_read(o.file, at, &phdr, sizeof(phdr)), sizeof(phdr));
		if (phdr.p_type == PT_LOAD && phdr.p_flags & PF_X) {
			text_start = phdr.p_offset;
			text_end = phdr.p_offset + phdr.p_filesz;
		}
	}
	close_opened(&o);
	return text_end > text_start ? 0 : -1;
}

/* The frames of an offset, as a line of text. */
static void ask(struct symbolizer_object *object, uint64_t offset, struct buf *text)
{
	struct symbolizer_frame frames[FRAMES];
	int n = symbolizer_resolve(object, offset, frames, FRAMES);
	char line[1024];

	assert_true(n >= 0 && n <= FRAMES);
	for (int i = 0; i < n; i++) {
		int len = snprintf(
			line, sizeof(line), "%lx %.200s %lx %.200s:%u %d\n", (unsigned long)offset,
			frames[i].function ? frames[i].function : "?",
			(unsigned long)frames[i].start, frames[i].file ? frames[i].file : "?",
			frames[i].line, frames[i].is_inlined);

		buf_put(text, line, (size_t)len);
	}
}

static void ask_all(struct opened *o, struct buf *text)
{
	for (uint64_t offset = text_start; offset < text_end; offset += STEP)
		ask(o->object, offset, text);
	assert_false(text->failed);
}

static size_t bytes_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void limit_changes_no_name(void **state)
{
	static const size_t limits[] = {1, 50000, 1 << 30};
	struct opened o = open_self(0);
	struct buf expected = {0};

	(void)state;
	ask_all(&o, &expected);
	close_opened(&o);
	assert_true(expected.len > 10000);
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct buf text = {0};

		o = open_self(limits[i]);
		ask_all(&o, &text);
		close_opened(&o);
		assert_int_equal(text.len, expected.len);
		assert_memory_equal(text.data, expected.data, text.len);
		buf_free(&text);
	}
	buf_free(&expected);
}

static void limit_changes_no_name_in_any_order(void **state)
{
	struct opened with = open_self(1), without = open_self(0);
	uint64_t size = text_end - text_start;

	(void)state;
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t offset = text_start + i * 7919 * STEP % size;
		struct buf a = {0}, b = {0};

		ask(with.object, offset, &a);
		ask(without.object, offset, &b);
		assert_int_equal(a.len, b.len);
		if (a.len)
			assert_memory_equal(a.data, b.data, a.len);
		buf_free(&a);
		buf_free(&b);
	}
	close_opened(&with);
	close_opened(&without);
}

static void limit_reduces_memory(void **state)
{
	size_t before, held[2];

	(void)state;
	if (!bytes_in_use())
		skip(); /* the sanitizers' malloc() has no statistics */
	for (int i = 0; i < 2; i++) {
		struct opened o = open_self(i ? 20000 : 0);
		struct buf text = {0};

		ask(o.object, text_start, &text); /* what it holds anyway */
		before = bytes_in_use();
		buf_free(&text);
		ask_all(&o, &text);
		buf_free(&text);
		held[i] = bytes_in_use() - before;
		close_opened(&o);
	}
	assert_true(held[1] < held[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit_changes_no_name),
		cmocka_unit_test(limit_changes_no_name_in_any_order),
		cmocka_unit_test(limit_reduces_memory),
	};

	return cmocka_run_group_tests_name("symbolizer_limit", tests, find_text, NULL);
}
