/* SPDX-License-Identifier: MIT */
/* Inferred frames, each linked to its caller. */
#include <errno.h>

#include "align/align_state.h"

int links_add(struct align *a, const struct align_frame *frame)
{
	if (VEC_RESERVE(&a->links, 1) < 0 || union_find_add(&a->chains) < 0)
		return -ENOMEM;
	a->links.items[a->links.count++] =
		(struct align_link){.frame = *frame, .caller = ALIGN_NONE};
	return 0;
}

void links_join(struct align *a, uint32_t callee, uint32_t caller)
{
	struct align_link *link = &a->links.items[callee];
	const struct align_link *to = &a->links.items[caller];

	if (!union_find_join(&a->chains, callee, caller, 1))
		return;
	link->caller = caller;
	link->n_callers = to->n_callers + 1;
	link->is_complete = to->is_complete;
}
