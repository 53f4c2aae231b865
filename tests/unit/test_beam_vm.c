/* SPDX-License-Identifier: MIT */
/*
 * Reading a running BEAM (beam_vm.h, beam_module.h), in made memory: modules, functions, lines and
 * files; purges; and that nothing is believed, nor takes long, whatever the memory has.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/beam/beam_module.h"
#include "runtime/beam/beam_vm.h"

#define BASE  UINT64_C(0x7f0000000000)
#define BYTES 0x4000

#define TABLES	 0x000 /* three of them */
#define ACTIVE	 0x080
#define ATOMS	 0x100
#define PURGER	 0x200
#define RANGES	 0x600
#define SEGMENTS 0x700
#define SEGMENT	 0x780
#define ATOM(i)	 (0x800 + (i)*0x40)
#define TEXTS	 0xa00
#define CELLS	 0xc00 /* a file's name, as a list */
#define SHARED	 0x1000
#define MODULE	 0x2000
#define MODULE_2 0x3000
#define END	 0x2800

#define FUNCTION(i) (MODULE + 0x100 + (i)*0x100)
#define LINES	    (MODULE + 0x600)
#define LINE_OF_1   (LINES + 0x80)
#define PLACES	    (LINES + 0x100)
#define SUM	    (MODULE + 0x7f0)

static const struct beam_layout layout = {"25",	       .functions = 0x60, .lines = 0x48,
					  .md5 = 0x50, .reductions = 280, .initial = 448,
					  .state = 640};
static uint8_t memory[BYTES];
static unsigned reads;
static struct beam_vm vm;

static bool read_made(void *arg, uint64_t address, void *buf, size_t len)
{
	(void)arg;
	reads++;
	if (address < BASE || address - BASE > BYTES || len > BYTES - (address - BASE))
		return false;
	memcpy(buf, memory + (address - BASE), len);
	return true;
}

static void put(size_t at, uint64_t word)
{
	memcpy(memory + at, &word, sizeof(word));
}

static void put_u32(size_t at, uint32_t word)
{
	memcpy(memory + at, &word, sizeof(word));
}

static uint64_t atom_of(unsigned index)
{
	return index << 6 | 0x0b;
}

static void put_atom(unsigned index, const char *text)
{
	static size_t used;
	const uint16_t len = (uint16_t)strlen(text);

	used = index ? used : 0;
	put(SEGMENT + index * 8, BASE + ATOM(index));
	put_u32(ATOM(index) + 16, index);
	memcpy(memory + ATOM(index) + 24, &len, sizeof(len));
	put(ATOM(index) + 32, BASE + TEXTS + used);
	memcpy(memory + TEXTS + used, text, len);
	used += len;
}

/* Function `i` of the module, and its last three words. */
static void put_function(unsigned i, unsigned module, unsigned name, unsigned arity)
{
	put(MODULE + layout.functions + i * 8, BASE + FUNCTION(i));
	put(FUNCTION(i) + 16, atom_of(module));
	put(FUNCTION(i) + 24, atom_of(name));
	put(FUNCTION(i) + 32, arity);
}

static void put_lines(void)
{
	static const char file[] = "a/b.hrl";

	put(MODULE + layout.lines, BASE + LINES);
	put(LINES, BASE + CELLS + 0x100); /* the names of files: one */
	put(CELLS + 0x100, BASE + CELLS + 1);
	for (size_t i = 0; i < sizeof(file) - 1; i++) {
		put(CELLS + i * 16, (uint64_t)file[i] << 4 | 0xf);
		put(CELLS + i * 16 + 8, file[i + 1] ? BASE + CELLS + (i + 1) * 16 + 1 : 0x3b);
	}
	put_u32(LINES + 8, 4);
	put(LINES + 16, BASE + PLACES);
	put(LINES + 24, BASE + LINE_OF_1);	/* function 0: three lines, */
	put(LINES + 32, BASE + LINE_OF_1 + 24); /* 1: one, */
	put(LINES + 40, BASE + LINE_OF_1 + 32); /* 2: none */
	put(LINES + 48, BASE + LINE_OF_1 + 32);
	put(LINE_OF_1, BASE + FUNCTION(0) - 4); /* for alignment */
	put(LINE_OF_1 + 8, BASE + FUNCTION(0) + 0x40);
	put(LINE_OF_1 + 16, BASE + FUNCTION(0) + 0x80);
	put(LINE_OF_1 + 24, BASE + FUNCTION(1));
	put_u32(PLACES, 10);
	put_u32(PLACES + 4, 12);
	put_u32(PLACES + 8, 1 << 24 | 77); /* of the other file */
	put_u32(PLACES + 12, 1 << 24 | 5);
}

