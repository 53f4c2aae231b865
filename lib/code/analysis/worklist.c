/* SPDX-License-Identifier: MIT */
/* Keeps lists of paths; see worklist.h. */
#include "analysis/worklist.h"

#define MAX_HINTS 16384 /* limit of the hints of paths that wait at the same time: 7 MB */

int worklist_push(struct worklist *list, const struct work_item *work)
{
	if (VEC_RESERVE(list, 1))
		return -ENOMEM;
	list->items[list->count++] = *work;
	return 0;
}

/* Returns whether a register still has a hint; has_any only says that one has had one. Calls remove
 * most hints, and a path that waits for a call to return may keep its hints forever. */
static bool has_hint(const struct jump_hints *hints)
{
	for (unsigned r = 0; r < 16 && hints->has_any; r++) {
		if (hints->reg[r].kind)
			return true;
	}
	return false;
}

uint32_t hint_pool_keep(struct hint_pool *p, const struct jump_hints *hints)
{
	uint32_t number;

	if (!has_hint(hints))
		return HINT_POOL_NONE;
	if (p->free.count) {
		number = p->free.items[--p->free.count];
	} else {
		if (p->items.count >= MAX_HINTS || VEC_RESERVE(&p->items, 1) ||
		    VEC_RESERVE(&p->free, p->items.count + 1))
			return HINT_POOL_NONE;
		number = (uint32_t)p->items.count++;
	}
	p->items.items[number] = *hints;
	return number;
}

void hint_pool_take(struct hint_pool *p, uint32_t number, struct jump_hints *ret_hints)
{
	if (number == HINT_POOL_NONE) {
		jump_hints_init(ret_hints);
		return;
	}
	*ret_hints = p->items.items[number];
	p->free.items[p->free.count++] = number;
}

void hint_pool_fini(struct hint_pool *p)
{
	free(p->items.items);
	free(p->free.items);
	*p = (struct hint_pool){0};
}
