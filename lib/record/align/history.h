/* SPDX-License-Identifier: MIT */
/*
 * The history of frames: for each function at a height, its observations with a known caller, in
 * order of time. Time is counted in ranks: the samples of a stack are numbered by it.
 *
 * An observation holds the caller itself, because reading it from the sample's frames would cost a
 * cache miss each.
 */
#ifndef ALIGN_HISTORY_H
#define ALIGN_HISTORY_H

#include <stdbool.h>

#include "base/int_map.h"
#include "base/vec.h"

struct history_observation {
	uint32_t rank_flags;	     /* the sample's rank * HISTORY_RANK, and flags */
	uint32_t id, symbol, height; /* the caller's frame; 0 for an entry */
};

#define HISTORY_ENTRY	     1u /* The frame is the thread's entry, so it has no caller. */
#define HISTORY_HAS_DISTANCE 2u /* The distance from the caller's height is known. */
#define HISTORY_RANK	     4u

struct history_key {
	uint32_t symbol, height;
	uint32_t first, count; /* its observations */
	uint32_t cursor;       /* where the last look-up ended */
	uint32_t n_changes;    /* observations whose caller differs from the one before */
	/* Observations between two that have one caller, and those of them that have another. */
	uint32_t n_enclosed, n_exceptions;
	uint32_t program;
	uint32_t majority;   /* index of its key there */
	uint32_t next_stack; /* the same function and height in another stack; HISTORY_NONE */
	uint32_t base;	     /* The sample of a rank is at order[base + rank]. */
};

/* A zeroed struct is empty. */
struct history {
	struct int_map numbers; /* (stack, symbol, height) -> index */
	VEC(struct history_key) keys;
	VEC(struct history_observation) observations; /* by key, from history_allocate() on */
};

#define HISTORY_NONE UINT32_MAX

/* Frees all keys and leaves an empty struct. */
void history_fini(struct history *history);

/* Removes all keys and keeps the memory. */
void history_clear(struct history *history);

/* First step: enters the key of a frame, and counts an observation if the frame has a known caller.
 * `ret_key` receives the key's index. Returns 0 or -ENOMEM. */
int history_count(struct history *history, uint32_t stack, uint32_t symbol, uint32_t height,
		  bool has_caller, uint32_t *ret_key);

/* Second step: makes room for the observations that were counted. Returns 0 or -ENOMEM. */
int history_allocate(struct history *history);

/* Third step: stores an observation of a key; those of one key come in order of rank. */
void history_store(struct history *history, uint32_t key,
		   const struct history_observation *observation);

/* Returns the index of a key; HISTORY_NONE if the stack has no such frame. */
uint32_t history_key(const struct history *history, uint32_t stack, uint32_t symbol,
		     uint32_t height);

/* Returns the rank of an observation's sample. */
static inline uint32_t history_rank(const struct history_observation *o)
{
	return o->rank_flags / HISTORY_RANK;
}

/* Returns whether two observations of one key have the same caller. */
static inline bool history_is_same(const struct history_observation *x,
				   const struct history_observation *y)
{
	return x->id == y->id && x->height == y->height &&
	       ((x->rank_flags ^ y->rank_flags) & HISTORY_ENTRY) == 0;
}

/* Prefetches a key for a look-up. */
static inline void history_prefetch_key(const struct history *h, uint32_t key)
{
	__builtin_prefetch(&h->keys.items[key]);
}

/* Prefetches the observations where a look-up of a key will begin, once the key itself is in the
 * cache. Returns their index. */
static inline uint32_t history_prefetch_observation(const struct history *h, uint32_t key)
{
	uint32_t cursor = h->keys.items[key].cursor;

	__builtin_prefetch(&h->observations.items[cursor]);
	return cursor;
}

/* The observations of a key next to a rank. */
struct history_neighbours {
	uint32_t position; /* of the first observation whose rank is not lower, or the end */
	uint32_t before;   /* the last observation of a lower rank; HISTORY_NONE */
	uint32_t after;	   /* the first observation of a higher rank; HISTORY_NONE */
	uint32_t distance_before, distance_after; /* in ranks; UINT32_MAX: there is none */
};

/* Returns the neighbours of a rank. The search begins where the key's last one ended, so a sequence
 * of rising ranks is fast. */
struct history_neighbours history_find(const struct history *history, uint32_t key, uint32_t rank);

#endif
