/* SPDX-License-Identifier: MIT */
/*
 * A HotSpot made of words: a code heap with a compiled method, into which another one was inlined,
 * and a class with both. All is found in it; then words are made wrong, one by one and at random,
 * and nothing may be read outside of it, or take long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hotspot/vm.h"
#include "length.h"

#define BASE  UINT64_C(0x7f0000000000)
#define BYTES 32768

/* Where things are, in bytes from the base. */
#define SEGMENTS  0x400
#define CODE	  0x1000 /* the heap, of segments of 128 bytes */
#define BLOB	  (CODE + 128 + 16)
#define SIZE	  0x300
#define PCS	  0x100 /* in the blob */
#define PCS_END	  0x140
#define METADATA  0x80
#define SCOPES	  0xc0
#define NAME	  0x3000
#define KLASS	  0x3100
#define POOL	  0x3200
#define METHODS	  0x3400
#define OUTER	  0x3500 /* Methods, */
#define INNER	  0x3600
#define OUTER_CM  0x3700 /* and their ConstMethods */
#define INNER_CM  0x3800
#define SYMBOLS	  0x4000
#define LONG_CM	  0x5000
#define CALL_STUB 0x7000
#define CACHE	  0x7100 /* static fields of CodeCache, its array of heaps, and the heaps */
#define HEAPS	  0x7200
#define LOADER	  0x6000
#define CLASSES	  0x6100 /* of 0x80 bytes each */

struct machine {
	uint8_t bytes[BYTES];
	unsigned long reads, most_reads; /* 0: no limit */
	struct vm vm;
};

static bool read_own(void *arg, uint64_t address, void *buf, size_t len)
{
	struct machine *m = arg;

	if (++m->reads > m->most_reads && m->most_reads)
		return false;
	if (address < BASE || len > BYTES || address - BASE > BYTES - len)
		return false;
	memcpy(buf, m->bytes + (address - BASE), len);
	return true;
}

static void put(struct machine *m, uint64_t at, uint64_t value, size_t len)
{
	memcpy(m->bytes + at, &value, len);
}

static uint64_t put_symbol(struct machine *m, unsigned number, const char *text)
{
	uint64_t at = SYMBOLS + number * 0x80;

	put(m, at, strlen(text), 2);
	memcpy(m->bytes + at + 2, text, strlen(text));
	return BASE + at;
}

static void put_method(struct machine *m, uint64_t method, uint64_t constant, unsigned name)
{
	static const uint8_t lines[] = {0xff, 0x00, 0x28, 0x22, 0x00}; /* 0: 20, 4: 22 */

	put(m, method, BASE + constant, 8);
	put(m, constant, BASE + POOL, 8);
	put(m, constant + 8, 12, 4);
	put(m, constant + 12, 1, 2);
	put(m, constant + 14, 8, 2);
	put(m, constant + 16, name, 2);
	put(m, constant + 18, 3, 2);
	memcpy(m->bytes + constant + 24 + 8, lines, sizeof(lines));
}

static void fill_layout(struct vm_layout *is)
{
	static const struct {
		enum vm_field field;
		uint64_t at;
	} fields[] = {
		{VM_BLOCK_USED, 8},	  {VM_BLOB_NAME, 0},
		{VM_BLOB_SIZE, 8},	  {VM_BLOB_FRAME_SIZE, 12},
		{VM_BLOB_CODE_BEGIN, 16}, {VM_METHOD, 24},
		{VM_COMPILE_ID, 32},	  {VM_PCS, 36},
		{VM_PCS_END, 40},	  {VM_METADATA, 44},
		{VM_SCOPES_BEGIN, 48},	  {VM_DEOPT_BEGIN, 56},
		{VM_ORIG_PC, 64},	  {VM_CONST_METHOD, 0},
		{VM_CONSTANTS, 0},	  {VM_CONST_SIZE, 8},
		{VM_CONST_FLAGS, 12},	  {VM_CODE_SIZE, 14},
		{VM_NAME_INDEX, 16},	  {VM_SIGNATURE_INDEX, 18},
		{VM_HOLDER, 0},		  {VM_POOL_LENGTH, 8},
		{VM_SOURCE_INDEX, 12},	  {VM_KLASS_NAME, 0},
		{VM_METHODS, 8},	  {VM_SYMBOL_LENGTH, 0},
		{VM_SYMBOL_BODY, 2},
	};

	memset(is->at, 0xff, sizeof(is->at));
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		is->at[fields[i].field] = fields[i].at;
	is->const_method = 24;
	is->constant_pool = 16;
	is->heap_block = 16;
	is->version = 17;
}

