/* SPDX-License-Identifier: MIT */
/* Thrift's compact protocol; see thrift.h. Numbers are zigzag-coded varints, as buf_put_svarint()
 * writes them. */
#include "parquet/thrift.h"

#include <string.h>

enum {
	TYPE_TRUE = 1, /* a bool is in the header of its field */
	TYPE_FALSE = 2,
	TYPE_I8 = 3,
	TYPE_I16 = 4,
	TYPE_I64 = 6,
	TYPE_LIST = 9,
	LONG_LIST = 15, /* a list's header has smaller counts in itself */
};

struct thrift thrift_begin(struct buf *out)
{
	return (struct thrift){.out = out};
}

static void header(struct thrift *t, int16_t field, unsigned type)
{
	int distance = field - t->last[t->depth];

	if (distance > 0 && distance <= 15) {
		buf_put_u8(t->out, (uint8_t)((unsigned)distance << 4 | type));
	} else {
		buf_put_u8(t->out, (uint8_t)type);
		buf_put_svarint(t->out, field);
	}
	t->last[t->depth] = field;
}

void thrift_bool(struct thrift *t, int16_t field, bool value)
{
	header(t, field, value ? TYPE_TRUE : TYPE_FALSE);
}

void thrift_i8(struct thrift *t, int16_t field, int8_t value)
{
	header(t, field, TYPE_I8);
	buf_put_u8(t->out, (uint8_t)value);
}

void thrift_i16(struct thrift *t, int16_t field, int16_t value)
{
	header(t, field, TYPE_I16);
	buf_put_svarint(t->out, value);
}

void thrift_i32(struct thrift *t, int16_t field, int32_t value)
{
	header(t, field, THRIFT_I32);
	buf_put_svarint(t->out, value);
}

void thrift_i64(struct thrift *t, int16_t field, int64_t value)
{
	header(t, field, TYPE_I64);
	buf_put_svarint(t->out, value);
}

void thrift_binary(struct thrift *t, int16_t field, const void *bytes, uint32_t len)
{
	header(t, field, THRIFT_BINARY);
	buf_put_varint(t->out, len);
	buf_put(t->out, bytes, len);
}

void thrift_text(struct thrift *t, int16_t field, const char *text)
{
	thrift_binary(t, field, text, (uint32_t)strlen(text));
}

static void nest(struct thrift *t)
{
	t->last[++t->depth] = 0;
}

void thrift_struct(struct thrift *t, int16_t field)
{
	header(t, field, THRIFT_STRUCT);
	nest(t);
}

void thrift_empty(struct thrift *t, int16_t field)
{
	thrift_struct(t, field);
	thrift_end(t);
}

void thrift_list(struct thrift *t, int16_t field, enum thrift_type of, uint32_t count)
{
	header(t, field, TYPE_LIST);
	if (count < LONG_LIST) {
		buf_put_u8(t->out, (uint8_t)(count << 4 | of));
	} else {
		buf_put_u8(t->out, (uint8_t)(LONG_LIST << 4 | of));
		buf_put_varint(t->out, count);
	}
}

void thrift_item_i32(struct thrift *t, int32_t value)
{
	buf_put_svarint(t->out, value);
}

void thrift_item_text(struct thrift *t, const char *text)
{
	buf_put_string(t->out, text);
}

void thrift_item_struct(struct thrift *t)
{
	nest(t);
}

void thrift_end(struct thrift *t)
{
	buf_put_u8(t->out, 0);
	if (t->depth)
		t->depth--;
}
