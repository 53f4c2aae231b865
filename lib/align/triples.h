/* SPDX-License-Identifier: MIT */
/* Triples of numbers to dense numbers, in order of first appearance. */
#ifndef ALIGN_TRIPLES_H
#define ALIGN_TRIPLES_H

#include "base/vec.h"
#include "stack/slots.h"

#define TRIPLES_NONE UINT32_MAX

struct triple {
	uint32_t a, b, c;
};

/* Zeroed is empty. */
struct triples {
	VEC(struct triple) items;
	struct slots index;
};

void triples_fini(struct triples *t);

/* Empties it, and keeps its memory. */
void triples_clear(struct triples *t);

/* The number of a triple, entered if it is new. 0 or -ENOMEM. */
int triples_intern(struct triples *t, uint32_t a, uint32_t b, uint32_t c, uint32_t *ret_number);

/* The number of a triple; TRIPLES_NONE if it has none. */
uint32_t triples_find(const struct triples *t, uint32_t a, uint32_t b, uint32_t c);

#endif
