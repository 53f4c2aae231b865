/* SPDX-License-Identifier: MIT */
/*
 * A table of things that have a 64-bit hash as their id (locations, paths), which keeps two things
 * with the same hash apart.
 *
 * The first thing with an id gets the number 0 (its "alternative"), the next one 1, and so on, like
 * the ".N" of docs/TAGS.md. The key tells things apart: for a location it is file and offset, for a
 * path its parent and its leaf.
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
	uint32_t next; /* the next entry with the same id; UINT32_MAX: none */
	uint32_t note; /* a number that the user of the table sets by identity_note(); at first 0 */
};

/* A zeroed struct is an empty table. */
struct identity {
	struct int_map first; /* id -> index of its first entry */
	VEC(struct identity_entry) entries;
	uint64_t collisions; /* number of things with an alternative other than 0 */
};

/* Frees the memory and leaves an empty table. */
void identity_fini(struct identity *table);

/* Finds a thing and gives its alternative. A new thing gets the next alternative of its id, and
 * *ret_is_new is set to true. Returns 0; -ENOMEM; -EOVERFLOW: there are 2^32 - 1 things. */
int identity_enter(struct identity *table, uint64_t id, const struct identity_key *key,
		   uint32_t *ret_alt, bool *ret_is_new);

/* Returns whether the table has a thing. */
bool identity_has(const struct identity *table, uint64_t id, const struct identity_key *key);

/* Returns where the note of a thing is kept, until a thing is added; NULL: it is not in the table.
 */
uint32_t *identity_note(struct identity *table, uint64_t id, const struct identity_key *key);

/* Adds a thing with the alternative that another table gave it. A thing that the table has already
 * stays unchanged. Errors as identity_enter(). */
int identity_know(struct identity *table, uint64_t id, const struct identity_key *key,
		  uint32_t alt);

#endif