static void put_code(struct machine *m)
{
	static const uint8_t scopes[] = {
		0xff,		  /* no scope is at offset 0 */
		0x00, 0x01, 0x05, /* at 1: outermost, the first method, at instruction 4 */
		0x01, 0x02, 0x01, /* at 4: in that one, the second method, at instruction 0 */
	};
	static const int32_t pcs[][4] = {
		{-1, 0, 0, 0}, {0x20, 4, 0, 0}, {0x40, 1, 0, 0}, {0x7fffffff, 0, 0, 0}};

	memset(m->bytes + SEGMENTS, 0xff, 64);
	for (unsigned i = 0; i < 7; i++)
		m->bytes[SEGMENTS + 1 + i] = (uint8_t)i;
	m->bytes[CODE + 128 + 8] = 1;
	put(m, BLOB, BASE + NAME, 8);
	put(m, BLOB + 8, SIZE, 4);
	put(m, BLOB + 12, 6, 4);
	put(m, BLOB + 16, BASE + BLOB + 0x180, 8);
	put(m, BLOB + 24, BASE + OUTER, 8);
	put(m, BLOB + 32, 77, 4);
	put(m, BLOB + 36, PCS, 4);
	put(m, BLOB + 40, PCS_END, 4);
	put(m, BLOB + 44, METADATA, 4);
	put(m, BLOB + 48, BASE + BLOB + SCOPES, 8);
	put(m, BLOB + 56, BASE + BLOB + 0x2f0, 8);
	put(m, BLOB + 64, 24, 4);
	put(m, BLOB + METADATA, BASE + OUTER, 8);
	put(m, BLOB + METADATA + 8, BASE + INNER, 8);
	memcpy(m->bytes + BLOB + SCOPES, scopes, sizeof(scopes));
	memcpy(m->bytes + BLOB + PCS, pcs, sizeof(pcs));
	memcpy(m->bytes + NAME, "nmethod", 8);
}

static void fill(struct machine *m)
{
	memset(m, 0, sizeof(*m));
	m->vm.memory = (struct runtime_memory){.read = read_own, .arg = m};
	fill_layout(&m->vm.is);
	m->vm.low = BASE + CODE;
	m->vm.high = BASE + CODE + 0x2000;
	m->vm.heaps[0] = (struct vm_heap){BASE + CODE, BASE + CODE + 0x2000, BASE + SEGMENTS, 7};
	m->vm.n_heaps = 1;
	put_code(m);
	put(m, KLASS, put_symbol(m, 0, "org/shop/Cart$$Lambda$14+0x00000008c03000"), 8);
	put(m, KLASS + 8, BASE + METHODS, 8);
	put(m, POOL, BASE + KLASS, 8);
	put(m, POOL + 8, 5, 4);
	put(m, POOL + 12, 4, 2);
	put(m, POOL + 16 + 8, put_symbol(m, 1, "total"), 8);
	put(m, POOL + 16 + 16, put_symbol(m, 2, "<init>"), 8);
	put(m, POOL + 16 + 24, put_symbol(m, 3, "([[Ljava/lang/String;IJ)V"), 8);
	put(m, POOL + 16 + 32, put_symbol(m, 4, "Cart.java"), 8);
	put(m, METHODS, 2, 4);
	put(m, METHODS + 8, BASE + INNER, 8);
	put(m, METHODS + 16, BASE + OUTER, 8);
	put_method(m, OUTER, OUTER_CM, 1);
	put_method(m, INNER, INNER_CM, 2);
}

