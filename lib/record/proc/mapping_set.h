/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of one address space, sorted by address, without overlaps.
 *
 * A set has a reference count: parent and child share it after fork(), and whoever changes it first
 * makes a copy of its own (mapping_set_own()). Adjacent mappings that continue each other in the
 * same object are one mapping, so a JIT that enables its code page by page stays one entry.
 *
 * Each change gives a set a new version number, so that the holder of a copy of a set, such as a
 * worker, can check whether the copy is still right. A set that fork() shares keeps its version.
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
	uint64_t version; /* version of the content: different contents never share one; never 0 */
};

/* Returns an empty set with one reference, or NULL if memory is short. */
struct mapping_set *mapping_set_new(void);

/* Takes one more reference and returns `set`. */
struct mapping_set *mapping_set_ref(struct mapping_set *set);

/* Drops a reference; the last one frees the set. NULL is fine. */
void mapping_set_unref(struct mapping_set *set);

/* Prepares `*set` for a change: if others have a reference to it, replaces it by a copy that the
 * caller alone has; if it is NULL, by a new set. Gives it a new version. Returns 0 or -ENOMEM. */
int mapping_set_own(struct mapping_set **set);

/* Adds a mapping in place of all that it overlaps; parts of older mappings on either side of it
 * stay. An empty mapping changes nothing. Returns 0, or -ENOMEM with the set unchanged. */
int mapping_set_insert(struct mapping_set *set, const struct mapping *map);

/* Removes [start, end). Returns 0, or -ENOMEM with the set unchanged. */
int mapping_set_cut(struct mapping_set *set, uint64_t start, uint64_t end);

/* Removes every mapping of `set` that has no address in common with a mapping of `kept`. */
void mapping_set_keep(struct mapping_set *set, const struct mapping_set *kept);

/* Returns the mapping that has an address, or NULL. `hint` is the index at which the search begins;
 * it becomes the index of the result. */
struct mapping *mapping_set_find(const struct mapping_set *set, uint64_t address, uint32_t *hint);

#endif
