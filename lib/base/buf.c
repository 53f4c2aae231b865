/* SPDX-License-Identifier: MIT */
/* Growable bytes and bounded reads; see buf.h. */
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

static bool reserve(struct buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 256;
	uint8_t *data;

	if (b->failed)
		return false;
	if (more <= b->cap - b->len)
		return true;
	while (cap - b->len < more) {
		if (cap > SIZE_MAX / 2) {
			b->failed = true;
			return false;
		}
		cap *= 2;
	}
	data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void buf_put(struct buf *b, const void *bytes, size_t len)
{
	if (!len || !reserve(b, len))
		return;
	memcpy(b->data + b->len, bytes, len);
	b->len += len;
}

void buf_put_long_varint(struct buf *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		bytes[n] = v & 0x7f;
		v >>= 7;
		if (v)
			bytes[n] |= 0x80;
		n++;
	} while (v);
	buf_put(b, bytes, n);
}

void buf_put_svarint(struct buf *b, int64_t v)
{
	buf_put_varint(b, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

void buf_put_string(struct buf *b, const char *s)
{
	size_t len = strlen(s);

	buf_put_varint(b, len);
	buf_put(b, s, len);
}

struct buf_reader buf_reader(const void *data, size_t len)
{
	const uint8_t *at = data;

	return (struct buf_reader){.at = at, .end = at ? at + len : at};
}

uint64_t buf_get_varint(struct buf_reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = buf_get_u8(r);

		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return r->failed ? 0 : v;
	}
	r->failed = true;
	return 0;
}

int64_t buf_get_svarint(struct buf_reader *r)
{
	uint64_t v = buf_get_varint(r);

	return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

bool buf_get(struct buf_reader *r, void *ret_bytes, size_t len)
{
	r->failed |= buf_left(r) < len;
	if (r->failed) {
		memset(ret_bytes, 0, len);
		return false;
	}
	if (len)
		memcpy(ret_bytes, r->at, len);
	r->at += len;
	return true;
}

bool buf_get_string(struct buf_reader *r, char *ret_text, size_t size)
{
	uint64_t len = buf_get_varint(r);

	r->failed |= len >= size || len > buf_left(r);
	ret_text[0] = '\0';
	if (r->failed || !buf_get(r, ret_text, len))
		return false;
	ret_text[len] = '\0';
	return true;
}
