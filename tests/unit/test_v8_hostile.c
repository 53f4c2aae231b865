/* SPDX-License-Identifier: MIT */
/* A heap of V8 that is made by hand, in which a function, its lines, its frames and its code are
 * found; and the same heap with words that lead elsewhere, in circles, or are anything: whatever is
 * asked of it ends, and what is said is sane. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "runtime/v8/v8_heap.h"
#include "runtime/v8/v8_layout.h"

#define BASE	UINT64_C(0x10000000)
#define BYTES	4096
#define SMI(n)	((uint64_t)(n) << 32)
#define TAG(at) (BASE + (at) + 1)

/* Where the objects are; their maps are at 64 times their types. */
enum {
	BYTECODE = 1024,
	SOURCES = 1152,
	SFI = 1216,
	SCOPE = 1280,
	SCRIPT = 1408,
	NAME = 1536,
	SOURCE = 1600,
	JS_FUNCTION = 1728,
	FRAME = 1920,  /* its frame pointer */
	STREAM = 2032, /* the instructions begin at 2048 */
	CODE = 2304,
	POINTS = 2432,
	LITERALS = 2624,
	TRANSLATIONS = 2688,
};

enum { STRING_TYPE = 8, OTHER_TYPE = 9 }; /* below FIRST_NO_STRING; the others are from 10 on */
#define SIZE	200			  /* of the code */
#define RETURNS 0x40			  /* a return address, from the code's start */

static uint8_t arena[BYTES];
static uint64_t seed = 1;
static unsigned n_reads, n_functions, n_pieces, n_frames;

static uint64_t chance(void)
{
	seed = hash_mix64(seed + UINT64_C(0x9e3779b97f4a7c15));
	return seed;
}

#define TEXT UINT64_C(0x40000000) /* of a long script, of wide characters */

static uint32_t line_length; /* in it */

static bool read_long_text(uint64_t address, uint8_t *buf, size_t len)
{
	for (size_t i = 0; i + 1 < len; i += 2) {
		uint64_t at = (address - TEXT + i) / 2;

		buf[i] = at % line_length == line_length - 1 ? '\n' : 'x';
		buf[i + 1] = 0;
	}
	return true;
}

static bool read_arena(void *arg, uint64_t address, void *buf, size_t len)
{
	(void)arg;
	n_reads++;
	if (address >= TEXT && address < 2 * TEXT)
		return read_long_text(address, buf, len);
	if (address < BASE || address - BASE > BYTES || len > BYTES - (address - BASE))
		return false;
	memcpy(buf, arena + (address - BASE), len);
	return true;
}

static int has_arena(void *arg, uint64_t address)
{
	(void)arg;
	return address - BASE < BYTES;
}

static void put(size_t at, uint64_t word)
{
	memcpy(arena + at, &word, sizeof(word));
}

/* Begins an object of a type, and makes the type's map. */
static void begin(size_t at, uint16_t type)
{
	put(at, TAG(64 * type));
	put(64 * type, TAG(0));
	memcpy(arena + 64 * type + 12, &type, sizeof(type));
}

static void put_text(size_t at, const char *text)
{
	uint32_t len = (uint32_t)strlen(text);

	begin(at, STRING_TYPE);
	memcpy(arena + at + 12, &len, sizeof(len));
	memcpy(arena + at + 16, text, len);
}

static void put_bytes(size_t at, uint16_t type, const uint8_t *bytes, size_t len)
{
	begin(at, type);
	put(at + 8, SMI(len));
	memcpy(arena + at + 16, bytes, len);
}

