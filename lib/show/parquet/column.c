/* SPDX-License-Identifier: MIT */
/*
 * A column of a row group; see column.h.
 *
 * Values are kept as indexes into a dictionary. They are also written so, if that takes fewer bytes
 * before compression than the values themselves. A data page of a nullable column has a bit for
 * each row, which tells whether the row has a value, and then the values.
 */
#include "parquet/column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/pages.h"
#include "parquet/rle.h"

int column_new(const struct parquet_column *info, struct column *ret_column)
{
	*ret_column = (struct column){.info = info};
	return info->type == PARQUET_TEXT ? strings_new(&ret_column->texts) : 0;
}

void column_free(struct column *c)
{
	free(c->rows.items);
	free(c->numbers.items);
	int_map_fini(&c->by_number);
	strings_free(c->texts);
	*c = (struct column){0};
}

static void append(struct column *c, uint32_t number)
{
	if (c->err == 0)
		c->err = VEC_RESERVE(&c->rows, 1);
	if (c->err == 0)
		c->rows.items[c->rows.count++] = number;
}

void column_number(struct column *c, uint64_t value)
{
	uint32_t number = 0;

	if (c->err == 0)
		c->err = int_map_enter(&c->by_number, value, (uint32_t)c->numbers.count, &number);
	if (c->err == 0 && number == c->numbers.count) {
		c->err = VEC_RESERVE(&c->numbers, 1);
		if (c->err == 0)
			c->numbers.items[c->numbers.count++] = value;
	}
	append(c, number);
}

void column_text(struct column *c, const char *value)
{
	size_t len = strlen(value);
	uint32_t number = 0, before = strings_count(c->texts);

	if (c->err == 0 && len > PARQUET_MAX_TEXT)
		c->err = -EOVERFLOW;
	if (c->err == 0)
		c->err = strings_intern(c->texts, value, &number);
	if (strings_count(c->texts) > before)
		c->text_bytes += 4 + len;
	append(c, number);
}

void column_null(struct column *c)
{
	if (c->err == 0 && !c->info->is_nullable)
		c->err = -EINVAL;
	append(c, COLUMN_NULL);
}

/* --- encodings -------------------------------------------------------------------------------- */

/* Returns the width of a value in bytes; 0 for text, whose length is written before it. */
static unsigned width_of(const struct column *c)
{
	switch (c->info->type) {
	case PARQUET_TEXT:
		return 0;
	case PARQUET_U32:
		return 4;
	default:
		return 8;
	}
}

static void put_little(struct buf *b, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		buf_put_u8(b, (uint8_t)(value >> (8 * i)));
}

/* Appends a value of the dictionary in the plain encoding. */
static void put_plain(const struct column *c, uint32_t number, struct buf *b)
{
	const char *text;
	uint32_t len;

	if (c->info->type != PARQUET_TEXT) {
		put_little(b, c->numbers.items[number], width_of(c));
		return;
	}
	text = strings_at(c->texts, number);
	len = (uint32_t)strlen(text);
	put_little(b, len, 4);
	buf_put(b, text, len);
}

static uint32_t count_of_dictionary(const struct column *c)
{
	return c->texts ? strings_count(c->texts) : (uint32_t)c->numbers.count;
}

/* Returns the number of bits of an index into the dictionary; at least 1, because not all readers
 * can read 0. */
static unsigned bits_of(const struct column *c)
{
	uint32_t count = count_of_dictionary(c);

	return count > 2 ? 32u - (unsigned)__builtin_clz(count - 1) : 1;
}

/* Returns whether the dictionary and indexes into it take fewer bytes than the values
 * themselves. */
static bool wants_dictionary(const struct column *c, uint64_t nulls)
{
	uint64_t values = c->rows.count - nulls, plain = values * width_of(c);
	uint64_t dictionary = (uint64_t)count_of_dictionary(c) * width_of(c) + c->text_bytes;

	if (!values)
		return false;
	for (size_t i = 0; c->texts && i < c->rows.count; i++)
		if (c->rows.items[i] != COLUMN_NULL)
			plain += 4 + strlen(strings_at(c->texts, c->rows.items[i]));
	return dictionary + values * bits_of(c) / 8 < plain;
}

