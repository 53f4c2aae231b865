/* SPDX-License-Identifier: MIT */
/* Writes the footer; see footer.h. Numbers of fields and of types are those of parquet.thrift:
 * https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift */
#include "parquet/footer.h"

#include "parquet/pages.h"
#include "parquet/thrift.h"

enum { PHYSICAL_INT32 = 1, PHYSICAL_INT64 = 2, PHYSICAL_BYTE_ARRAY = 6 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_32 = 13, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10, UNIT_NANOS = 3 };
enum { REQUIRED = 0, OPTIONAL = 1 };
enum { CODEC_ZSTD = 6 };
enum { FOOTER_VERSION = 2 };

static int physical_of(enum parquet_type type)
{
	switch (type) {
	case PARQUET_TEXT:
		return PHYSICAL_BYTE_ARRAY;
	case PARQUET_U32:
		return PHYSICAL_INT32;
	default:
		return PHYSICAL_INT64;
	}
}

/* Writes the logical type of a column, and its converted type, which is the only one that older
 * readers know; times in nanoseconds have no converted type. */
static void put_meaning(struct thrift *t, enum parquet_type type)
{
	if (type == PARQUET_TEXT)
		thrift_i32(t, 6, CONVERTED_UTF8);
	else if (type != PARQUET_TIME)
		thrift_i32(t, 6, type == PARQUET_U32 ? CONVERTED_UINT_32 : CONVERTED_UINT_64);
	thrift_struct(t, 10);
	if (type == PARQUET_TEXT) {
		thrift_empty(t, LOGICAL_STRING);
	} else if (type == PARQUET_TIME) {
		thrift_struct(t, LOGICAL_TIMESTAMP);
		thrift_bool(t, 1, true); /* UTC */
		thrift_struct(t, 2);
		thrift_empty(t, UNIT_NANOS);
		thrift_end(t);
		thrift_end(t);
	} else {
		thrift_struct(t, LOGICAL_INTEGER);
		thrift_i8(t, 1, type == PARQUET_U32 ? 32 : 64);
		thrift_bool(t, 2, false); /* has no sign */
		thrift_end(t);
	}
	thrift_end(t);
}

/* Writes the schema, a tree that consists of a root and the columns below it. */
static void put_schema(struct thrift *t, const struct parquet_options *o)
{
	thrift_list(t, 2, THRIFT_STRUCT, (uint32_t)o->n_columns + 1);
	thrift_item_struct(t);
	thrift_text(t, 4, "schema");
	thrift_i32(t, 5, (int32_t)o->n_columns);
	thrift_end(t);
	for (size_t i = 0; i < o->n_columns; i++) {
		const struct parquet_column *column = &o->columns[i];

		thrift_item_struct(t);
		thrift_i32(t, 1, physical_of(column->type));
		thrift_i32(t, 3, column->is_nullable ? OPTIONAL : REQUIRED);
		thrift_text(t, 4, column->name);
		put_meaning(t, column->type);
		thrift_end(t);
	}
}

static void put_bound(struct thrift *t, int16_t field, uint64_t value, unsigned width)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < width; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	thrift_binary(t, field, bytes, width);
}

static void put_statistics(struct thrift *t, const struct parquet_column *column,
			   const struct column_chunk *chunk)
{
	unsigned width = column->type == PARQUET_U32 ? 4 : 8;

	thrift_struct(t, 12);
	thrift_i64(t, 3, (int64_t)chunk->nulls);
	if (chunk->has_range) {
		put_bound(t, 5, chunk->largest, width);
		put_bound(t, 6, chunk->least, width);
	}
	thrift_end(t);
}

static void put_encodings(struct thrift *t, const struct column_chunk *chunk)
{
	thrift_list(t, 2, THRIFT_I32, chunk->dictionary_at ? 3 : 2);
	thrift_item_i32(t, PARQUET_PLAIN);
	thrift_item_i32(t, PARQUET_RLE);
	if (chunk->dictionary_at)
		thrift_item_i32(t, PARQUET_DICTIONARY);
}

