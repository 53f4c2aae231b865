/* SPDX-License-Identifier: MIT */
/* Byte arrays of V8's heap, and the tables of source positions in them. */
#ifndef V8_V8_BYTES_H
#define V8_V8_BYTES_H

#include "runtime/v8/v8_heap.h"

/* Copies the byte array to which a field of the object at `base` leads, if it has at most `most`
 * bytes. The caller frees *ret_bytes. 0; -ENOENT: there is none, or it cannot be read; -ENOMEM. */
int v8_bytes_of(const struct v8 *v8, uint64_t base, uint32_t offset, size_t most,
		uint8_t **ret_bytes, size_t *ret_len);

/* Reads a number of seven bits a byte, the lowest ones first. Returns false if the bytes end before
 * it, or it has more than 64 bits. */
bool v8_number(const uint8_t *bytes, size_t len, size_t *at, uint64_t *ret_value);

/* Returns such a number that has its sign in the lowest bit: of differences in tables of source
 * positions, where -1 is 1; and of operands in translations, where it is 3. */
int64_t v8_difference(uint64_t number);
int64_t v8_operand(uint64_t number);

/* A table of source positions: each entry is an offset in code, and a position. */
struct v8_positions {
	const uint8_t *bytes;
	size_t len, at;
	uint64_t offset, position;
	bool has_flags, is_bad;
};

/* `has_flags`: see struct v8_version. */
struct v8_positions v8_positions_of(const uint8_t *bytes, size_t len, bool has_flags);
bool v8_positions_next(struct v8_positions *at, uint32_t *ret_offset, uint64_t *ret_position);

/* Returns whether the whole table was read, and was right. */
bool v8_positions_is_end(const struct v8_positions *at);

/* Returns the index of the character of a position. */
uint32_t v8_position_in_script(uint64_t position);

#endif
