/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of one address space, sorted by address, without overlaps.
 *
 * A set is counted by reference: fork() shares it, and a caller that changes it first makes a copy
 * of its own (mapping_set_own). Neighbours that continue each other in the same object are one
 * mapping, so a JIT that enables its code page by page stays one entry.
 *
 * Each content has a version of its own, so that the holder of a copy of a set, such as a worker,
 * can check whether the copy is still right. Sets that fork() shares have one version.
 */
#ifndef PROC_MAPPING_SET_H
#define PROC_MAPPING_SET_H

#include <stddef.h>
#include <stdint.h>

#include "proc/process.h"

struct mapping_set {
	struct mapping *maps; /* owned, sorted */
	uint32_t count;
	size_t cap;
	uint32_t refs;
	uint64_t version; /* of the content: different contents never share one; never 0 */
};

struct mapping_set *mapping_set_new(void); /* with one reference; NULL for lack of memory */

/* Takes one more reference and returns `set`. */
struct mapping_set *mapping_set_ref(struct mapping_set *set);

/* Drops a reference; the last one frees the set. NULL is fine. */
void mapping_set_unref(struct mapping_set *set);

/* Prepares `*set` for a change: if others hold it, replaces it by a copy that is the caller's alone
 * (by a new set if it is NULL). It gets a new version. 0 or -ENOMEM. */
int mapping_set_own(struct mapping_set **set);

/* Adds a mapping, and removes what it overlaps; parts of older mappings on either side of it stay.
 * An empty mapping changes nothing. Returns 0, or -ENOMEM with the set unchanged. */
int mapping_set_insert(struct mapping_set *set, const struct mapping *map);

/* Removes [start, end). 0 or -ENOMEM, the set unchanged. */
int mapping_set_cut(struct mapping_set *set, uint64_t start, uint64_t end);

/* Drops every mapping that does not touch one of `kept`, which is sorted. */
void mapping_set_keep(struct mapping_set *set, const struct mapping_set *kept);

/* Returns the mapping that holds an address, or NULL. `hint` is where the search begins, and
 * receives the index of the result. */
struct mapping *mapping_set_find(const struct mapping_set *set, uint64_t address, uint32_t *hint);

#endif
