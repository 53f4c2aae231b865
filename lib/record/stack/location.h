/* SPDX-License-Identifier: MIT */
/*
 * Locations identify code in the same way on every run and host, interned to small numbers.
 * A location is (file id, file offset). For a frame that was interrupted (the leaf, or a frame
 * under a signal handler) the offset is the program counter's. For a frame that waits for a call to
 * return it is the offset of the call's last byte (return address - 1), at which symbols and lines
 * are looked up, since the return address may already belong to the next line or to the next
 * function. No instruction starts there, so the two kinds never have the same offset; `is_return`
 * says which kind it is, and display adds the 1 again.
 *
 * Locations have dense numbers from 0 in order of first appearance: the store uses them as keys.
 */
#ifndef STACK_LOCATION_H
#define STACK_LOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Whether a call instruction has put the return address on the stack. */
enum location_put {
	LOCATION_CALLED, /* a call has, or nothing speaks against it */
	/* doubtful: the address follows a call, but another function begins there */
	LOCATION_DOUBTED,
	/* no call has, since the program itself has stored the address on the stack */
	LOCATION_PUT,
};

struct location {
	uint64_t file_id;
	uint64_t offset;
	uint32_t object; /* the recording's number of the object; not part of the identity */
	bool is_return;
	uint8_t put; /* enum location_put; not part of the identity */
	/* enum provenance, of the unwinding rule at the location; not part of the identity */
	uint8_t provenance;
};

/* Returns the location's 64-bit id, which enters the hash chain of tags. All its bits depend on all
 * bits of both numbers. It is part of the recording format. */
static inline uint64_t location_id(uint64_t file_id, uint64_t offset)
{
	return hash_mix64(hash_mix64(file_id) + offset);
}

struct location_table;

int location_table_new(struct location_table **ret_table); /* returns 0 or -ENOMEM */

/* Frees the table and its locations; NULL is fine. */
void location_table_free(struct location_table *table);

/* Gives the number of a location, and adds the location if it is new. Returns 0 or -ENOMEM. */
int location_intern(struct location_table *table, const struct location *loc, uint32_t *ret_number);

#define LOCATIONS_AT_ONCE 32u

/* Does the same as location_intern() for up to LOCATIONS_AT_ONCE locations. `ids` are their
 * location_id(), in the same order. Prefetches the entries of all of them first, so that their
 * cache misses overlap. Returns 0 or -ENOMEM. */
int location_intern_all(struct location_table *table, const struct location *locs,
			const uint64_t *ids, size_t count, uint32_t *ret_numbers);

/* Removes all locations and frees their memory; numbers begin at 0 again. */
void location_table_clear(struct location_table *table);

/* Returns the number of locations. */
uint32_t location_count(const struct location_table *table);

/* Sets the provenance of a location that the table has. */
void location_set_provenance(struct location_table *table, uint32_t number, uint8_t provenance);

/* Sets whether a call has put the return address on the stack, for a location that the table
 * has. */
void location_set_put(struct location_table *table, uint32_t number, enum location_put put);

/* Returns a location, which lives until the next location_intern(). `number` must be below
 * location_count(). */
const struct location *location_at(const struct location_table *table, uint32_t number);

#endif
