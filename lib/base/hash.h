/* SPDX-License-Identifier: MIT */
/*
 * The hash primitives behind tags, the names of call paths. They are part of the recording format:
 * a change here changes every tag.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

/* 11 * HASH_INVERSE_11 == 1 modulo 2^64, so MIX can be inverted one step. */
#define HASH_INVERSE_11 UINT64_C(0x2e8ba2e8ba2e8ba3)

/* A bijection of 64-bit values in which every input bit reaches every output bit
 * (Stafford's "variant 13" constants, the finaliser of SplitMix64). */
static inline uint64_t hash_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	x ^= x >> 31;
	return x;
}

/* Returns the file id of a file that shares its build-id with a file of another layout (program
 * headers; proc/object.h). `file_id` is the id by build-id alone. The result is never 0. */
static inline uint64_t hash_layout_id(uint64_t file_id, uint64_t layout)
{
	uint64_t id = hash_mix64(hash_mix64(file_id) + layout);

	return id ? id : 1;
}

/* One link of the hash chain that names a call path (Besnard et al. 2019, the MIX function):
 * `parent` is the tag of the caller's path (0 above the root), `id` a well-mixed 64-bit id. */
static inline uint64_t hash_chain(uint64_t parent, uint64_t id)
{
	return (parent * 11) ^ id;
}

/* Returns the parent's tag, given the child's tag and the `id` that hash_chain() added to it. */
static inline uint64_t hash_unchain(uint64_t tag, uint64_t id)
{
	return (tag ^ id) * HASH_INVERSE_11;
}

#endif