static void put_chunk(struct thrift *t, const struct parquet_column *column,
		      const struct column_chunk *chunk)
{
	thrift_item_struct(t);
	thrift_i64(t, 2, 0); /* where a copy of this metadata is: nowhere */
	thrift_struct(t, 3);
	thrift_i32(t, 1, physical_of(column->type));
	put_encodings(t, chunk);
	thrift_list(t, 3, THRIFT_BINARY, 1);
	thrift_item_text(t, column->name);
	thrift_i32(t, 4, CODEC_ZSTD);
	thrift_i64(t, 5, (int64_t)chunk->values);
	thrift_i64(t, 6, (int64_t)chunk->raw_bytes);
	thrift_i64(t, 7, (int64_t)chunk->bytes);
	thrift_i64(t, 9, (int64_t)chunk->data_at);
	if (chunk->dictionary_at)
		thrift_i64(t, 11, (int64_t)chunk->dictionary_at);
	put_statistics(t, column, chunk);
	thrift_end(t);
	thrift_end(t);
}

static void put_group(struct thrift *t, const struct parquet_options *o,
		      const struct footer_group *group, size_t number)
{
	const struct column_chunk *first = &group->chunks[0];
	uint64_t raw = 0, bytes = 0;

	thrift_item_struct(t);
	thrift_list(t, 1, THRIFT_STRUCT, (uint32_t)o->n_columns);
	for (size_t i = 0; i < o->n_columns; i++) {
		put_chunk(t, &o->columns[i], &group->chunks[i]);
		raw += group->chunks[i].raw_bytes;
		bytes += group->chunks[i].bytes;
	}
	thrift_i64(t, 2, (int64_t)raw);
	thrift_i64(t, 3, (int64_t)group->rows);
	thrift_i64(t, 5, (int64_t)(first->dictionary_at ? first->dictionary_at : first->data_at));
	thrift_i64(t, 6, (int64_t)bytes);
	if (number <= INT16_MAX)
		thrift_i16(t, 7, (int16_t)number);
	thrift_end(t);
}

/* Writes how the columns' statistics are ordered: by the order that their type defines. */
static void put_orders(struct thrift *t, const struct parquet_options *o)
{
	thrift_list(t, 7, THRIFT_STRUCT, (uint32_t)o->n_columns);
	for (size_t i = 0; i < o->n_columns; i++) {
		thrift_item_struct(t);
		thrift_empty(t, 1);
		thrift_end(t);
	}
}

static void put_notes(struct thrift *t, const struct footer_notes *notes)
{
	if (!notes->all.count)
		return;
	thrift_list(t, 5, THRIFT_STRUCT, (uint32_t)notes->all.count);
	for (size_t i = 0; i < notes->all.count; i++) {
		thrift_item_struct(t);
		thrift_text(t, 1, notes->all.items[i].key);
		thrift_text(t, 2, notes->all.items[i].value);
		thrift_end(t);
	}
}

void footer_put(struct buf *b, const struct parquet_options *o, const struct footer_group *groups,
		size_t n_groups, const struct footer_notes *notes)
{
	struct thrift t = thrift_begin(b);
	uint64_t rows = 0;

	for (size_t i = 0; i < n_groups; i++)
		rows += groups[i].rows;
	thrift_i32(&t, 1, FOOTER_VERSION);
	put_schema(&t, o);
	thrift_i64(&t, 3, (int64_t)rows);
	thrift_list(&t, 4, THRIFT_STRUCT, (uint32_t)n_groups);
	for (size_t i = 0; i < n_groups; i++)
		put_group(&t, o, &groups[i], i);
	put_notes(&t, notes);
	thrift_text(&t, 6, o->creator);
	put_orders(&t, o);
	thrift_end(&t);
}