/* The layout of V8 11.3, less what is not used; types are numbers from 10 on. */
static struct v8_layout make_layout(void)
{
	static const int32_t values[][2] = {
		{V8_SFI_OF_FUNCTION, 24}, {V8_SFI_DATA, 8},	     {V8_SFI_NAME, 16},
		{V8_SFI_SCRIPT, 32},	  {V8_SCRIPT_NAME, 16},	     {V8_SCRIPT_SOURCE, 8},
		{V8_BYTECODE_START, 54},  {V8_STRING_LENGTH, 12},    {V8_CONS_FIRST, 16},
		{V8_CONS_SECOND, 24},	  {V8_SLICED_PARENT, 16},    {V8_SLICED_OFFSET, 24},
		{V8_THIN_ACTUAL, 16},	  {V8_STRING_CHARS, 16},     {V8_EXTERNAL_RESOURCE, 16},
		{V8_MAP_TYPE, 12},	  {V8_TYPE_SFI, 10},	     {V8_TYPE_SCOPE_INFO, 11},
		{V8_TYPE_SCRIPT, 12},	  {V8_TYPE_BYTECODE, 13},    {V8_TYPE_CODE, 14},
		{V8_TYPE_STREAM, 15},	  {V8_TYPE_FIXED_ARRAY, 1},  {V8_TYPE_BYTE_ARRAY, 2},
		{V8_TYPE_ODDBALL, 3},	  {V8_FIRST_NO_STRING, 9},   {V8_KIND_MASK, 15},
		{V8_KIND_BASELINE, 11},	  {V8_KIND_INTERPRETED, 10}, {V8_DEOPT_POSITIONS, 7},
	};
	struct v8_layout layout = {.number = 11003,
				   .interpreter = 0x1000,
				   .interpreter_end = 0x1400,
				   .handlers = 0x2000,
				   .handlers_end = 0x3000};

	for (size_t i = 0; i < V8_CONSTANT_COUNT; i++)
		layout.is[i] = V8_ABSENT;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		layout.is[values[i][0]] = values[i][1];
	memset(layout.bytecode_sizes, 2, sizeof(layout.bytecode_sizes));
	return layout;
}

static void make_function(void)
{
	/* offset 0 at position 4, in the first line; offset 9 at position 9, in the second one */
	static const uint8_t sources[] = {0x01, 0x14, 0x12, 0x14};

	begin(BYTECODE, 13);
	put(BYTECODE + 8, SMI(40));
	put(BYTECODE + 32, TAG(SOURCES));
	put_bytes(SOURCES, 2, sources, sizeof(sources));
	begin(SFI, 10);
	put(SFI + 8, TAG(BYTECODE));
	put(SFI + 16, TAG(SCOPE));
	put(SFI + 32, TAG(SCRIPT));
	begin(SCOPE, 11);
	put(SCOPE + 8, SMI(1 << 12 | 2));
	put(SCOPE + 24, SMI(0));
	put(SCOPE + 32, TAG(NAME));
	put(SCOPE + 48, SMI(2));
	put(SCOPE + 56, SMI(14));
	begin(SCRIPT, 12);
	put(SCRIPT + 8, TAG(SOURCE));
	put(SCRIPT + 16, TAG(NAME));
	put(SCRIPT + 64, SMI(7));
	put_text(NAME, "render");
	put_text(SOURCE, "one();\ntwo();\nthree();\n");
	begin(JS_FUNCTION, 7);
	put(JS_FUNCTION + 24, TAG(SFI));
}

static void make_code(void)
{
	static const uint8_t translations[] = {0x02, 0x00, 0x02, 0x02, 0x17,
					       0x12, 0x00, 0x00, 0x00, 0x00};
	const uint32_t flags = 13, size = SIZE; /* of the best compiler */

	begin(STREAM, 15);
	put(STREAM + 8, TAG(CODE));
	begin(CODE, 14);
	put(CODE + 16, TAG(POINTS));
	put(CODE + 40, BASE + STREAM + 16);
	memcpy(arena + CODE + 48, &flags, sizeof(flags));
	memcpy(arena + CODE + 56, &size, sizeof(size));
	begin(POINTS, 1);
	put(POINTS + 8, SMI(14));
	put(POINTS + 16, TAG(TRANSLATIONS));
	put(POINTS + 16 + 8 * 2, TAG(LITERALS));
	put(POINTS + 16 + 8 * 5, SMI(3));
	put(POINTS + 16 + 8 * 6, TAG(SFI));
	put(POINTS + 16 + 8 * 12, SMI(0));
	put(POINTS + 16 + 8 * 13, SMI(RETURNS));
	begin(LITERALS, 1);
	put(LITERALS + 8, SMI(1));
	put(LITERALS + 16, TAG(SFI));
	put_bytes(TRANSLATIONS, 2, translations, sizeof(translations));
}