static void piece_of_code(void **state)
{
	struct runtime_code_piece piece, again;
	struct machine m;

	(void)state;
	fill(&m);
	assert_true(vm_piece(&m.vm, BASE + BLOB + 0x1a0, &piece));
	assert_int_equal(piece.kind, RUNTIME_CODE_COMPILED);
	assert_int_equal(piece.start, BASE + BLOB);
	assert_int_equal(piece.end, BASE + BLOB + SIZE);
	assert_int_equal(piece.function, BASE + OUTER);
	assert_int_equal(piece.frame_bytes, 48);
	assert_int_equal(piece.replaced[0], BASE + BLOB + 0x2f0);
	assert_int_equal(piece.replaced_at, 24);
	assert_true(vm_is_still(&m.vm, &piece));
	put(&m, BLOB + 32, 78, 4); /* it was compiled anew */
	assert_false(vm_is_still(&m.vm, &piece));
	assert_true(vm_piece(&m.vm, BASE + BLOB + 0x1a0, &again));
	assert_int_not_equal(again.identity, piece.identity);
	assert_false(vm_piece(&m.vm, BASE + BLOB + SIZE, &again)); /* behind it */
	assert_false(vm_piece(&m.vm, BASE + CODE, &again));	   /* an unused block */
	assert_false(vm_piece(&m.vm, BASE, &again));
	m.bytes[CODE + 128 + 8] = 0; /* not in use any more */
	assert_false(vm_piece(&m.vm, BASE + BLOB + 0x1a0, &again));
	fill(&m);
	memcpy(m.bytes + NAME, "Interpreter", sizeof("Interpreter"));
	assert_true(vm_piece(&m.vm, BASE + BLOB, &piece));
	assert_int_equal(piece.kind, RUNTIME_CODE_INTERPRETER);
	assert_true(piece.is_permanent);
	memcpy(m.bytes + NAME, "StubRoutines (1)", sizeof("StubRoutines (1)"));
	assert_true(vm_piece(&m.vm, BASE + BLOB, &piece));
	assert_int_equal(piece.from_native, 0);
	m.vm.is.at[VM_CALL_STUB] = BASE + CALL_STUB;
	put(&m, CALL_STUB, BASE + BLOB + 0x99, 8);
	assert_true(vm_piece(&m.vm, BASE + BLOB, &piece));
	assert_int_equal(piece.from_native, BASE + BLOB + 0x99);
	put(&m, CALL_STUB, BASE + BLOB + SIZE, 8); /* in another piece */
	assert_true(vm_piece(&m.vm, BASE + BLOB, &piece));
	assert_int_equal(piece.from_native, 0);
}

static void put_heap(struct machine *m, unsigned number, uint64_t low, uint64_t end)
{
	uint64_t heap = HEAPS + 0x100 + number * 0x80;

	put(m, HEAPS + 0x40 + number * 8, BASE + heap, 8);
	put(m, heap, BASE + low, 8);
	put(m, heap + 8, BASE + end, 8);
	put(m, heap + 0x20, BASE + SEGMENTS, 8);
	put(m, heap + 0x40, 7, 4);
	put(m, HEAPS, number + 1, 4);
}

/* A machine that was opened while it made its heaps. */
static void later_heaps(void **state)
{
	static const enum vm_field fields[] = {VM_LOW, VM_HIGH, VM_HEAPS};
	struct runtime_code_piece piece;
	struct machine m;

	(void)state;
	fill(&m);
	for (unsigned i = 0; i < 3; i++)
		m.vm.is.at[fields[i]] = BASE + CACHE + i * 8;
	m.vm.is.at[VM_ARRAY_LEN] = m.vm.is.at[VM_HEAP_MEMORY] = m.vm.is.at[VM_SPACE_LOW] = 0;
	m.vm.is.at[VM_ARRAY_DATA] = m.vm.is.at[VM_SPACE_END] = 8;
	m.vm.is.at[VM_HEAP_SEGMAP] = 0x20;
	m.vm.is.at[VM_HEAP_LOG2] = 0x40;
	put(&m, CACHE, BASE + CODE - 0x800, 8);
	put(&m, CACHE + 8, BASE + CODE + 0x2000, 8);
	put(&m, CACHE + 16, BASE + HEAPS, 8);
	put(&m, HEAPS + 8, BASE + HEAPS + 0x40, 8);
	put_heap(&m, 0, CODE - 0x800, CODE);
	m.vm.heaps[0] = (struct vm_heap){BASE + CODE - 0x800, BASE + CODE, BASE + SEGMENTS, 7};
	assert_false(vm_piece(&m.vm, BASE + BLOB + 0x1a0, &piece)); /* it is in no heap */
	put_heap(&m, 1, CODE, CODE + 0x2000);
	assert_true(vm_piece(&m.vm, BASE + BLOB + 0x1a0, &piece));
	assert_int_equal(m.vm.n_heaps, 2);
	assert_int_equal(piece.start, BASE + BLOB);
	put_heap(&m, 1, CODE, CODE + 0x200);
	put(&m, HEAPS, 1000, 4); /* the array makes no sense: those that are known stay */
	assert_false(vm_piece(&m.vm, BASE + CODE + 0x2000, &piece));
	assert_true(vm_piece(&m.vm, BASE + BLOB + 0x1a0, &piece));
}

