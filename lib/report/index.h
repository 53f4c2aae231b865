/* SPDX-License-Identifier: MIT */
/*
 * A map from 64-bit keys to small numbers: what the model finds its dense arrays' entries by.
 *
 * Open addressing over one plain array, at most two thirds full: a probe is one cache miss, and a
 * million keys cost 32 MB. uthash would take a malloc() and some 80 bytes for each.
 */
#ifndef REPORT_INDEX_H
#define REPORT_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct index_slot {
	uint64_t key;
	uint32_t value; /* INDEX_NONE marks a free slot */
};

struct index {
	struct index_slot *table;
	size_t slots; /* a power of two, or 0 */
	size_t used;
};

#define INDEX_NONE UINT32_MAX

/* A zeroed struct index is an empty map. */
void index_free(struct index *index);
void index_clear(struct index *index); /* empties and keeps the memory */

/* The value of a key; INDEX_NONE if it has none. */
uint32_t index_find(const struct index *index, uint64_t key);

/* The value of a key, or `value` after entering it under the key. 0 or -ENOMEM. */
int index_enter(struct index *index, uint64_t key, uint32_t value, uint32_t *ret_value);

/* Gives a key a value, whether it had one or not. 0 or -ENOMEM. */
int index_set(struct index *index, uint64_t key, uint32_t value);

#endif
