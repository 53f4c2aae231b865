/* SPDX-License-Identifier: MIT */
/*
 * A growable byte buffer and a bounded reader: the base of every codec of the project.
 *
 * Writers append; the first failed allocation makes the buffer `failed`, and every later append
 * a no-op, so that callers check once, at the end. Readers never leave their bounds: a read past
 * the end makes the reader `failed` and yields 0.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data; /* owned */
	size_t len;    /* bytes used */
	size_t cap;    /* bytes allocated */
	bool failed;   /* an allocation failed: the content is incomplete */
};

void buf_free(struct buf *b);  /* releases the memory; `b` is empty and usable again */
void buf_clear(struct buf *b); /* empties, keeps the memory, clears `failed` */

/* Appends bytes; if memory is short it sets `failed` and appends nothing. */
void buf_put(struct buf *b, const void *bytes, size_t len);

/* The slow path of buf_put_varint(), for values of more than 7 bits. */
void buf_put_long_varint(struct buf *b, uint64_t v);

static inline void buf_put_u8(struct buf *b, uint8_t v) /* inline, since it is called most often */
{
	if (b->len < b->cap && !b->failed)
		b->data[b->len++] = v;
	else
		buf_put(b, &v, 1);
}

static inline void buf_put_varint(struct buf *b, uint64_t v) /* LEB128, 1 to 10 bytes */
{
	if (v < 0x80)
		buf_put_u8(b, (uint8_t)v);
	else
		buf_put_long_varint(b, v);
}

void buf_put_svarint(struct buf *b, int64_t v);	   /* zigzag, then LEB128 */
void buf_put_string(struct buf *b, const char *s); /* varint length, then the bytes */

struct buf_reader {
	const uint8_t *at, *end; /* borrowed */
	bool failed;		 /* a read went past the end, or a varint was longer than 64 bits */
};

/* Returns a reader of `len` bytes at `data`, which are borrowed. */
struct buf_reader buf_reader(const void *data, size_t len);

static inline uint8_t buf_get_u8(struct buf_reader *r) /* inline, since it is called most often */
{
	if (r->failed || r->at == r->end) {
		r->failed = true;
		return 0;
	}
	return *r->at++;
}

/* Returns the number of bytes that are left to read; 0 if the reader has failed. */
static inline size_t buf_left(const struct buf_reader *r)
{
	return r->failed ? 0 : (size_t)(r->end - r->at);
}

/* Reads `len` bytes. If fewer are left, sets `failed`, fills the result with zeros and returns
 * false. */
bool buf_get(struct buf_reader *r, void *ret_bytes, size_t len);

/* Reads a string that buf_put_string() wrote into `size` bytes, and adds a final NUL. If the string
 * is cut or does not fit, sets `failed`, stores "" and returns false. */
bool buf_get_string(struct buf_reader *r, char *ret_text, size_t size);

/* Append, and read, a variable of fixed width in the machine's byte order. */
#define BUF_PUT(b, value) buf_put((b), &(value), sizeof(value))
#define BUF_GET(r, value) buf_get((r), &(value), sizeof(value))

/* Reads a number that buf_put_varint() wrote. If it is cut or too long, sets `failed` and returns
 * 0. */
uint64_t buf_get_varint(struct buf_reader *r);

/* Reads a number that buf_put_svarint() wrote; errors as buf_get_varint(). */
int64_t buf_get_svarint(struct buf_reader *r);

#endif