/* A class has its number in the one word that differs from all other classes' and is no pointer. */
static void numbers_of_classes(void **state)
{
	struct machine m;
	uint64_t count;

	(void)state;
	fill(&m);
	m.vm.is.at[VM_LOADERS] = BASE + LOADER;
	m.vm.is.at[VM_LOADER_NEXT] = m.vm.is.at[VM_KLASS_NEXT] = 0;
	m.vm.is.at[VM_LOADER_KLASSES] = m.vm.is.at[VM_KLASS_LOADER] = 8;
	put(&m, LOADER, BASE + LOADER + 0x10, 8);
	for (unsigned i = 0; i < 16; i++) { /* two loaders have eight each */
		uint64_t loader = LOADER + 0x10 + i / 8 * 0x10, klass = CLASSES + i * 0x80;

		put(&m, loader, i < 8 ? BASE + loader + 0x10 : 0, 8);
		if (i % 8 == 0)
			put(&m, loader + 8, BASE + klass, 8);
		put(&m, klass, i % 8 < 7 ? BASE + klass + 0x80 : 0, 8);
		put(&m, klass + 0x18, BASE + klass, 8);
		put(&m, klass + 0x28, (UINT64_C(100) + i) << 16 | 0x300, 8);
	}
	assert_int_equal(vm_class_number(&m.vm, BASE + CLASSES + 5 * 0x80), 105);
	m.vm.class_number_at = m.vm.class_tries = 0;
	put(&m, CLASSES + 0x80 + 0x28, UINT64_C(100) << 16, 8); /* as that of the first one */
	assert_int_equal(vm_class_number(&m.vm, BASE + CLASSES), 0);
	put(&m, LOADER, BASE + LOADER, 8); /* a list without an end */
	put(&m, LOADER + 8, BASE + CLASSES, 8);
	put(&m, CLASSES, BASE + CLASSES, 8);
	assert_int_equal(vm_class_number(&m.vm, BASE + CLASSES), 0);
	assert_false(vm_unloads(&m.vm, &count));
	m.vm.is.at[VM_OBJECTS] = BASE + LOADER;
	m.vm.is.at[VM_COLLECTIONS] = 0x10;
	put(&m, LOADER, BASE + CLASSES, 8);
	put(&m, CLASSES + 0x10, 77, 4);
	assert_true(vm_unloads(&m.vm, &count));
	assert_int_equal(count, 77);
}

/* Reading ends anywhere, as it does where too much was read: a piece is whole, or there is none. */
static void part_of_a_piece(void **state)
{
	struct runtime_code_piece whole, piece;
	struct machine m;
	unsigned long needed;

	(void)state;
	fill(&m);
	assert_true(vm_piece(&m.vm, BASE + BLOB + 0x1a0, &whole));
	needed = m.reads;
	for (m.most_reads = 1; m.most_reads < needed; m.most_reads++) {
		m.reads = 0;
		if (!vm_piece(&m.vm, BASE + BLOB + 0x1a0, &piece))
			continue;
		assert_int_equal(piece.kind, RUNTIME_CODE_COMPILED);
		assert_string_equal(piece.name, "nmethod");
		assert_int_equal(piece.identity, whole.identity);
	}
}

static size_t frames_at(struct machine *m, uint64_t pc, struct runtime_managed_frame frames[4])
{
	struct runtime_code_piece piece;

	assert_true(vm_piece(&m->vm, BASE + BLOB + 0x180, &piece));
	return vm_frames(&m->vm, &piece, BASE + BLOB + 0x180 + pc, true, frames, 4);
}

