/* SPDX-License-Identifier: MIT */
/*
 * The kernel half's search in a chunk of rows: the last row at or before an offset, for any
 * distribution of rows; compared with a search from one end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#define MAX_ROWS 16384u

static struct row_pair *pairs;

static struct stackd_row *row_of(uint32_t i)
{
	return &pairs[i >> 1].rows[i & 1];
}

static void check_at(uint32_t low, uint32_t high, uint32_t at)
{
	uint32_t expected = low;

	while (expected + 1 < high && row_of(expected + 1)->low <= at)
		expected++;
	assert_int_equal(search_rows(low, high, at), expected);
}

/* Fills [low, high) with rising offsets, by `spread` of [0, 1), and asks for all of them, for those
 * beside them, and for others. */
static void check_rows(uint32_t low, uint32_t count, double (*spread)(double))
{
	uint32_t high = low + count;

	for (uint32_t i = 0; i < count; i++)
		row_of(low + i)->low = (uint16_t)(65535 * spread((double)i / count));
	row_of(low)->low = 0; /* a chunk begins with a row */
	for (uint32_t i = low; i < high; i += 1 + count / 50) {
		check_at(low, high, row_of(i)->low);
		check_at(low, high, row_of(i)->low ? row_of(i)->low - 1u : 0);
		check_at(low, high, row_of(i)->low < 0xffff ? row_of(i)->low + 1u : 0xffff);
	}
	for (uint32_t at = 0; at < 0x10000; at += 499)
		check_at(low, high, at);
	check_at(low, high, 0xffff);
}

static double evenly(double x)
{
	return x;
}

static double at_the_start(double x)
{
	return x * x * x;
}

static double at_the_end(double x)
{
	return 1 - (1 - x) * (1 - x) * (1 - x) * (1 - x);
}

static double in_one_place(double x)
{
	return x == 0 ? 0 : 0.7;
}

static void finds_the_row(void **state)
{
	static const uint32_t counts[] = {1, 2, 3, 15, 16, 17, 33, 100, 1000, 5000};

	(void)state;
	pairs = shim_make_array(&rows, MAX_ROWS / 2);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (uint32_t low = 0; low < 40; low += 13) {
			check_rows(low, counts[i], evenly);
			check_rows(low, counts[i], at_the_start);
			check_rows(low, counts[i], at_the_end);
			check_rows(low, counts[i], in_one_place);
		}
	}
	shim_free_maps();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(finds_the_row)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
