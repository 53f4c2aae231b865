/* SPDX-License-Identifier: MIT */
/*
 * A bounded reader of DWARF's encodings: little-endian numbers of fixed widths, LEB128, blocks.
 * cfi_entry.c reads encoded pointers (DW_EH_PE).
 *
 * A read past the end fails, returns 0, and moves the reader to its end, so that every loop that
 * runs until the end stops. Callers check `failed` once, after the last read. All functions are
 * inline: a big library's CFI takes some ten million such reads.
 */
#ifndef CFI_CFI_READER_H
#define CFI_CFI_READER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cfi_reader {
	const uint8_t *at, *end; /* borrowed */
	bool failed;
};

/* Returns a reader of `len` bytes, which are borrowed. */
static inline struct cfi_reader cfi_reader_of(const uint8_t *data, size_t len)
{
	return (struct cfi_reader){.at = data, .end = data ? data + len : data};
}

/* Returns the number of bytes that have not been read. */
static inline size_t cfi_reader_left(const struct cfi_reader *r)
{
	return (size_t)(r->end - r->at);
}

/* Makes the reader fail: it is at its end from now on. */
static inline void cfi_reader_fail(struct cfi_reader *r)
{
	r->failed = true;
	r->at = r->end;
}

/* Returns the next `len` bytes, borrowed. If there are fewer, the reader fails and the result is
 * NULL. */
static inline const uint8_t *cfi_reader_block(struct cfi_reader *r, uint64_t len)
{
	const uint8_t *at = r->at;

	if (len > cfi_reader_left(r)) {
		cfi_reader_fail(r);
		return NULL;
	}
	if (len)
		r->at += len;
	return at;
}

#define CFI_FIXED(name, type, to_host)                                                             \
	static inline type name(struct cfi_reader *r)                                              \
	{                                                                                          \
		type v = 0;                                                                        \
		const uint8_t *p = cfi_reader_block(r, sizeof(v));                                 \
                                                                                                   \
		if (p)                                                                             \
			memcpy(&v, p, sizeof(v));                                                  \
		return to_host(v);                                                                 \
	}
/* Each reads the next number, of a fixed width. */
CFI_FIXED(cfi_reader_u8, uint8_t, )
CFI_FIXED(cfi_reader_u16, uint16_t, le16toh)
CFI_FIXED(cfi_reader_u32, uint32_t, le32toh)
CFI_FIXED(cfi_reader_u64, uint64_t, le64toh)
#undef CFI_FIXED

/* Reads a LEB128 number (DWARF 5, section 7.6) of up to ten bytes, and returns its lowest 64 bits.
 * Gives how many bits were encoded, and the last byte. */
static inline uint64_t cfi_reader_leb(struct cfi_reader *r, unsigned *ret_bits, uint8_t *ret_last)
{
	uint64_t v = 0;
	unsigned bits = 0;
	uint8_t byte;

	do {
		if (bits == 70)
			cfi_reader_fail(r);
		byte = cfi_reader_u8(r);
		if (bits < 64)
			v |= (uint64_t)(byte & 0x7f) << bits;
		bits += 7;
	} while (byte & 0x80);
	*ret_bits = bits;
	*ret_last = byte;
	return r->failed ? 0 : v;
}

/* Reads an unsigned LEB128 number. If it has more than 64 bits, the reader fails. */
static inline uint64_t cfi_reader_uleb(struct cfi_reader *r)
{
	unsigned bits;
	uint8_t last;
	uint64_t v;

	if (r->at != r->end && *r->at < 0x80)
		return *r->at++;
	v = cfi_reader_leb(r, &bits, &last);
	if (bits <= 63 || last <= 1)
		return v;
	cfi_reader_fail(r);
	return 0;
}

/* Reads a signed LEB128 number. If it has more than 64 bits, the reader fails. */
static inline int64_t cfi_reader_sleb(struct cfi_reader *r)
{
	unsigned bits;
	uint8_t last;
	uint64_t v = cfi_reader_leb(r, &bits, &last);

	if (bits <= 63)
		return (int64_t)(last & 0x40 ? v | UINT64_MAX << bits : v);
	if (last == 0 || last == 0x7f)
		return (int64_t)v;
	cfi_reader_fail(r);
	return 0;
}

/* Returns a reader of the next `len` bytes, and skips them in `r`. If there are fewer, both readers
 * have failed. */
static inline struct cfi_reader cfi_reader_sub(struct cfi_reader *r, uint64_t len)
{
	const uint8_t *p = cfi_reader_block(r, len);
	struct cfi_reader sub = cfi_reader_of(p, p ? (size_t)len : 0);

	sub.failed = !p;
	return sub;
}

#endif