static void inlined_frames(void **state)
{
	struct runtime_managed_frame frames[4];
	struct machine m;

	(void)state;
	fill(&m);
	assert_int_equal(frames_at(&m, 0x20, frames), 2);
	assert_int_equal(frames[0].function, BASE + INNER);
	assert_int_equal(frames[0].instruction, 0);
	assert_int_equal(frames[1].function, BASE + OUTER);
	assert_int_equal(frames[1].instruction, 4);
	assert_int_equal(frames_at(&m, 0x40, frames), 1);
	assert_int_equal(frames[0].instruction, 4);
	assert_int_equal(frames_at(&m, 0x41, frames), 1); /* no call returns there */
	assert_int_equal(frames[0].function, BASE + OUTER);
	assert_int_equal(frames[0].instruction, RUNTIME_NO_INSTRUCTION);
	put(&m, BLOB + METADATA, BASE + INNER, 8); /* the outermost is another method */
	assert_int_equal(frames_at(&m, 0x20, frames), 0);
	fill(&m);
	m.bytes[BLOB + SCOPES + 4] = 4; /* a loop */
	assert_int_equal(frames_at(&m, 0x20, frames), 0);
	m.bytes[BLOB + SCOPES + 4] = 5; /* a scope that is described later */
	assert_int_equal(frames_at(&m, 0x20, frames), 0);
	fill(&m);
	m.bytes[BLOB + SCOPES + 5] = 9; /* metadata that there is not */
	assert_int_equal(frames_at(&m, 0x20, frames), 0);
}

static void names_and_lines(void **state)
{
	struct runtime_function f;
	struct machine m;

	(void)state;
	fill(&m);
	assert_int_equal(vm_function(&m.vm, BASE + OUTER, &f), 0);
	assert_string_equal(f.name, "org.shop.Cart$$Lambda.total(java.lang.String[][], int, long)");
	assert_string_equal(f.file, "org/shop/Cart.java");
	assert_int_equal(f.first_line, 20);
	assert_int_equal(f.code, BASE + OUTER_CM + 24);
	assert_int_equal(f.code_size, 8);
	assert_int_equal(f.n_lines, 2);
	assert_int_equal(f.lines[1].instruction, 4);
	assert_int_equal(f.lines[1].line, 22);
	assert_int_equal(f.identity, vm_identity(&m.vm, BASE + OUTER));
	free(f.lines);
	put(&m, METHODS, 1, 4); /* the class does not have it */
	assert_int_not_equal(vm_function(&m.vm, BASE + OUTER, &f), 0);
	fill(&m);
	put(&m, OUTER_CM + 16, 5, 2); /* a name beyond the constants */
	assert_int_not_equal(vm_function(&m.vm, BASE + OUTER, &f), 0);
	fill(&m);
	put(&m, SYMBOLS + 0x80, 0xffff, 2); /* a name of 64 KiB, which is not all there */
	assert_int_not_equal(vm_function(&m.vm, BASE + OUTER, &f), 0);
	assert_int_not_equal(vm_function(&m.vm, BASE + OUTER + 1, &f), 0);
	assert_int_not_equal(vm_function(&m.vm, 8, &f), 0);
}

/* Tables of lines with entries that go back, that have no end, and that are too long. */
static void tables_of_lines(void **state)
{
	static const uint8_t back[] = {0x2a, 0xff, 0x03, 0x06, 0x28, 0x00}; /* 5: 2, 3: 5, 8: 5 */
	struct runtime_function f;
	struct machine m;

	(void)state;
	fill(&m);
	memcpy(m.bytes + OUTER_CM + 24 + 8, back, sizeof(back));
	assert_int_equal(vm_function(&m.vm, BASE + OUTER, &f), 0);
	assert_int_equal(f.n_lines, 3);
	assert_int_equal(f.lines[0].instruction, 3);
	assert_int_equal(f.lines[0].line, 5);
	assert_int_equal(f.lines[1].instruction, 5);
	assert_int_equal(f.lines[2].instruction, 8);
	assert_int_equal(f.first_line, 2);
	free(f.lines);
	memset(m.bytes + OUTER_CM + 24 + 8, 0x09, 12 * 8 - 32); /* no end within the ConstMethod */
	assert_int_equal(vm_function(&m.vm, BASE + OUTER, &f), 0);
	assert_int_equal(f.n_lines, 0);
	assert_int_equal(f.first_line, 0);
	fill(&m);
	put(&m, OUTER, BASE + LONG_CM, 8);
	memcpy(m.bytes + LONG_CM, m.bytes + OUTER_CM, 24);
	put(&m, LONG_CM + 8, (24 + 8 + 4096 + 8) / 8, 4);
	memset(m.bytes + LONG_CM + 24 + 8, 0x09, 4096); /* and then 0 */
	assert_int_equal(vm_function(&m.vm, BASE + OUTER, &f), 0);
	assert_int_equal(f.n_lines, 4096);
	free(f.lines);
	m.bytes[LONG_CM + 24 + 8 + 4096] = 0x09; /* one too many */
	assert_int_equal(vm_function(&m.vm, BASE + OUTER, &f), 0);
	assert_int_equal(f.n_lines, 0);
	put(&m, LONG_CM + 8, UINT32_MAX, 4); /* longer than the memory */
	assert_int_equal(vm_function(&m.vm, BASE + OUTER, &f), -ENOENT);
}

