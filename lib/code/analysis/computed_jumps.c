/* SPDX-License-Identifier: MIT */
/* Keeps two lists for each function and register; see computed_jumps.h. */
#include "analysis/computed_jumps.h"

#include <errno.h>
#include <string.h>

enum kind { LABEL, JUMP };

void computed_jumps_fini(struct computed_jumps *l)
{
	int_map_fini(&l->known);
	int_map_fini(&l->groups);
	free(l->items.items);
	free(l->entries.items);
	memset(l, 0, sizeof(*l));
}

static int find_group(struct computed_jumps *l, uint32_t function, unsigned reg,
		      struct computed_jumps_group **ret_group)
{
	uint64_t key = (uint64_t)function << 5 | reg;
	uint32_t number = int_map_find(&l->groups, key);

	if (number == INT_MAP_NONE) {
		number = (uint32_t)l->items.count;
		if (VEC_RESERVE(&l->items, 1) || int_map_set(&l->groups, key, number))
			return -ENOMEM;
		l->items.items[l->items.count++] = (struct computed_jumps_group){0};
	}
	*ret_group = &l->items.items[number];
	return 0;
}

static uint64_t key_of(uint64_t group, enum kind kind, uint32_t what)
{
	return group << 33 | (uint64_t)kind << 32 | what;
}

/* Returns whether one more label or jump of a group is allowed, and subtracts its pairs from the
 * room. An interpreter has some thousand labels in one function; hostile code could have as many in
 * each function. */
static bool take_room(struct computed_jumps *l, const struct computed_jumps_group *g,
		      enum kind kind)
{
	uint32_t cost = 1 + (kind == JUMP ? g->labels : g->jumps);

	if ((g->labels + 1) * (g->jumps + 1) <= COMPUTED_JUMPS_FREE_PAIRS)
		return true;
	if (cost > l->room)
		return false;
	l->room -= cost;
	return true;
}

/* Adds a label or a jump to a group. Returns 1; 0: it is in the group already, or there are too
 * many; or -ENOMEM. */
static int enter(struct computed_jumps *l, struct computed_jumps_group *g, enum kind kind,
		 uint32_t what, const struct work_item *work)
{
	uint32_t *first = kind == JUMP ? &g->first_jump : &g->first_label;
	uint64_t key = key_of((uint64_t)(g - l->items.items), kind, what);

	if (int_map_find(&l->known, key) != INT_MAP_NONE || !take_room(l, g, kind))
		return 0;
	if (VEC_RESERVE(&l->entries, 1) || int_map_set(&l->known, key, 1))
		return -ENOMEM;
	l->entries.items[l->entries.count] = (struct computed_jumps_entry){*work, *first};
	*first = (uint32_t)++l->entries.count;
	g->labels += kind == LABEL;
	g->jumps += kind == JUMP;
	return 1;
}

/* Adds a path from a jump to a label. */
static int push(struct computed_jumps *l, const struct work_item *jump,
		const struct work_item *label)
{
	struct work_item w = *jump;
	bool is_own = label->owner == COMPUTED_JUMPS_OWN;

	w.at = label->at;
	w.owner = is_own ? jump->owner : label->owner;
	w.hints = HINT_POOL_NONE;
	return worklist_push(is_own ? l->strong : l->late, &w);
}

int computed_jumps_add(struct computed_jumps *l, uint32_t function, unsigned reg, uint32_t at,
		       uint32_t owner)
{
	const struct work_item label = {.at = at, .owner = owner};
	struct computed_jumps_group *g;
	int err = find_group(l, function, reg, &g);

	if (!err)
		err = enter(l, g, LABEL, at, &label);
	if (err <= 0)
		return err;
	err = 0;
	for (uint32_t n = g->first_jump; n && !err; n = l->entries.items[n - 1].next)
		err = push(l, &l->entries.items[n - 1].work, &label);
	return err;
}

bool computed_jumps_has(const struct computed_jumps *l, uint32_t function, unsigned reg,
			uint32_t at)
{
	uint32_t group = int_map_find(&l->groups, (uint64_t)function << 5 | reg);

	return group != INT_MAP_NONE &&
	       int_map_find(&l->known, key_of(group, LABEL, at)) != INT_MAP_NONE;
}

bool computed_jumps_has_jump(const struct computed_jumps *l, uint32_t function, unsigned reg)
{
	uint32_t group = int_map_find(&l->groups, (uint64_t)function << 5 | reg);

	return group != INT_MAP_NONE && l->items.items[group].first_jump;
}

int computed_jumps_jump(struct computed_jumps *l, uint32_t function, unsigned reg,
			const struct work_item *jump)
{
	struct computed_jumps_group *g;
	int err = find_group(l, function, reg, &g);

	if (!err)
		err = enter(l, g, JUMP, jump->state, jump);
	if (err <= 0)
		return err;
	err = 0;
	for (uint32_t n = g->first_label; n && !err; n = l->entries.items[n - 1].next)
		err = push(l, jump, &l->entries.items[n - 1].work);
	return err;
}
