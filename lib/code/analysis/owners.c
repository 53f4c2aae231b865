/* SPDX-License-Identifier: MIT */
/* Keeps lists of owners and doubts; see owners.h. */
#include "analysis/owners.h"

/* limit of the functions in a row that each end in the next; chosen by hand */
#define MAX_LEANS 8

void owners_fini(struct owners *o)
{
	free(o->items.items);
	free(o->doubts.items);
	free(o->leans.items);
	memset(o, 0, sizeof(*o));
}

/* Finds the owner that represents another, and halves the path to it, so that the next search is
 * short. */
static struct owner *root_of(const struct owners *o, uint32_t owner)
{
	struct owner *all = o->items.items;

	while (all[owner].parent != owner) {
		all[owner].parent = all[all[owner].parent].parent;
		owner = all[owner].parent;
	}
	return &all[owner];
}

const struct owner *owners_get(const struct owners *o, uint32_t owner)
{
	return root_of(o, owner);
}

int owners_add(struct owners *o, uint32_t function, uint32_t *ret_owner)
{
	if (VEC_RESERVE(&o->items, 1))
		return -ENOMEM;
	*ret_owner = (uint32_t)o->items.count;
	o->items.items[o->items.count++] =
		(struct owner){.function = function, .parent = *ret_owner};
	return 0;
}

int owners_add_doubt(struct owners *o, uint32_t at, uint32_t parent, uint32_t *ret_owner)
{
	if (VEC_RESERVE(&o->doubts, 1) || owners_add(o, o->items.items[parent].function, ret_owner))
		return -ENOMEM;
	o->doubts.items[o->doubts.count++] = (struct doubt){at, *ret_owner, parent};
	return 0;
}

void owners_fail(struct owners *o, uint32_t owner, enum analysis_abstained why)
{
	struct owner *root = root_of(o, owner);

	if (!root->failed)
		root->failed = (uint8_t)(why + 1);
}

void owners_confirm(struct owners *o, uint32_t owner)
{
	root_of(o, owner)->is_confirmed = true;
}

int owners_lean_on(struct owners *o, uint32_t owner, uint32_t on)
{
	if (VEC_RESERVE(&o->leans, 1))
		return -ENOMEM;
	o->leans.items[o->leans.count++] = (struct owners_lean){owner, on};
	return 0;
}

void owners_settle_leans(struct owners *o, uint32_t first_guess)
{
	bool has_new = true;

	for (int turn = 0; turn < MAX_LEANS && has_new; turn++) {
		has_new = false;
		for (size_t i = 0; i < o->leans.count; i++) {
			struct owner *owner = root_of(o, o->leans.items[i].owner);
			const struct owner *on = root_of(o, o->leans.items[i].on);
			bool is_certain = o->leans.items[i].on < first_guess;

			if (owner->is_confirmed || on->failed || !(on->is_confirmed || is_certain))
				continue;
			owner->is_confirmed = has_new = true;
		}
	}
}

void owners_unite(struct owners *o, uint32_t a, uint32_t b)
{
	struct owner *x = root_of(o, a), *y = root_of(o, b);

	if (x == y)
		return;
	y->parent = x->parent;
	x->is_confirmed |= y->is_confirmed;
	x->is_entry |= y->is_entry;
	if (!x->failed)
		x->failed = y->failed;
}

void owners_settle(struct owners *o, size_t *ret_count)
{
	size_t count = 0;

	for (size_t i = o->doubts.count; i-- > 0;) {
		const struct doubt *d = &o->doubts.items[i];

		if (o->items.items[d->owner].is_confirmed)
			owners_confirm(o, d->parent);
	}
	for (size_t i = 0; i < o->doubts.count; i++) {
		const struct doubt d = o->doubts.items[i];
		struct owner *owner = &o->items.items[d.owner];

		if (owner->failed)
			o->doubts.items[count++] = d;
		else
			owner->failed = o->items.items[d.parent].failed;
	}
	*ret_count = count;
}
