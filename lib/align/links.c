/* SPDX-License-Identifier: MIT */
/* Frames that are lent, each hanging on the one with its caller. */
#include <errno.h>

#include "align/parts.h"

int links_add(struct align *a, const struct align_frame *frame, uint32_t confidence)
{
	if (VEC_RESERVE(&a->links, 1) < 0 || offsets_add(&a->levels) < 0)
		return -ENOMEM;
	a->links.items[a->links.count++] = (struct align_link){
		.frame = *frame,
		.below = ALIGN_NONE,
		.confidence = confidence,
		.path = confidence,
	};
	return 0;
}

void links_join(struct align *a, uint32_t above, uint32_t below)
{
	struct align_link *link = &a->links.items[above];
	const struct align_link *under = &a->links.items[below];

	if (!offsets_join(&a->levels, above, below, 1))
		return;
	link->below = below;
	link->level = under->level + 1;
	link->is_whole = under->is_whole;
	if (under->path < link->path)
		link->path = under->path;
}