static int set_up(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	put_u32(ACTIVE, 1);
	put(TABLES + 32, BASE + RANGES);
	put(TABLES + 40, 3);
	put(RANGES, BASE + MODULE);
	put(RANGES + 8, BASE + END);
	put(RANGES + 16, BASE + MODULE_2); /* removed */
	put(RANGES + 24, BASE + MODULE_2);
	put(RANGES + 32, BASE + MODULE_2 + 0x100);
	put(RANGES + 40, BASE + MODULE_2 + 0x200); /* no header */
	put_u32(ATOMS + 116, 5);
	put(ATOMS + 120, BASE + SEGMENTS);
	put(SEGMENTS, BASE + SEGMENT);
	put_atom(0, "lists");
	put_atom(1, "map");
	put_atom(2, "-map/2-fun-0-");
	put_atom(3, "Elixir.Enum");
	put_atom(4, "sum!");
	put(MODULE, 3);
	put_function(0, 0, 1, 2);
	put_function(1, 0, 2, 1);
	put_function(2, 3, 4, 0);
	put(MODULE + layout.functions + 24, BASE + FUNCTION(3));
	put(MODULE + layout.md5, BASE + SUM);
	put(SUM, 1);
	put_lines();
	put(PURGER + layout.reductions, 9);
	put_u32(PURGER + layout.state, 0x1000015);
	vm = (struct beam_vm){.is = &layout,
			      .memory = {.read = read_made},
			      .tables = BASE + TABLES,
			      .active = BASE + ACTIVE,
			      .atoms = BASE + ATOMS,
			      .purger = BASE + PURGER,
			      .shared = BASE + SHARED,
			      .shared_end = BASE + MODULE};
	return 0;
}

static void finds_pieces(void **state)
{
	struct runtime_code_piece piece, other;

	(void)state;
	assert_true(beam_piece(&vm, BASE + FUNCTION(1), &piece));
	assert_int_equal(piece.start, BASE + MODULE);
	assert_int_equal(piece.end, BASE + END);
	assert_int_equal(piece.kind, RUNTIME_CODE_COMPILED);
	assert_true(beam_is_still(&vm, &piece));
	assert_true(beam_piece(&vm, BASE + SHARED + 8, &other));
	assert_true(other.kind == RUNTIME_CODE_STUB && other.is_permanent);
	assert_false(beam_piece(&vm, BASE + END, &piece));
	assert_false(beam_piece(&vm, BASE + MODULE_2, &other));
	assert_false(beam_piece(&vm, BASE + MODULE_2 + 0x180, &other));
}

static void tells_loads_apart(void **state)
{
	struct runtime_code_piece piece, other;
	uint64_t identity = beam_identity(&vm, BASE + FUNCTION(0));

	(void)state;
	assert_true(beam_piece(&vm, BASE + FUNCTION(0), &piece));
	put(PURGER + layout.reductions, 20); /* of messages; too few for a purge */
	assert_true(beam_is_still(&vm, &piece));
	put(PURGER + layout.reductions, 20000);
	assert_false(beam_is_still(&vm, &piece)); /* it may be loaded anew, */
	assert_int_equal(beam_identity(&vm, BASE + FUNCTION(0)), identity); /* the same */
	assert_true(beam_piece(&vm, BASE + FUNCTION(0), &other));
	assert_int_not_equal(other.identity, piece.identity);
	put(SUM, 2);
	assert_false(beam_is_still(&vm, &other));
	assert_int_not_equal(beam_identity(&vm, BASE + FUNCTION(0)), identity);
}

static void counts_purges(void **state)
{
	uint64_t purges = 1;

	(void)state;
	assert_true(beam_unloads(&vm, &purges));
	assert_int_equal(purges, 0);
	put(PURGER + layout.reductions, 11000);
	assert_true(beam_unloads(&vm, &purges));
	assert_int_equal(purges, 11000);
	for (unsigned bit = 10; bit < 24; bit++) { /* it runs, or is to run */
		put_u32(PURGER + layout.state, 0x1000015 | 1u << bit);
		assert_false(beam_unloads(&vm, &purges));
	}
}

static struct runtime_function function_at(unsigned i)
{
	struct runtime_function function;

	assert_int_equal(beam_function(&vm, BASE + FUNCTION(i), &function), 0);
	return function;
}

static void names_functions(void **state)
{
	struct runtime_function function = function_at(0);

	(void)state;
	assert_string_equal(function.name, "lists:map/2");
	assert_string_equal(function.file, "lists.erl");
	assert_int_equal(function.first_line, 10);
	assert_int_equal(function.n_lines, 3);
	assert_true(function.lines[0].instruction == 0 && function.lines[0].line == 10);
	assert_true(function.lines[1].instruction == 0x40 && function.lines[1].line == 12);
	assert_true(function.lines[2].instruction == 0x80 && function.lines[2].line == 0);
	free(function.lines);
	function = function_at(1);
	assert_string_equal(function.name, "lists:'-map/2-fun-0-'/1");
	assert_string_equal(function.file, "a/b.hrl");
	assert_int_equal(function.first_line, 5);
	free(function.lines);
	function = function_at(2);
	assert_string_equal(function.name, "Enum.sum!/0");
	assert_string_equal(function.file, "Elixir.Enum.erl");
	assert_int_equal(function.n_lines, 0);
	assert_int_equal(beam_function(&vm, BASE + FUNCTION(0) + 8, &function), -ENOENT);
}

