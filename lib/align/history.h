/* SPDX-License-Identifier: MIT */
/*
 * What was seen when: for each routine at a height, the frames that had a known caller, in order
 * of time. The order of time is that of ranks: samples are numbered by it.
 */
#ifndef ALIGN_HISTORY_H
#define ALIGN_HISTORY_H

#include "align/triples.h"

/* Zeroed is empty. */
struct history {
	struct triples keys; /* (stack, symbol, height) */
	uint32_t *first;     /* n + 1: the frames of key i are frames[first[i] .. first[i + 1]) */
	uint32_t *frames;    /* numbers of frames */
	uint32_t *ranks;     /* of their samples: ascending within a key */
	uint32_t *cursors;   /* by key: where the last look-up ended */
};

#define HISTORY_NONE UINT32_MAX

void history_fini(struct history *h);

/* Counts, then places: history_count() for every frame with a caller, history_ready(), then
 * history_place() for the same in order of rank. Each 0 or -ENOMEM, or void. */
struct history_maker {
	VEC(uint32_t) counts; /* by key; then where the next one goes */
};
int history_count(struct history *h, struct history_maker *m, uint32_t key);
int history_ready(struct history *h, struct history_maker *m);
void history_place(struct history *h, struct history_maker *m, uint32_t key, uint32_t frame,
		   uint32_t rank);
void history_maker_fini(struct history_maker *m);

/* A key's neighbours of a rank: the last frame of a lower one and the first of a higher one, and
 * how far away in ranks they are; HISTORY_NONE: there is none. Ranks that only rise make it quick:
 * it goes on from where the key's last look-up ended. */
struct history_place {
	uint32_t at; /* where the first frame of a rank at least as high stands, or would */
	uint32_t before, after;
	uint32_t gap_before, gap_after;
};
struct history_place history_find(const struct history *h, uint32_t key, uint32_t rank);

#endif
