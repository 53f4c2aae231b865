/* SPDX-License-Identifier: MIT */
/* The table of anchors; see tag_anchors.h. */
#include "tag/tag_anchors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

int tag_anchors_set(struct tag_anchors *anchors, const uint64_t *tags, uint32_t n)
{
	struct hash_index index = {.mask = HASH_INDEX_FIRST - 1};

	while (n > index.mask / 2)
		index.mask = index.mask * 2 + 1;
	index.slot = calloc(index.mask + 1, sizeof(*index.slot));
	if (!index.slot)
		return -ENOMEM;
	memset(anchors->filter, 0, sizeof(anchors->filter));
	for (uint32_t i = 0; i < n; i++) {
		uint64_t bit = UINT64_C(1) << (tags[i] & 63);

		hash_index_put(&index, hash_mix64(tags[i]), i);
		anchors->filter[tags[i] >> 6 & (TAG_ANCHORS_WORDS - 1)] |= bit;
	}
	free(anchors->index.slot);
	anchors->index = index;
	anchors->tags = n ? tags : NULL;
	return 0;
}

void tag_anchors_release(struct tag_anchors *anchors)
{
	free(anchors->index.slot);
	memset(anchors, 0, sizeof(*anchors));
}

uint32_t tag_anchors_find(const struct tag_anchors *anchors, uint64_t tag)
{
	const struct hash_index *index = &anchors->index;

	if (!anchors->tags || !tag_anchors_may_have(anchors, tag))
		return TAG_ANCHORS_NONE;
	for (size_t at = hash_mix64(tag) & index->mask; index->slot[at];
	     at = (at + 1) & index->mask)
		if (anchors->tags[index->slot[at] - 1] == tag)
			return index->slot[at] - 1;
	return TAG_ANCHORS_NONE;
}
