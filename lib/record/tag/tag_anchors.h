/* SPDX-License-Identifier: MIT */
/* Tags that a search may reach on its way up: a small table with a filter before it. */
#ifndef TAG_TAG_ANCHORS_H
#define TAG_TAG_ANCHORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"

#define TAG_ANCHORS_WORDS 1024 /* of the filter */
#define TAG_ANCHORS_NONE  UINT32_MAX

struct tag_anchors {
	const uint64_t *tags; /* borrowed; NULL: there are none */
	struct hash_index index;
	uint64_t filter[TAG_ANCHORS_WORDS];
};

/* Replaces the table by `n` tags, which are borrowed. Returns 0 or -ENOMEM. */
int tag_anchors_set(struct tag_anchors *anchors, const uint64_t *tags, uint32_t n);
void tag_anchors_release(struct tag_anchors *anchors);

/* Returns the number of a tag in the table; TAG_ANCHORS_NONE: it is not there. */
uint32_t tag_anchors_find(const struct tag_anchors *anchors, uint64_t tag);

/* Returns false if the table does not have the tag. True: tag_anchors_find() has to look. */
static inline bool tag_anchors_may_have(const struct tag_anchors *anchors, uint64_t tag)
{
	return anchors->filter[tag >> 6 & (TAG_ANCHORS_WORDS - 1)] >> (tag & 63) & 1;
}

#endif