static void make_heap(void)
{
	memset(arena, 0, sizeof(arena));
	make_function();
	make_code();
	put(FRAME, BASE + FRAME + 64);
	put(FRAME - 8, TAG(JS_FUNCTION));
	put(FRAME - 16, TAG(JS_FUNCTION));
	put(FRAME - 24, 1);
	put(FRAME - 32, TAG(BYTECODE));
	put(FRAME - 40, SMI(53 + 9));
}

static void *open_heap(void)
{
	const struct v8_layout layout = make_layout();
	struct runtime_layout bytes;
	struct runtime_memory memory = {.read = read_arena, .has = has_arena, .layout = &bytes};
	void *v8;

	v8_layout_put(&layout, &bytes);
	assert_int_equal(v8_open(NULL, 0, &memory, &v8), 0);
	return v8;
}

static const struct walk_memory stack = {.bytes = arena, .start = BASE, .len = BYTES};

static void test_right(void **state)
{
	struct runtime_managed_frame frames[4];
	struct runtime_code_piece piece;
	struct runtime_function f = {0};
	struct runtime_activation is;
	void *v8;

	(void)state;
	make_heap();
	v8 = open_heap();
	v8_learn(v8, &stack, BASE + FRAME);
	assert_true(v8_interpreted(&stack, BASE + FRAME, &is));
	assert_int_equal(is.function, BASE + BYTECODE);
	assert_int_equal(v8_function(v8, is.function, &f), 0);
	assert_string_equal(f.name, "render");
	assert_string_equal(f.file, "render");
	assert_int_equal(f.first_line, 1);
	assert_int_equal(is.instruction - f.code, 9);
	assert_int_equal(f.n_lines, 2);
	assert_int_equal(f.lines[1].instruction, 9);
	assert_int_equal(f.lines[1].line, 2);
	free(f.lines);
	assert_true(v8_piece(v8, BASE + 2048 + RETURNS, &piece));
	assert_int_equal(piece.kind, RUNTIME_CODE_COMPILED);
	assert_true(piece.is_framed);
	assert_int_equal(piece.function, BASE + SFI);
	assert_int_equal(v8_frames(v8, &piece, BASE + 2048 + RETURNS, true, frames, 4), 1);
	assert_int_equal(frames[0].function, BASE + SFI);
	assert_int_equal(frames[0].instruction, 9);
	assert_int_equal(v8_frames(v8, &piece, BASE + 2048 + RETURNS + 4, true, frames, 4), 1);
	assert_int_equal(frames[0].instruction, RUNTIME_NO_INSTRUCTION);
	v8_close(v8);
}

/* Makes the code one of V8 13.6's middle compiler. Its point has the address of the code for
 * falling back, 180; a table behind the instructions has that of the return address. `registers`
 * are the bytes of each entry's last number. */
