/* SPDX-License-Identifier: MIT */
/* The byte buffer and the bounded reader: round trips, bounds, malformed varints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static const uint64_t buf_edges[] = {0,	    1,		127,	    128,       16383,
				     16384, UINT32_MAX, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63};
#define BUF_EDGES (sizeof(buf_edges) / sizeof(buf_edges[0]))

static void buf_round_trip(void **state)
{
	struct buf b = {0};
	struct buf_reader r;

	(void)state;
	for (size_t i = 0; i < BUF_EDGES; i++) {
		buf_put_varint(&b, buf_edges[i]);
		buf_put_svarint(&b, (int64_t)buf_edges[i]);
		buf_put_svarint(&b, (int64_t)(0 - buf_edges[i]));
		buf_put_u8(&b, (uint8_t)i);
	}
	buf_put_string(&b, "name");
	assert_false(b.failed);
	r = buf_reader(b.data, b.len);
	for (size_t i = 0; i < BUF_EDGES; i++) {
		assert_true(buf_get_varint(&r) == buf_edges[i]);
		assert_true(buf_get_svarint(&r) == (int64_t)buf_edges[i]);
		assert_true(buf_get_svarint(&r) == (int64_t)(0 - buf_edges[i]));
		assert_int_equal(buf_get_u8(&r), i);
	}
	assert_int_equal(buf_get_varint(&r), 4);
	assert_memory_equal(r.at, "name", 4);
	assert_false(r.failed);
	buf_free(&b);
	assert_null(b.data);
}

static void buf_varint_sizes(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_put_varint(&b, 127);
	assert_int_equal(b.len, 1);
	buf_clear(&b);
	buf_put_varint(&b, 128);
	assert_int_equal(b.len, 2);
	buf_clear(&b);
	buf_put_varint(&b, UINT64_MAX);
	assert_int_equal(b.len, 10);
	buf_clear(&b);
	buf_put_svarint(&b, -64);
	assert_int_equal(b.len, 1);
	buf_free(&b);
}

static void buf_reader_stays_inside(void **state)
{
	const uint8_t cut[] = {0x80, 0x80};
	struct buf_reader r = buf_reader(cut, sizeof(cut));

	(void)state;
	assert_int_equal(buf_get_varint(&r), 0);
	assert_true(r.failed);
	assert_int_equal(buf_get_u8(&r), 0);
	r = buf_reader(NULL, 0);
	assert_int_equal(buf_get_u8(&r), 0);
	assert_true(r.failed);
}

/* Eleven bytes, or a tenth byte with bits beyond 64. */
static void buf_overlong_varints(void **state)
{
	uint8_t bytes[11];
	struct buf_reader r;

	(void)state;
	memset(bytes, 0x80, sizeof(bytes));
	bytes[10] = 0;
	r = buf_reader(bytes, sizeof(bytes));
	assert_int_equal(buf_get_varint(&r), 0);
	assert_true(r.failed);
	memset(bytes, 0xff, sizeof(bytes));
	bytes[9] = 2;
	r = buf_reader(bytes, 10);
	assert_int_equal(buf_get_varint(&r), 0);
	assert_true(r.failed);
	bytes[9] = 1;
	r = buf_reader(bytes, 10);
	assert_true(buf_get_varint(&r) == UINT64_MAX);
	assert_false(r.failed);
}

static void buf_grows(void **state)
{
	struct buf b = {0};

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_put_u8(&b, (uint8_t)i);
	assert_int_equal(b.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], (uint8_t)i);
	buf_clear(&b);
	assert_int_equal(b.len, 0);
	assert_non_null(b.data);
	buf_put(&b, NULL, 0);
	assert_int_equal(b.len, 0);
	buf_free(&b);
}

/* A failed allocation is remembered, and later appends do nothing. */
static void buf_failure_sticks(void **state)
{
	struct buf b = {0};
	uint8_t byte = 1;

	(void)state;
	buf_put_u8(&b, 1);
	buf_put(&b, &byte, SIZE_MAX / 2 + 2);
	assert_true(b.failed);
	buf_put_u8(&b, 2);
	assert_int_equal(b.len, 1);
	buf_clear(&b);
	assert_false(b.failed);
	buf_put_u8(&b, 3);
	assert_int_equal(b.data[0], 3);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_round_trip),
		cmocka_unit_test(buf_varint_sizes),
		cmocka_unit_test(buf_reader_stays_inside),
		cmocka_unit_test(buf_overlong_varints),
		cmocka_unit_test(buf_grows),
		cmocka_unit_test(buf_failure_sticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