/* Appends the bits that tell which of the rows have a value, preceded by their length in bytes.
 * Returns 0 or -ENOMEM. */
static int put_levels(const struct column *c, size_t first, size_t n, struct buf *b)
{
	uint32_t *levels = vec_alloc(n, sizeof(*levels));
	struct buf coded = {0};

	if (!levels)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		levels[i] = c->rows.items[first + i] != COLUMN_NULL;
	rle_put(&coded, 1, levels, n);
	put_little(b, coded.len, 4);
	buf_put(b, coded.data, coded.len);
	b->failed = b->failed || coded.failed;
	buf_free(&coded);
	free(levels);
	return 0;
}

static int put_page(const struct column *c, size_t first, size_t n, bool is_coded, struct buf *b)
{
	uint32_t *numbers = vec_alloc(n, sizeof(*numbers));
	int err = numbers ? 0 : -ENOMEM;
	size_t values = 0;

	buf_clear(b);
	if (err == 0 && c->info->is_nullable)
		err = put_levels(c, first, n, b);
	for (size_t i = first; err == 0 && i < first + n; i++)
		if (c->rows.items[i] != COLUMN_NULL)
			numbers[values++] = c->rows.items[i];
	if (err == 0 && is_coded) {
		buf_put_u8(b, (uint8_t)bits_of(c));
		rle_put(b, bits_of(c), numbers, values);
	}
	for (size_t i = 0; err == 0 && !is_coded && i < values; i++)
		put_plain(c, numbers[i], b);
	free(numbers);
	return err;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* Finds the least and the largest number of the column. Numbers have no sign. */
static void find_range(const struct column *c, struct column_chunk *chunk)
{
	chunk->has_range = c->numbers.count > 0;
	chunk->least = UINT64_MAX;
	for (size_t i = 0; i < c->numbers.count; i++) {
		uint64_t number = c->numbers.items[i];

		chunk->least = number < chunk->least ? number : chunk->least;
		chunk->largest = number > chunk->largest ? number : chunk->largest;
	}
}

static int write_dictionary(const struct column *c, struct pages *pages, struct buf *b)
{
	uint32_t count = count_of_dictionary(c);

	buf_clear(b);
	for (uint32_t i = 0; i < count; i++)
		put_plain(c, i, b);
	return pages_dictionary(pages, b, count);
}

static int clear(struct column *c)
{
	c->rows.count = c->numbers.count = 0;
	c->text_bytes = 0;
	int_map_clear(&c->by_number);
	if (!c->texts)
		return 0;
	strings_free(c->texts);
	c->texts = NULL;
	return strings_new(&c->texts);
}

int column_write(struct column *c, struct pages *pages, uint32_t page_rows,
		 struct column_chunk *ret_chunk)
{
	struct column_chunk chunk = {.values = c->rows.count};
	uint64_t begin = pages_at(pages), raw = pages_raw(pages);
	struct buf b = {0};
	bool is_coded;
	int err = 0;

	for (size_t i = 0; i < c->rows.count; i++)
		chunk.nulls += c->rows.items[i] == COLUMN_NULL;
	find_range(c, &chunk);
	is_coded = wants_dictionary(c, chunk.nulls);
	if (is_coded) {
		chunk.dictionary_at = begin;
		err = write_dictionary(c, pages, &b);
	}
	chunk.data_at = pages_at(pages);
	for (size_t at = 0, n; err == 0 && at < c->rows.count; at += n) {
		n = c->rows.count - at < page_rows ? c->rows.count - at : page_rows;
		err = put_page(c, at, n, is_coded, &b);
		if (err == 0)
			err = pages_data(pages, &b, (uint32_t)n,
					 is_coded ? PARQUET_DICTIONARY : PARQUET_PLAIN);
	}
	buf_free(&b);
	chunk.bytes = pages_at(pages) - begin;
	chunk.raw_bytes = pages_raw(pages) - raw;
	*ret_chunk = chunk;
	return err == 0 ? clear(c) : err;
}
