/* SPDX-License-Identifier: MIT */
/* Copies byte arrays, and decodes tables of source positions; see v8_bytes.h. */
#include "runtime/v8/v8_bytes.h"

#include <errno.h>
#include <stdlib.h>

#define LENGTH 8
#define START  16
#define PAGE   4096

int v8_bytes_of(const struct v8 *v8, uint64_t base, uint32_t offset, size_t most,
		uint8_t **ret_bytes, size_t *ret_len)
{
	uint64_t array;
	uint32_t len;
	uint8_t *bytes;

	if (!v8_object(v8, base, offset, &array) ||
	    (!v8_has_type(v8, array, V8_TYPE_BYTE_ARRAY) &&
	     !v8_has_type(v8, array, V8_TYPE_TRUSTED_BYTES)) ||
	    !v8_smi(v8, array, LENGTH, &len) || len > most)
		return -ENOENT;
	bytes = malloc(len + 1);
	if (!bytes)
		return -ENOMEM;
	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < PAGE ? len - at : PAGE;
		if (!v8_read(v8, array + START + at, bytes + at, n)) {
			free(bytes);
			return -ENOENT;
		}
	}
	*ret_bytes = bytes;
	*ret_len = len;
	return 0;
}

bool v8_number(const uint8_t *bytes, size_t len, size_t *at, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && *at < len; shift += 7) {
		uint8_t byte = bytes[(*at)++];

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

int64_t v8_difference(uint64_t number)
{
	return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

int64_t v8_operand(uint64_t number)
{
	int64_t value = (int64_t)(number >> 1);

	return number & 1 ? -value : value;
}

/* --- source positions ------------------------------------------------------------------------- */

struct v8_positions v8_positions_of(const uint8_t *bytes, size_t len, bool has_flags)
{
	return (struct v8_positions){.bytes = bytes, .len = len, .has_flags = has_flags};
}

/* Returns how far an offset is from the one before. Without flags, a negative number is that of an
 * expression, and has its value less 1. */
static uint64_t distance(const struct v8_positions *p, uint64_t number)
{
	int64_t difference = v8_difference(number);

	if (p->has_flags)
		return number >> 2;
	return (uint64_t)(difference < 0 ? -(difference + 1) : difference);
}

bool v8_positions_next(struct v8_positions *p, uint32_t *ret_offset, uint64_t *ret_position)
{
	uint64_t number;

	if (p->at >= p->len || p->is_bad)
		return false;
	p->is_bad = true;
	if (!v8_number(p->bytes, p->len, &p->at, &number))
		return false;
	p->offset += distance(p, number);
	if (p->offset > INT32_MAX || !v8_number(p->bytes, p->len, &p->at, &number))
		return false;
	p->position += (uint64_t)v8_difference(number);
	p->is_bad = false;
	*ret_offset = (uint32_t)p->offset;
	*ret_position = p->position;
	return true;
}

bool v8_positions_is_end(const struct v8_positions *p)
{
	return p->at >= p->len && !p->is_bad;
}

uint32_t v8_position_in_script(uint64_t position)
{
	return (uint32_t)(position >> 1 & 0x3fffffff) - 1;
}
