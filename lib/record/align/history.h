/* SPDX-License-Identifier: MIT */
/*
 * The history of frames. A key is a function at a height (bytes from the stack's end) in one stack.
 * An observation of a key is a sample that has such a frame with a known caller; a key's
 * observations are in order of time. Time is counted in ranks: the samples of a stack are numbered
 * in order of time.
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
	/* rank of the sample * HISTORY_RANK, plus HISTORY_ENTRY, ... */
	uint32_t rank_flags;
	uint32_t id, symbol, height; /* the caller's frame; all 0 if HISTORY_ENTRY */
};

#define HISTORY_ENTRY 1u /* The frame is the thread's entry, so it has no caller. */
/* The distance in bytes from the caller's frame to the callee's is known from the two heights. */
#define HISTORY_HAS_DISTANCE 2u
#define HISTORY_RANK	     4u

struct history_key {
	uint32_t symbol, height;
	uint32_t first, count; /* its observations: index of the first one, and how many */
	uint32_t cursor;       /* index of the observation where the last history_find() ended */
	/* observations whose caller differs from that of the previous observation */
	uint32_t n_changes;
	/* n_enclosed: observations whose two neighbours have the same caller as each other;
	 * n_exceptions: how many of these observations have another caller than their neighbours */
	uint32_t n_enclosed, n_exceptions;
	uint32_t program;
	uint32_t majority; /* index of the key's entry in `majority` of struct align */
	/* next key with this function and height, in another stack of the program; HISTORY_NONE
	 * ends the list */
	uint32_t next_stack;
	uint32_t base; /* The sample of a rank is at order[base + rank]. */
};

/* A zeroed struct is empty. */
struct history {
	struct int_map numbers; /* (stack, symbol, height) -> index */
	VEC(struct history_key) keys;
	/* sorted by key, once history_allocate() has run */
	VEC(struct history_observation) observations;
};

#define HISTORY_NONE UINT32_MAX

/* Frees all keys and leaves an empty struct. */
void history_fini(struct history *history);

/* Removes all keys and keeps the memory. */
void history_clear(struct history *history);

/* First step: adds the key of a frame if it is new, and counts an observation if the frame's caller
 * is known. `ret_key` receives the key's index. Returns 0 or -ENOMEM. */
int history_count(struct history *history, uint32_t stack, uint32_t symbol, uint32_t height,
		  bool has_caller, uint32_t *ret_key);

/* Second step: makes room for the observations that were counted. Returns 0 or -ENOMEM. */
int history_allocate(struct history *history);

/* Third step: stores an observation of a key. The caller stores those of one key in order of rank.
 */
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

/* Prefetches the observations of a key where its next look-up will begin; the key itself should be
 * in the cache. Returns the index of the first of them. */
static inline uint32_t history_prefetch_observation(const struct history *h, uint32_t key)
{
	uint32_t cursor = h->keys.items[key].cursor;

	__builtin_prefetch(&h->observations.items[cursor]);
	return cursor;
}

/* The observations of a key next to a rank. */
struct history_neighbours {
	/* index of the first observation of at least this rank; the end of the key's observations
	 * if there is none */
	uint32_t position;
	uint32_t before; /* the last observation of a lower rank, or HISTORY_NONE */
	uint32_t after;	 /* the first observation of a higher rank, or HISTORY_NONE */
	uint32_t distance_before, distance_after; /* in ranks; UINT32_MAX: there is none */
};

/* Returns the observations of a key next to a rank. The search begins where the key's last one
 * ended, so look-ups in order of rank are fast. */
struct history_neighbours history_find(const struct history *history, uint32_t key, uint32_t rank);

#endif
