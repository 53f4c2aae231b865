/* SPDX-License-Identifier: MIT */
/* Links functions; see entered.h. */
#include "analysis/entered.h"

/* limit of the functions in a row that each jump to the next; chosen by hand */
#define MAX_ROUNDS 16

void entered_fini(struct entered *e)
{
	free(e->functions.items);
	free(e->links.items);
	memset(e, 0, sizeof(*e));
}

/* Makes room for the flags of all functions up to this one. */
static int reach(struct entered *e, uint32_t function)
{
	size_t count = e->functions.count;

	if (function < count)
		return 0;
	if (VEC_RESERVE(&e->functions, function + 1 - count))
		return -ENOMEM;
	memset(e->functions.items + count, 0, e->functions.cap - count);
	e->functions.count = e->functions.cap;
	return 0;
}

int entered_set(struct entered *e, uint32_t function, enum entered_note note)
{
	if (reach(e, function))
		return -ENOMEM;
	e->functions.items[function] |= (uint8_t)note;
	return 0;
}

int entered_follow(struct entered *e, uint32_t function, uint32_t other)
{
	if (function == other || entered_is(e, function))
		return 0;
	if (entered_is(e, other))
		return entered_set(e, function, ENTERED_BY_CALLS);
	if (VEC_RESERVE(&e->links, 1) || reach(e, function > other ? function : other))
		return -ENOMEM;
	e->links.items[e->links.count++] = (struct entered_link){other, function};
	return 0;
}

int entered_pass(struct entered *e, uint32_t function, uint32_t other)
{
	int err = entered_follow(e, function, other);

	return err ? err : entered_follow(e, other, function);
}

void entered_settle(struct entered *e)
{
	bool has_new = true;

	for (size_t i = 0; i < e->functions.count; i++) {
		if ((e->functions.items[i] & (ENTERED_FRAME | ENTERED_JUMPS_AWAY)) == ENTERED_FRAME)
			e->functions.items[i] |= ENTERED_BY_CALLS;
	}
	for (int round = 0; round < MAX_ROUNDS && has_new; round++) {
		has_new = false;
		for (size_t i = 0; i < e->links.count; i++) {
			const struct entered_link l = e->links.items[i];

			if (entered_is(e, l.to) || !entered_is(e, l.from))
				continue;
			e->functions.items[l.to] |= ENTERED_BY_CALLS;
			has_new = true;
		}
	}
}
