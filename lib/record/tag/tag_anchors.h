/* SPDX-License-Identifier: MIT */
/* Anchors: tags at which the search may end on its way up from a leaf, because their own paths are
 * searched separately (tag_batch.c). They are in a small hash table with a filter in front. */
#ifndef TAG_TAG_ANCHORS_H
#define TAG_TAG_ANCHORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"

#define TAG_ANCHORS_WORDS 1024 /* words of the filter */
#define TAG_ANCHORS_NONE  UINT32_MAX

struct tag_anchors {
	const uint64_t *tags; /* borrowed; NULL: the table is empty */
	struct hash_index index;
	uint64_t filter[TAG_ANCHORS_WORDS];
};

/* Replaces the table by `n` tags, which are borrowed. Returns 0 or -ENOMEM. */
int tag_anchors_set(struct tag_anchors *anchors, const uint64_t *tags, uint32_t n);
void tag_anchors_release(struct tag_anchors *anchors);

/* Returns the index of a tag in the table; TAG_ANCHORS_NONE: the table lacks it. */
uint32_t tag_anchors_find(const struct tag_anchors *anchors, uint64_t tag);

/* Returns false if the table certainly lacks the tag; true: tag_anchors_find() must look it up. */
static inline bool tag_anchors_may_have(const struct tag_anchors *anchors, uint64_t tag)
{
	return anchors->filter[tag >> 6 & (TAG_ANCHORS_WORDS - 1)] >> (tag & 63) & 1;
}

#endif