static void make_middle_code(unsigned registers)
{
	static const uint8_t translations[] = {0x0e, 0x00, 0x02, 0x02, 0x00, 0x12,
					       0x00, 0x00, 0x00, 0x00, 0x00};
	const uint32_t flags = 12, size = SIZE;
	/* slots, entries, sizes of their numbers, slots with objects */
	const uint32_t head[] = {9, 2, 1 | registers << 1 | 2 << 4 | 1 << 7, 6};
	const uint8_t entries[2][5] = {{0x20, 0, 0, 0, 0}, {RETURNS, 0, 1, 181, 0}};

	memset(arena + STREAM - 16, 0, CODE - STREAM + 96);
	begin(STREAM - 16, 15);
	put(STREAM - 8, TAG(CODE));
	begin(CODE, 14);
	put(CODE + 8, TAG(POINTS));
	put(CODE + 40, BASE + STREAM + 16);
	memcpy(arena + CODE + 52, &flags, sizeof(flags));
	memcpy(arena + CODE + 56, &size, sizeof(size));
	put(POINTS + 16 + 8 * 13, SMI(180));
	put_bytes(TRANSLATIONS, 2, translations, sizeof(translations));
	memcpy(arena + 2048 + SIZE, head, sizeof(head));
	for (size_t i = 0; i < 2; i++)
		memcpy(arena + 2048 + SIZE + sizeof(head) + i * (6 + registers), entries[i],
		       sizeof(entries[i]));
}

/* A return address in code of the middle compiler, whose entries have numbers of each size. */
static void test_middle(void **state)
{
	struct v8_layout layout = make_layout();
	struct runtime_managed_frame frames[4];
	struct runtime_code_piece piece;
	struct runtime_layout bytes;
	struct runtime_memory memory = {.read = read_arena, .has = has_arena, .layout = &bytes};
	void *v8;

	(void)state;
	layout.number = 13006;
	v8_layout_put(&layout, &bytes);
	for (unsigned registers = 0; registers < 3; registers++) {
		make_heap();
		make_middle_code(registers);
		assert_int_equal(v8_open(NULL, 0, &memory, &v8), 0);
		assert_true(v8_piece(v8, BASE + 2048 + RETURNS, &piece));
		assert_int_equal(v8_frames(v8, &piece, BASE + 2048 + RETURNS, true, frames, 4), 1);
		assert_int_equal(frames[0].function, BASE + SFI);
		assert_int_equal(frames[0].instruction, 9);
		/* the address of the code for falling back is none to which a call returns */
		assert_int_equal(v8_frames(v8, &piece, BASE + 2048 + 180, true, frames, 4), 1);
		assert_int_equal(frames[0].instruction, RUNTIME_NO_INSTRUCTION);
		v8_close(v8);
	}
}

/* Makes the script's source a text outside of the heap. */
static void make_long_source(uint32_t length, uint32_t of_line)
{
	line_length = of_line;
	begin(SOURCE, 2);
	memcpy(arena + SOURCE + 12, &length, sizeof(length));
	put(SOURCE + 24, TEXT);
}

/* Reads the function after that many calls, each of which reads a part of the script. */
static uint32_t first_line_after(void *v8, int calls)
{
	struct runtime_function f = {0};

	for (; calls; calls--) {
		n_reads = 0;
		assert_int_equal(v8_function(v8, BASE + SFI, &f), -EAGAIN);
		assert_true(n_reads < 2000);
	}
	assert_int_equal(v8_function(v8, BASE + SFI, &f), 0);
	assert_string_equal(f.name, "render");
	free(f.lines);
	n_reads = 0;
	assert_int_equal(v8_function(v8, BASE + SFI, &f), 0); /* it is searched once */
	assert_true(n_reads < 200);
	free(f.lines);
	return f.first_line;
}

static void test_long_scripts(void **state)
{
	void *v8;

	(void)state;
	make_heap();
	v8 = open_heap();
	make_long_source(5 << 19, 1000);
	assert_int_equal(first_line_after(v8, 2), 1);
	make_long_source(5 << 19, 2);		      /* the same place, another text */
	assert_int_equal(first_line_after(v8, 2), 0); /* too many lines */
	assert_true(v8_bytes(v8) < 1 << 20);
	make_long_source(1 << 24, 4096);
	assert_int_equal(first_line_after(v8, 15), 1);
	v8_close(v8);
}

