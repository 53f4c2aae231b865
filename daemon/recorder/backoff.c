/* SPDX-License-Identifier: MIT */
/* Keeps the pauses of processes; see backoff.h. */
#include "daemon/recorder/backoff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void backoff_fini(struct backoff *p)
{
	free(p->items.items);
	int_map_fini(&p->by_pid);
	memset(p, 0, sizeof(*p));
}

int backoff_are_over(struct backoff *p, pid_t pid, uint64_t time_ns, bool is_urgent)
{
	const struct pause *pause;
	uint32_t index;

	if (VEC_RESERVE(&p->items, 1) ||
	    int_map_enter(&p->by_pid, (uint64_t)pid, (uint32_t)p->items.count, &index))
		return -ENOMEM;
	if (index == p->items.count)
		p->items.items[p->items.count++] = (struct pause){.ns = BACKOFF_FIRST_NS};
	pause = &p->items.items[index];
	if (is_urgent && pause->last_ns)
		return time_ns >= pause->last_ns + BACKOFF_FIRST_NS;
	return time_ns >= pause->until_ns;
}

void backoff_begin(struct backoff *p, pid_t pid, uint64_t time_ns, bool has_found)
{
	uint32_t index = int_map_find(&p->by_pid, (uint64_t)pid);
	struct pause *pause = &p->items.items[index];

	if (has_found) {
		*pause = (struct pause){.ns = BACKOFF_FIRST_NS};
		return;
	}
	pause->last_ns = time_ns;
	pause->until_ns = time_ns + pause->ns;
	pause->ns = 2 * pause->ns < BACKOFF_LAST_NS ? 2 * pause->ns : BACKOFF_LAST_NS;
}