static void finds_frames(void **state)
{
	struct runtime_code_piece piece;
	struct runtime_managed_frame frame;

	(void)state;
	assert_true(beam_piece(&vm, BASE + FUNCTION(1), &piece));
	assert_int_equal(beam_frames(&vm, &piece, BASE + FUNCTION(1), true, &frame, 1), 1);
	assert_int_equal(frame.function, BASE + FUNCTION(0)); /* the call is its last instruction */
	assert_int_equal(frame.instruction, 0xff);
	assert_int_equal(beam_frames(&vm, &piece, BASE + FUNCTION(1), false, &frame, 1), 1);
	assert_int_equal(frame.function, BASE + FUNCTION(1));
	assert_int_equal(frame.instruction, RUNTIME_NO_INSTRUCTION);
	assert_int_equal(beam_frames(&vm, &piece, BASE + FUNCTION(3), false, &frame, 1), 0);
	assert_int_equal(beam_frames(&vm, &piece, BASE + MODULE + 8, false, &frame, 1), 0);
}

/* Puts a direct call before a return address. */
static void put_call(size_t at, uint64_t target)
{
	memory[at - 5] = 0xe8;
	put_u32(at - 4, (uint32_t)(target - (BASE + at)));
}

static void knows_calls(void **state)
{
	static const uint8_t by_register[] = {0x42, 0xff, 0x14, 0xe0};
	static const uint8_t in_code[] = {0xff, 0x15, 0, 0, 0, 0};
	const size_t at = FUNCTION(0) + 0x60;
	struct runtime_code_piece piece;

	(void)state;
	assert_true(beam_piece(&vm, BASE + FUNCTION(0), &piece));
	put_call(at, BASE + FUNCTION(2) + BEAM_INFO_BYTES);
	assert_true(beam_calls_function(&vm, &piece, BASE + at));
	put_call(at, BASE + FUNCTION(2) + BEAM_INFO_BYTES + 1); /* a jump to other code */
	assert_false(beam_calls_function(&vm, &piece, BASE + at));
	put_call(at, BASE + SHARED + 0x10);
	assert_false(beam_calls_function(&vm, &piece, BASE + at));
	memset(memory + at - 8, 0x90, 8);
	memcpy(memory + at - sizeof(by_register), by_register, sizeof(by_register));
	assert_true(beam_calls_function(&vm, &piece, BASE + at));
	memcpy(memory + at - sizeof(in_code), in_code, sizeof(in_code));
	assert_false(beam_calls_function(&vm, &piece, BASE + at));
}

/* Does all that can be done with an address; each step is bounded. */
static void try_all(uint64_t address)
{
	struct runtime_code_piece piece;
	struct runtime_managed_frame frame;
	struct runtime_function function;
	uint64_t purges;

	reads = 0;
	beam_unloads(&vm, &purges);
	if (beam_piece(&vm, address, &piece)) {
		beam_is_still(&vm, &piece);
		beam_calls_function(&vm, &piece, address);
		if (beam_frames(&vm, &piece, address, true, &frame, 1)) {
			beam_identity(&vm, frame.function);
			if (!beam_function(&vm, frame.function, &function)) {
				assert_true(strlen(function.name) < RUNTIME_NAME_ROOM);
				assert_true(strlen(function.file) < RUNTIME_NAME_ROOM);
				free(function.lines);
			}
		}
	}
	assert_true(reads < 20000);
}

static void believes_nothing(void **state)
{
	static const uint64_t words[] = {0,
					 1,
					 0x7fffffffffffffff,
					 UINT64_MAX,
					 BASE,
					 BASE + CELLS + 1,
					 BASE + MODULE,
					 BASE + END - 8,
					 BASE + BYTES - 4,
					 0x0000000100000001,
					 0x00ffff00ffff00ff};

	for (size_t at = 0; at < BYTES; at += 8) {
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
			set_up(state);
			put(at, words[i]);
			try_all(BASE + FUNCTION(1) + 0x10);
			try_all(BASE + FUNCTION(0) + 0x50);
		}
	}
	set_up(state);
	put(CELLS + 8, BASE + CELLS + 1); /* a file's name that has no end */
	try_all(BASE + FUNCTION(1) + 0x10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(finds_pieces, set_up),
		cmocka_unit_test_setup(tells_loads_apart, set_up),
		cmocka_unit_test_setup(counts_purges, set_up),
		cmocka_unit_test_setup(names_functions, set_up),
		cmocka_unit_test_setup(finds_frames, set_up),
		cmocka_unit_test_setup(knows_calls, set_up),
		cmocka_unit_test_setup(believes_nothing, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