static void numbers(void **state)
{
	static const uint8_t bytes[] = {0x05, 0xc1, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};
	struct machine m;
	uint32_t value = 0;
	size_t at = 0;

	(void)state;
	fill(&m);
	assert_true(vm_unsigned5(&m.vm, bytes, sizeof(bytes), &at, &value));
	assert_int_equal(value, 5);
	assert_true(vm_unsigned5(&m.vm, bytes, sizeof(bytes), &at, &value));
	assert_int_equal(value, 0xc1 + (2 << 6));
	assert_true(vm_unsigned5(&m.vm, bytes, sizeof(bytes), &at, &value)); /* five at most */
	assert_int_equal(at, 8);
	assert_false(vm_unsigned5(&m.vm, bytes, 8, &at, &value));
	m.vm.is.version = 21;
	at = 0;
	assert_true(vm_unsigned5(&m.vm, bytes, sizeof(bytes), &at, &value));
	assert_int_equal(value, 4);
	assert_true(vm_unsigned5(&m.vm, bytes, sizeof(bytes), &at, &value));
	assert_int_equal(value, 0xc0 + (1 << 6));
	at = 9;
	assert_false(vm_unsigned5(&m.vm, bytes, sizeof(bytes), &at, &value)); /* 0 is not used */
}

/* Reads all that can be read, whatever it is. */
static void read_all(struct machine *m)
{
	struct runtime_managed_frame frames[64];
	struct runtime_code_piece piece;
	struct runtime_function f;

	for (uint64_t at = 0; at < 0x400; at += 32) {
		if (!vm_piece(&m->vm, BASE + CODE + at, &piece))
			continue;
		vm_is_still(&m->vm, &piece);
		vm_frames(&m->vm, &piece, BASE + CODE + at, true, frames, 64);
		if (vm_function(&m->vm, piece.function, &f) == 0) {
			assert_true(strlen(f.name) < RUNTIME_NAME_ROOM);
			assert_true(strlen(f.file) < RUNTIME_NAME_ROOM);
			free(f.lines);
		}
	}
	if (vm_function(&m->vm, BASE + INNER, &f) == 0)
		free(f.lines);
}

static void anything(void **state)
{
	uint64_t seed = 1;
	struct machine m;

	(void)state;
	for (uint64_t i = 0; i < by_build(300, 20000); i++) {
		fill(&m);
		for (int k = 0; k < 8; k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			uint64_t at = seed >> 33 & (BYTES - 8) & ~UINT64_C(3);
			uint64_t is = k & 1 ? BASE + (seed >> 20 & (BYTES - 1)) : seed >> 29;

			put(&m, k & 2 ? at : BLOB + at % 0x140, is, 1 + (seed >> 60 & 7));
		}
		read_all(&m);
		assert_true(m.reads < 400000);
	}
}

/* Where a method begins, a register has the caller's stack pointer, which is pushed then. */
static void senders(void **state)
{
	static const uint8_t code[256] = {0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x6a, 0,
					  0x6a, 0,    0x50, 0x55, 0x48, 0x8b, 0xec, 0x41,
					  0x55, 0x68, 0,    0,	  0,	0,    0xc3};

	(void)state;
	assert_int_equal(vm_sender_register(code, sizeof(code), 0), 13);
	assert_int_equal(vm_sender_register(code, sizeof(code), 15), 13);
	assert_int_equal(vm_sender_register(code, sizeof(code), 17), RUNTIME_SENDER_PUSHED);
	assert_int_equal(vm_sender_register(code, sizeof(code), 100), RUNTIME_SENDER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(senders),	   cmocka_unit_test(piece_of_code),
		cmocka_unit_test(part_of_a_piece), cmocka_unit_test(inlined_frames),
		cmocka_unit_test(names_and_lines), cmocka_unit_test(tables_of_lines),
		cmocka_unit_test(numbers),	   cmocka_unit_test(anything),
		cmocka_unit_test(later_heaps),	   cmocka_unit_test(numbers_of_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
