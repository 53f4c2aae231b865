/* SPDX-License-Identifier: MIT */
/*
 * Things that are identified by a 64-bit hash; two with the same hash are kept apart.
 *
 * The first thing with an id gets the alternative 0, the next one 1, and so on: the ".N" of
 * docs/TAGS.md. What a thing is, is said by its key: of a location its file and offset, of a path
 * its parent and its leaf.
 */
#ifndef ROWS_IDENTITY_H
#define ROWS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/int_map.h"
#include "base/vec.h"

struct identity_key {
	uint64_t a, b;
	uint32_t c, d;
};

struct identity_entry {
	struct identity_key key;
	uint32_t alt;
	uint32_t next; /* of the same id; UINT32_MAX: none */
};

/* A zeroed struct is an empty table. */
struct identity {
	struct int_map first; /* by id */
	VEC(struct identity_entry) entries;
	uint64_t collisions; /* things that were given another alternative than 0 */
};

/* Frees what is in it, and leaves an empty one. */
void identity_fini(struct identity *table);

/* Finds the alternative of a thing; one that is new gets the next of its id, and *ret_is_new is
 * true. 0, -ENOMEM or -EOVERFLOW (2^32 - 1 things). */
int identity_enter(struct identity *table, uint64_t id, const struct identity_key *key,
		   uint32_t *ret_alt, bool *ret_is_new);

/* Returns whether a thing is there. */
bool identity_has(const struct identity *table, uint64_t id, const struct identity_key *key);

/* Enters a thing under an alternative that it was given elsewhere. What is there already stays as
 * it is. Errors as above. */
int identity_know(struct identity *table, uint64_t id, const struct identity_key *key,
		  uint32_t alt);

#endif
