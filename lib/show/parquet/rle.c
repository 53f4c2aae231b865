/* SPDX-License-Identifier: MIT */
/*
 * The hybrid encoding; see rle.h. A run of 8 or more equal numbers is written as its length and the
 * number; numbers between such runs are packed in groups of 8. So equal numbers first fill up the
 * packed group before them, and become a run only if at least 8 are left. The last group is padded
 * with zeros, because the reader knows how many numbers there are.
 */
#include "parquet/rle.h"

#define RLE_GROUP 8u

/* Appends numbers in whole groups, the lowest bit of the first one first. */
static void put_packed(struct buf *b, unsigned width, const uint32_t *numbers, size_t n)
{
	size_t groups = (n + RLE_GROUP - 1) / RLE_GROUP;
	uint64_t bits = 0;
	unsigned held = 0;

	if (!n)
		return;
	buf_put_varint(b, (uint64_t)groups << 1 | 1);
	for (size_t i = 0; i < groups * RLE_GROUP; i++) {
		bits |= (uint64_t)(i < n ? numbers[i] : 0) << held;
		for (held += width; held >= 8; held -= 8) {
			buf_put_u8(b, (uint8_t)bits);
			bits >>= 8;
		}
	}
}

static void put_run(struct buf *b, unsigned width, uint32_t number, size_t n)
{
	buf_put_varint(b, (uint64_t)n << 1);
	for (unsigned at = 0; at < width; at += 8)
		buf_put_u8(b, (uint8_t)(number >> at));
}

void rle_put(struct buf *b, unsigned width, const uint32_t *numbers, size_t n)
{
	size_t packed = 0; /* the numbers from here on have not been written yet */

	for (size_t at = 0; at < n;) {
		size_t end = at + 1, full;

		while (end < n && numbers[end] == numbers[at])
			end++;
		full = packed + (at - packed + RLE_GROUP - 1) / RLE_GROUP * RLE_GROUP;
		if (end >= full + RLE_GROUP) {
			put_packed(b, width, numbers + packed, full - packed);
			put_run(b, width, numbers[at], end - full);
			packed = end;
		}
		at = end;
	}
	put_packed(b, width, numbers + packed, n - packed);
}
