/* SPDX-License-Identifier: MIT */
/* The parts that Parquet files are made of, and the alternatives of ids in tables. Whether whole
 * files are right is for foreign readers to say: tests/exports/test_parquet.py. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "parquet/parquet.h"
#include "parquet/rle.h"
#include "parquet/thrift.h"
#include "rows/identity.h"
#include "rows/rows.h"

/* --- run lengths and bit packing -------------------------------------------------------------- */

static uint32_t read_bits(const uint8_t *bytes, size_t bit, unsigned width)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < width; i++)
		number |= (uint64_t)(bytes[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
	return (uint32_t)number;
}

/* Reads numbers as the format's specification says, bit by bit. */
static size_t decode(const struct buf *b, unsigned width, uint32_t *ret_numbers, size_t most)
{
	struct buf_reader r = buf_reader(b->data, b->len);
	size_t n = 0;

	while (buf_left(&r)) {
		uint64_t header = buf_get_varint(&r);
		size_t count = header & 1 ? (header >> 1) * 8 : header >> 1;
		size_t bytes = header & 1 ? (header >> 1) * width : (width + 7) / 8;

		assert_true(header >> 1 && bytes <= buf_left(&r));
		for (size_t i = 0; i < count; i++) {
			uint32_t number = read_bits(r.at, header & 1 ? i * width : 0, width);

			if (n < most)
				ret_numbers[n++] = number;
			else
				assert_true(header & 1 && number == 0); /* fills the last group */
		}
		r.at += bytes;
	}
	return n;
}

static void round_trip(unsigned width, const uint32_t *numbers, size_t n)
{
	uint32_t *found = calloc(n + 1, sizeof(*found));
	struct buf b = {0};

	rle_put(&b, width, numbers, n);
	assert_false(b.failed);
	assert_int_equal(decode(&b, width, found, n), n);
	assert_memory_equal(found, numbers, n * sizeof(*numbers));
	free(found);
	buf_free(&b);
}

static void runs(void **state)
{
	uint32_t numbers[400];

	(void)state;
	for (unsigned width = 1; width <= 32; width++) {
		const uint32_t mask = UINT32_MAX >> (32 - width);

		for (size_t length = 1; length <= 40; length++) { /* of runs */
			for (size_t i = 0; i < 400; i++)
				numbers[i] = (uint32_t)hash_mix64(i / length + 1) & mask;
			for (size_t n = 0; n <= 400; n += 1 + n / 5)
				round_trip(width, numbers, n);
		}
		for (size_t i = 0; i < 400; i++) /* runs of all lengths, and none */
			numbers[i] = (uint32_t)hash_mix64(i % 50 < i / 8 ? i / 50 : i) & mask;
		round_trip(width, numbers, 400);
	}
}

static void run_is_short(void **state)
{
	uint32_t numbers[100000] = {0};
	struct buf b = {0};

	(void)state;
	rle_put(&b, 1, numbers, 100000);
	assert_int_equal(b.len, 4); /* three of the length, one of the number */
	buf_free(&b);
}

/* --- Thrift ----------------------------------------------------------------------------------- */

static void thrift(void **state)
{
	static const uint8_t expected[] = {
		0x15, 0x04,		     /* 1: i32 2 */
		0x2c, 0x18, 0x02, 'h',	'i', /* 3: struct { 1: "hi" */
		0x00,			     /* } */
		0x05, 0x64, 0x01,	     /* 50, too far for a short header: i32 -1 */
		0x16, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* 51: i64 max */
		0x11,								  /* 52: true */
		0x12,								  /* 53: false */
		0x13, 0x40,							  /* 54: i8 64 */
		0x19, 0xf5, 0x0f, /* 55: list of 15 i32 */
		0,    2,    4,	  6,	8,    10,   12,	  14,	16,   18,   20,
		22,   24,   26,	  28,	0x00};
	struct buf b = {0};
	struct thrift t = thrift_begin(&b);

	(void)state;
	thrift_i32(&t, 1, 2);
	thrift_struct(&t, 3);
	thrift_text(&t, 1, "hi");
	thrift_end(&t);
	thrift_i32(&t, 50, -1);
	thrift_i64(&t, 51, INT64_MAX);
	thrift_bool(&t, 52, true);
	thrift_bool(&t, 53, false);
	thrift_i8(&t, 54, 64);
	thrift_list(&t, 55, THRIFT_I32, 15);
	for (int i = 0; i < 15; i++)
		thrift_item_i32(&t, i);
	thrift_end(&t);
	assert_false(b.failed);
	assert_int_equal(b.len, sizeof(expected));
	assert_memory_equal(b.data, expected, sizeof(expected));
	buf_free(&b);
}

/* --- files ------------------------------------------------------------------------------------ */

static const struct parquet_column columns[] = {{"number", PARQUET_U64, false},
						{"text", PARQUET_TEXT, true}};

static struct parquet *begin(FILE *out)
{
	const struct parquet_options options = {
		.columns = columns, .n_columns = 2, .group_rows = 100, .creator = "test"};
	struct parquet *parquet;

	assert_int_equal(parquet_new(out, &options, &parquet), 0);
	return parquet;
}

static void rows_that_are_wrong(void **state)
{
	char *text = malloc(PARQUET_MAX_TEXT + 2);
	FILE *out = fopen("/dev/null", "w");
	struct parquet *p = begin(out);

	(void)state;
	parquet_number(p, 0, 1);
	assert_int_equal(parquet_end_row(p), -EINVAL); /* no second value */
	parquet_free(p);
	p = begin(out);
	parquet_null(p, 0);
	parquet_null(p, 1);
	assert_int_equal(parquet_end_row(p), -EINVAL); /* the first must have one */
	parquet_free(p);
	p = begin(out);
	memset(text, 'x', PARQUET_MAX_TEXT + 1);
	text[PARQUET_MAX_TEXT + 1] = '\0';
	parquet_number(p, 0, 1);
	parquet_text(p, 1, text);
	assert_int_equal(parquet_end_row(p), -EOVERFLOW);
	parquet_free(p);
	fclose(out);
	free(text);
}

static void full_disk(void **state)
{
	FILE *out = fopen("/dev/full", "w");
	struct parquet *p;
	int err = 0;

	(void)state;
	setvbuf(out, NULL, _IOFBF, 4096);
	p = begin(out);
	for (uint64_t i = 0; err == 0 && i < 10000; i++) {
		parquet_number(p, 0, hash_mix64(i));
		parquet_null(p, 1);
		err = parquet_end_row(p);
	}
	assert_int_equal(err, -EIO);
	parquet_free(p);
	fclose(out);
}

/* --- alternatives ----------------------------------------------------------------------------- */

static uint32_t enter(struct identity *table, uint64_t id, uint64_t what, bool is_new)
{
	const struct identity_key key = {.a = what};
	bool was_new;
	uint32_t alt;

	assert_int_equal(identity_enter(table, id, &key, &alt, &was_new), 0);
	assert_int_equal(was_new, is_new);
	return alt;
}

static void alternatives(void **state)
{
	const struct identity_key known = {.a = 9};
	struct identity table = {0};

	(void)state;
	assert_int_equal(enter(&table, 5, 1, true), 0);
	assert_int_equal(enter(&table, 5, 2, true), 1);
	assert_int_equal(enter(&table, 6, 2, true), 0);
	assert_int_equal(enter(&table, 5, 3, true), 2);
	assert_int_equal(enter(&table, 5, 2, false), 1);
	assert_int_equal(enter(&table, 5, 1, false), 0);
	assert_int_equal(table.collisions, 2);
	assert_int_equal(identity_know(&table, 7, &known, 4), 0); /* from elsewhere */
	assert_int_equal(enter(&table, 7, 9, false), 4);
	assert_int_equal(enter(&table, 7, 8, true), 5);
	identity_fini(&table);
}

static void windows(void **state)
{
	struct store_recording r = {.id = 1,
				    .start_unix_ns = 5,
				    .start_ns = 6,
				    .host = "a",
				    .command = "b",
				    .target = "c",
				    .event = "d"},
			       other = r;
	uint64_t number = rows_window(&r);

	(void)state;
	assert_int_equal(rows_window(&other), number);
	other.end_ns = 7; /* it goes on */
	other.samples = 8;
	assert_int_equal(rows_window(&other), number);
	other.host = "ab"; /* no text runs into the next */
	other.command = "";
	assert_int_not_equal(rows_window(&other), number);
	other = r;
	other.id = 2;
	assert_int_not_equal(rows_window(&other), number);
	other = r;
	other.start_unix_ns = 6;
	assert_int_not_equal(rows_window(&other), number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs),	     cmocka_unit_test(run_is_short),
		cmocka_unit_test(thrift),    cmocka_unit_test(rows_that_are_wrong),
		cmocka_unit_test(full_disk), cmocka_unit_test(alternatives),
		cmocka_unit_test(windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
