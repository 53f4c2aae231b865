/* SPDX-License-Identifier: MIT */
/* Pauses by process; see pauses.h. */
#include "daemon/recorder/pauses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pauses_fini(struct pauses *p)
{
	free(p->items.items);
	int_map_fini(&p->by_pid);
	memset(p, 0, sizeof(*p));
}

int pauses_are_over(struct pauses *p, pid_t pid, uint64_t time_ns, bool is_urgent)
{
	const struct pause *pause;
	uint32_t index;

	if (VEC_RESERVE(&p->items, 1) ||
	    int_map_enter(&p->by_pid, (uint64_t)pid, (uint32_t)p->items.count, &index))
		return -ENOMEM;
	if (index == p->items.count)
		p->items.items[p->items.count++] = (struct pause){.ns = PAUSES_FIRST_NS};
	pause = &p->items.items[index];
	if (is_urgent && pause->last_ns)
		return time_ns >= pause->last_ns + PAUSES_FIRST_NS;
	return time_ns >= pause->until_ns;
}

void pauses_begin(struct pauses *p, pid_t pid, uint64_t time_ns, bool has_found)
{
	uint32_t index = int_map_find(&p->by_pid, (uint64_t)pid);
	struct pause *pause = &p->items.items[index];

	if (has_found) {
		*pause = (struct pause){.ns = PAUSES_FIRST_NS};
		return;
	}
	pause->last_ns = time_ns;
	pause->until_ns = time_ns + pause->ns;
	pause->ns = 2 * pause->ns < PAUSES_LAST_NS ? 2 * pause->ns : PAUSES_LAST_NS;
}
