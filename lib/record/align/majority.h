/* SPDX-License-Identifier: MIT */
/*
 * The caller that most observations of a function at a height have, over all stacks of a program:
 * threads of one pool, and runs of one compiler, make the same calls at the same heights.
 *
 * Two passes find it: the first elects the only caller that can have more than half of the
 * observations (Boyer and Moore, "MJRTY", 1981), and the second counts the observations that it
 * has.
 */
#ifndef ALIGN_MAJORITY_H
#define ALIGN_MAJORITY_H

#include <stdbool.h>

#include "base/int_map.h"
#include "base/vec.h"

struct majority_caller {
	uint32_t id, symbol, height;
};

struct majority_key {
	/* the elected caller: the only one that can have a majority */
	struct majority_caller caller;
	/* votes for `caller` minus votes for other callers since `caller` was elected */
	uint32_t lead;
	uint32_t count, total; /* observations with `caller`, and all observations */
	/* the newest history key with this function and height (collect.c sets it); INT_MAP_NONE if
	 * none */
	uint32_t newest;
};

/* A zeroed struct is empty. */
struct majority {
	struct int_map numbers; /* (program, symbol, height) -> index */
	VEC(struct majority_key) keys;
};

/* Frees all keys and leaves an empty struct. */
void majority_fini(struct majority *majority);

/* Removes all keys and keeps the memory. */
void majority_clear(struct majority *majority);

/* Finds or adds the key of a function at a height in a program; `ret_key` receives its index. With
 * `is_unique`, the caller promises that it adds each key only once and never looks one up, so no
 * map is needed. Returns 0 or -ENOMEM. */
int majority_enter(struct majority *majority, uint32_t program, uint32_t symbol, uint32_t height,
		   bool is_unique, uint32_t *ret_key);

/* Returns the `newest` of a key; INT_MAP_NONE if there is no such key. */
uint32_t majority_newest(const struct majority *majority, uint32_t program, uint32_t symbol,
			 uint32_t height);

/* The first pass: `n` observations of a key have this caller. */
void majority_vote(struct majority *majority, uint32_t key, const struct majority_caller *caller,
		   uint32_t n);

/* Second pass, after all votes: counts `n` observations of a key, which have this caller. */
void majority_count(struct majority *majority, uint32_t key, const struct majority_caller *caller,
		    uint32_t n);

#endif
