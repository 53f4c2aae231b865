/* SPDX-License-Identifier: MIT */
/* Tells things with equal ids apart; see identity.h. The things with one id are in a list, which
 * nearly always has one entry. */
#include "rows/identity.h"

#include <errno.h>
#include <stdlib.h>

#define IDENTITY_NONE UINT32_MAX

void identity_fini(struct identity *table)
{
	int_map_fini(&table->first);
	free(table->entries.items);
	*table = (struct identity){0};
}

static bool is_same(const struct identity_key *a, const struct identity_key *b)
{
	return a->a == b->a && a->b == b->b && a->c == b->c && a->d == b->d;
}

/* Returns the entry of a thing; IDENTITY_NONE: it is not in the table. Then *ret_last is the last
 * entry with its id, or IDENTITY_NONE, and *ret_next the least alternative above those of all these
 * entries. */
static uint32_t find(const struct identity *table, uint64_t id, const struct identity_key *key,
		     uint32_t *ret_last, uint32_t *ret_next)
{
	uint32_t at = int_map_find(&table->first, id);

	*ret_last = IDENTITY_NONE;
	*ret_next = 0;
	while (at != IDENTITY_NONE) {
		const struct identity_entry *entry = &table->entries.items[at];

		if (is_same(&entry->key, key))
			return at;
		if (entry->alt >= *ret_next)
			*ret_next = entry->alt + 1;
		*ret_last = at;
		at = entry->next;
	}
	return IDENTITY_NONE;
}

static int add(struct identity *table, uint64_t id, const struct identity_key *key, uint32_t alt,
	       uint32_t last)
{
	uint32_t at = (uint32_t)table->entries.count;

	if (table->entries.count >= IDENTITY_NONE)
		return -EOVERFLOW;
	if (VEC_RESERVE(&table->entries, 1) < 0)
		return -ENOMEM;
	if (last == IDENTITY_NONE && int_map_set(&table->first, id, at) < 0)
		return -ENOMEM;
	if (last != IDENTITY_NONE)
		table->entries.items[last].next = at;
	table->entries.items[table->entries.count++] =
		(struct identity_entry){.key = *key, .alt = alt, .next = IDENTITY_NONE};
	table->collisions += alt != 0;
	return 0;
}

int identity_enter(struct identity *table, uint64_t id, const struct identity_key *key,
		   uint32_t *ret_alt, bool *ret_is_new)
{
	uint32_t last, next, at = find(table, id, key, &last, &next);
	int err = 0;

	if (at == IDENTITY_NONE)
		err = add(table, id, key, next, last);
	if (err < 0)
		return err;
	*ret_alt = at == IDENTITY_NONE ? next : table->entries.items[at].alt;
	*ret_is_new = at == IDENTITY_NONE;
	return 0;
}

bool identity_has(const struct identity *table, uint64_t id, const struct identity_key *key)
{
	uint32_t last, next;

	return find(table, id, key, &last, &next) != IDENTITY_NONE;
}

uint32_t *identity_note(struct identity *table, uint64_t id, const struct identity_key *key)
{
	uint32_t last, next, at = find(table, id, key, &last, &next);

	return at == IDENTITY_NONE ? NULL : &table->entries.items[at].note;
}

int identity_know(struct identity *table, uint64_t id, const struct identity_key *key, uint32_t alt)
{
	uint32_t last, next, at = find(table, id, key, &last, &next);

	return at == IDENTITY_NONE ? add(table, id, key, alt, last) : 0;
}
