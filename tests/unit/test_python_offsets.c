/* SPDX-License-Identifier: MIT */
/*
 * The offsets that CPython states (runtime/python/python_offsets.h): tables as 3.13.18, 3.14.10 and
 * 3.15.2 have them, and what is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/python/python_offsets.h"

#define COOKIE UINT64_C(0x7970677562656478) /* "xdebugpy" */

static const uint64_t table_13[PYTHON_OFFSETS_WORDS] = {
	COOKIE, 0x30d12f0, 0,	283408, 608, 632,  194984, 7272, 7264, 7344, 7400, 7656,
	7640,	7648,	   16,	7752,	0,   7768, 7760,   312,	 0,    8,    16,   72,
	152,	160,	   232, 32,	80,  8,	   0,	   56,	 72,   70,   208,  112,
	120,	128,	   136, 68,	52,  96,   104,	   200,	 16,   8};
static const uint64_t table_14[PYTHON_OFFSETS_WORDS] = {
	COOKIE, 0x30e0af0, 0,	316616, 784, 808,  225864, 7280, 7272, 7344, 7360, 7408, 7688,
	7672,	7680,	   16,	7784,	0,   7800, 7792,   7992, 0,    832,  0,	   8,	 16,
	72,	152,	   160, 232,	32,  88,   8,	   0,	 56,   80,   74,   64,	 0,
	216,	112,	   120, 128,	136, 68,   52,	   96,	 104,  208,  0,	   16,	 8};
static const uint64_t table_15[PYTHON_OFFSETS_WORDS] = {
	COOKIE, 0x30f02f0, 0,	 346568, 912,  936, 226240, 7272, 7264, 7336, 7352, 7400,
	7592,	7576,	   7584, 16,	 7736, 0,   7752,   7744, 7944, 0,    888,  0,
	8,	16,	   72,	 80,	 88,   96,  176,    184,  256,	32,   36,   40,
	136,	288,	   0,	 88,	 8,    0,   56,	    80,	  74,	64,   0,    216,
	112,	120,	   128,	 136,	 68,   52,  96,	    104,  208,	0,    16,   8};

static void test_versions(void **state)
{
	struct stackd_interpreter is = {.code_version = 92};

	(void)state;
	assert_true(python_offsets(table_13, 0x30d12f0, &is));
	assert_int_equal(is.interpreters, 632);
	assert_int_equal(is.interpreter_next, 7264);
	assert_int_equal(is.threads, 7344);
	assert_int_equal(is.thread_id, 152);
	assert_int_equal(is.thread_stack, 232);
	assert_int_equal(is.frame_end, 70);
	assert_int_equal(is.code_start, 200);
	assert_true(python_offsets(table_14, 0x30e0af0, &is));
	assert_int_equal(is.interpreters, 808);
	assert_int_equal(is.thread_frame, 72);
	assert_int_equal(is.frame_previous, 8);
	assert_int_equal(is.frame_code, 0);
	assert_int_equal(is.frame_instruction, 56);
	assert_int_equal(is.frame_end, 74);
	assert_int_equal(is.code_file, 112);
	assert_int_equal(is.code_name, 128);
	assert_int_equal(is.code_lines, 136);
	assert_int_equal(is.code_first_line, 68);
	assert_int_equal(is.code_start, 208);
	assert_true(python_offsets(table_15, 0x30f02f0, &is));
	assert_int_equal(is.thread_next, 8);
	assert_int_equal(is.thread_interpreter, 16);
	assert_int_equal(is.thread_id, 176);
	assert_int_equal(is.thread_stack, 256);
	assert_int_equal(is.code_version, 92);
}

/* Returns whether 3.14's table, with another word at one place, is taken; if not, it sets nothing.
 */
static bool is_taken(size_t at, uint64_t word)
{
	struct stackd_interpreter is = {0}, none = {0};
	uint64_t table[PYTHON_OFFSETS_WORDS];
	bool taken;

	memcpy(table, table_14, sizeof(table));
	table[at] = word;
	taken = python_offsets(table, 0x30e0af0, &is);
	if (!taken)
		assert_memory_equal(&is, &none, sizeof(is));
	return taken;
}

static void test_what_is_none(void **state)
{
	struct stackd_interpreter is = {0};
	uint64_t table[PYTHON_OFFSETS_WORDS];

	(void)state;
	assert_true(is_taken(2, 0));
	assert_false(is_taken(0, COOKIE + 1));
	assert_false(is_taken(1, 0x30e09f0)); /* of another version */
	assert_false(is_taken(2, 1));	      /* without the global lock */
	assert_false(is_taken(5, 65536));     /* beyond what 16 bits hold */
	assert_false(is_taken(8, 7273));      /* not aligned */
	assert_false(is_taken(9, 300000));    /* beyond its structure */
	assert_false(is_taken(27, UINT64_MAX - 7));
	assert_false(is_taken(29, 600)); /* beyond what is read */
	assert_false(is_taken(36, 88));	 /* the byte behind a frame */
	assert_false(is_taken(39, UINT64_MAX));
	assert_false(is_taken(50, 32)); /* objects with longer headers */
	memcpy(table, table_14, sizeof(table));
	table[1] = 0x31000f0;
	assert_false(python_offsets(table, 0x31000f0, &is)); /* whose order is not known */
	table[1] = 0x30e00b2;
	assert_false(python_offsets(table, 0x30e00b2, &is)); /* a beta */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
