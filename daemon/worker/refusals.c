/* SPDX-License-Identifier: MIT */
/* Keeps an array without order: there are few refusals, and a look at them is short beside a call
 * of a worker. See refusals.h. */
#include "daemon/worker/refusals.h"

#include <stdlib.h>

static struct refusal *find(const struct refusals *r, uint64_t key)
{
	for (size_t i = 0; i < r->all.count; i++)
		if (r->all.items[i].key == key)
			return &r->all.items[i];
	return NULL;
}

/* Returns when nothing of a refusal matters any more. */
static uint64_t end_of(const struct refusal *one)
{
	uint64_t killed = one->killed_ns ? one->killed_ns + REFUSALS_KILL_NS : 0;

	return killed > one->until_ns ? killed : one->until_ns;
}

static struct refusal *first_to_end(const struct refusals *r)
{
	struct refusal *first = &r->all.items[0];

	for (size_t i = 1; i < r->all.count; i++)
		if (end_of(&r->all.items[i]) < end_of(first))
			first = &r->all.items[i];
	return first;
}

/* Returns the row of a file, which it adds if need be. NULL: memory is short. *ret_is_lost: another
 * row that still mattered has made room. */
static struct refusal *row_of(struct refusals *r, uint64_t key, uint64_t now_ns, bool *ret_is_lost)
{
	struct refusal *row = find(r, key);

	*ret_is_lost = false;
	if (row)
		return row;
	if (r->all.count == REFUSALS_MOST) {
		row = first_to_end(r);
		*ret_is_lost = end_of(row) > now_ns;
	} else if (!VEC_RESERVE(&r->all, 1)) {
		row = &r->all.items[r->all.count++];
	} else {
		return NULL;
	}
	*row = (struct refusal){.key = key};
	return row;
}

bool refusals_has(const struct refusals *r, uint64_t key, uint64_t now_ns)
{
	const struct refusal *row = find(r, key);

	return row && now_ns < row->until_ns;
}

bool refusals_add(struct refusals *r, uint64_t key, uint64_t first_ns, uint64_t now_ns)
{
	bool is_lost;
	struct refusal *row = row_of(r, key, now_ns, &is_lost);

	if (!row)
		return false;
	if (now_ns > row->until_ns + row->lasts_ns)
		row->lasts_ns = 0; /* it was read well for as long as it had been refused */
	row->lasts_ns = row->lasts_ns ? 2 * row->lasts_ns : first_ns;
	if (row->lasts_ns > REFUSALS_LONGEST_NS)
		row->lasts_ns = REFUSALS_LONGEST_NS;
	row->until_ns = now_ns + row->lasts_ns;
	return !is_lost;
}

bool refusals_killed(struct refusals *r, uint64_t key, uint64_t now_ns)
{
	bool is_lost, is_second;
	struct refusal *row = row_of(r, key, now_ns, &is_lost);

	if (!row)
		return true;
	is_second = row->killed_ns && now_ns - row->killed_ns < REFUSALS_KILL_NS;
	row->killed_ns = now_ns;
	return is_second;
}

void refusals_fini(struct refusals *r)
{
	free(r->all.items);
	*r = (struct refusals){0};
}