/* The search for code ends where the memory begins, and is not made again. */
static void test_no_code(void **state)
{
	struct runtime_code_piece piece;
	void *v8;

	(void)state;
	make_heap();
	v8 = open_heap();
	n_reads = 0;
	assert_false(v8_piece(v8, BASE + 1000, &piece));
	assert_true(n_reads > 0);
	n_reads = 0;
	assert_false(v8_piece(v8, BASE + 1000, &piece));
	assert_int_equal(n_reads, 0);
	v8_close(v8);
}

static void check_function(void *v8, uint64_t address)
{
	struct runtime_function f = {0};

	if (v8_function(v8, address, &f) == 0) {
		n_functions++;
		assert_non_null(memchr(f.name, '\0', sizeof(f.name)));
		assert_non_null(memchr(f.file, '\0', sizeof(f.file)));
		for (size_t i = 1; i < f.n_lines; i++)
			assert_true(f.lines[i].instruction > f.lines[i - 1].instruction);
	}
	free(f.lines);
	v8_identity(v8, address);
}

static void check_code(void *v8, uint64_t address)
{
	struct runtime_managed_frame frames[64];
	struct runtime_code_piece piece;

	if (!v8_piece(v8, address, &piece))
		return;
	n_pieces++;
	assert_true(piece.start <= address && address <= piece.end);
	v8_is_still(v8, &piece);
	for (int is_return = 0; is_return < 2; is_return++) {
		size_t n = v8_frames(v8, &piece, address, is_return, frames, 64);

		assert_true(n <= 64);
		n_frames += (unsigned)n;
		for (size_t i = 0; i < n; i++)
			check_function(v8, frames[i].function);
	}
}

/* Makes a word lead to another object, to itself, or be anything. */
static void mislead(void)
{
	static const uint16_t objects[] = {BYTECODE, SOURCES,  SFI,	    SCOPE,	 SCRIPT,
					   NAME,     SOURCE,   STREAM,	    JS_FUNCTION, CODE,
					   POINTS,   LITERALS, TRANSLATIONS};
	size_t n = sizeof(objects) / sizeof(*objects), from = objects[chance() % n];
	size_t at = from + 8 * (chance() % 16);
	uint64_t kind = chance() % 6;

	put(at, kind == 0   ? TAG(objects[chance() % n])
		: kind == 1 ? TAG(from)
		: kind == 2 ? TAG(64 * (chance() % 16))
		: kind == 3 ? SMI(chance() % 100)
		: kind == 4 ? SMI(chance() >> 33)
			    : chance());
}

static void test_misled(void **state)
{
	(void)state;
	n_functions = n_pieces = n_frames = 0;
	for (int round = 0; round < 20000; round++) {
		struct runtime_activation is;
		void *v8 = open_heap();

		make_heap();
		for (uint64_t i = 1 + chance() % 4; i; i--)
			mislead();
		n_reads = 0;
		v8_learn(v8, &stack, BASE + FRAME);
		if (v8_interpreted(&stack, BASE + FRAME, &is))
			check_function(v8, is.function);
		check_function(v8, BASE + SFI);
		check_code(v8, BASE + 2048 + RETURNS);
		assert_true(n_reads < 100000);
		v8_close(v8);
	}
	assert_true(n_functions > 5000 && n_pieces > 5000 && n_frames > 5000);
}

/* A worker that was subverted can say anything. */
static void test_layouts(void **state)
{
	struct runtime_layout bytes;
	struct v8_layout layout;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		layout = make_layout();
		v8_layout_put(&layout, &bytes);
		assert_int_equal(v8_layout_get(&bytes, &layout), 0);
		bytes.bytes[chance() % bytes.len] ^= (uint8_t)(1 + chance() % 255);
		if (!v8_layout_get(&bytes, &layout)) {
			assert_non_null(layout.version);
			assert_true(layout.handlers <= layout.handlers_end);
		}
		bytes.len--;
		assert_int_not_equal(v8_layout_get(&bytes, &layout), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),	cmocka_unit_test(test_middle),
		cmocka_unit_test(test_no_code), cmocka_unit_test(test_long_scripts),
		cmocka_unit_test(test_misled),	cmocka_unit_test(test_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
