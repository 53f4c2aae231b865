/* SPDX-License-Identifier: MIT */
/*
 * What was seen when: for each routine at a height, its sightings with a known caller, in order of
 * time. The order of time is that of ranks: samples are numbered by it.
 *
 * A sighting says by itself who the caller was: to look at the frames would be a walk through
 * memory for each.
 */
#ifndef ALIGN_HISTORY_H
#define ALIGN_HISTORY_H

#include <stdbool.h>

#include "base/int_map.h"
#include "base/vec.h"

struct history_sighting {
	uint32_t when;		     /* of its sample: rank * HISTORY_RANK, and HISTORY_... */
	uint32_t id, symbol, height; /* the caller's; 0 for an entry */
};

#define HISTORY_ENTRY 1u /* the frame is the thread's entry: there is no caller */
#define HISTORY_CALL  2u /* it is known how far the frame is from its caller's */
#define HISTORY_RANK  4u

struct history_key {
	uint32_t symbol, height;
	uint32_t first, count; /* sightings */
	uint32_t cursor;       /* where the last look-up ended */
	uint32_t changes;      /* how often the caller was another than the one before */
	/* Sightings between two with one caller; and of these, those that had another. */
	uint32_t between, odd;
	uint32_t program;
	uint32_t census; /* the key in the census */
	uint32_t alike;	 /* the next other stack's of this routine and height; HISTORY_NONE */
	uint32_t base;	 /* the sample of a rank has the place base + rank in the order */
};

/* Zeroed is empty. */
struct history {
	struct int_map keys; /* (stack, symbol, height) -> number */
	VEC(struct history_key) by_key;
	VEC(struct history_sighting) sightings; /* by key, from history_ready() on */
};

#define HISTORY_NONE UINT32_MAX

void history_fini(struct history *h);
void history_clear(struct history *h); /* keeps its memory */

/* Counts, then places: history_note() for every frame, history_ready(), then history_place() for
 * those that `has_caller`, in order of rank. Each 0 or -ENOMEM, or void. */
int history_note(struct history *h, uint32_t stack, uint32_t symbol, uint32_t height,
		 bool has_caller, uint32_t *ret_key);
int history_ready(struct history *h);
uint32_t history_key(const struct history *h, uint32_t stack, uint32_t symbol, uint32_t height);
void history_place(struct history *h, uint32_t key, const struct history_sighting *sighting);

static inline uint32_t history_rank(const struct history_sighting *s)
{
	return s->when / HISTORY_RANK;
}

/* Whether two sightings of one key have the same caller. */
static inline bool history_same(const struct history_sighting *x, const struct history_sighting *y)
{
	return x->id == y->id && x->height == y->height &&
	       ((x->when ^ y->when) & HISTORY_ENTRY) == 0;
}

/* Has the processor fetch what a look-up of a key will need: the key; then, once that is there,
 * where the look-up goes on, which is returned. */
static inline void history_foresee_key(const struct history *h, uint32_t key)
{
	__builtin_prefetch(&h->by_key.items[key]);
}

static inline uint32_t history_foresee_sighting(const struct history *h, uint32_t key)
{
	uint32_t cursor = h->by_key.items[key].cursor;

	__builtin_prefetch(&h->sightings.items[cursor]);
	return cursor;
}

/* A key's neighbours of a rank: the last sighting of a lower one and the first of a higher one, and
 * how far away in ranks they are; HISTORY_NONE: there is none. Ranks that only rise make it quick:
 * it goes on from where the key's last look-up ended. */
struct history_place {
	uint32_t at; /* where the first sighting of a rank at least as high stands, or would */
	uint32_t before, after;
	uint32_t gap_before, gap_after;
};
struct history_place history_find(const struct history *h, uint32_t key, uint32_t rank);

#endif
