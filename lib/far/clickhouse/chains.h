/* SPDX-License-Identifier: MIT */
/*
 * Sends paths of a tree without their tags.
 *
 * A tag is a hash, which no format compresses: a row of `paths` with its tag, its parent's tag and
 * its location takes 19 bytes with gzip. But a path's tag is made of its parent's tag and its
 * location (hash_chain()), which SQL can do as well. So paths are sent as chains: the tag that a
 * chain begins below, and up to CHAINS_MOST locations, each the callee of the one before it, as
 * numbers in a list of all locations. The server makes the rows of it:
 *
 *   below  locations      rows (tag, parent, location)
 *   T      a b c     ->   (Ta, T, a)  (Tab, Ta, b)  (Tabc, Tab, c)       Ta = 11 T ^ a
 *
 * With gzip a path takes five to six bytes so. The list and the chains are a text of hexadecimal
 * digits in the statement itself, since servers of 2018 take no compressed data beside a query that
 * computes.
 *
 * A path is in a later row of the statement than its parent.
 */
#ifndef CLICKHOUSE_CHAINS_H
#define CLICKHOUSE_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/int_map.h"
#include "base/vec.h"

#define CHAINS_MOST 8 /* locations of a chain */

struct chain {
	uint64_t below;
	uint16_t locations[CHAINS_MOST]; /* their numbers; 0: none, nor further ones */
};

/* Zeroed is empty. */
struct chains {
	VEC(struct chain) chains;
	VEC(uint64_t) locations; /* by number, less 1 */
	struct int_map numbers;	 /* location -> number */
	struct int_map ends;	 /* tag of the last location of a chain -> index of the chain */
	uint64_t count;		 /* paths */
};

void chains_clear(struct chains *chains); /* makes it empty */
void chains_free(struct chains *chains);  /* and frees what it has */

/* Returns whether as many paths, or locations, are there as a statement should have. */
bool chains_are_full(const struct chains *chains);

/* Adds a path, after its parent if that is new, too. 0; -EDOM: its tag is not made so, or it cannot
 * be sent so; or -ENOMEM. Not to be called if chains_are_full(). */
int chains_add(struct chains *chains, uint64_t tag, uint64_t parent, uint64_t location);

/* Appends "INSERT INTO paths ..." for all paths, which all have alternative 0, with a final NUL.
 * `day`: since 1970. */
void chains_put_insert(const struct chains *chains, uint64_t day, struct buf *b);

#endif
