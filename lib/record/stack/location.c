/* SPDX-License-Identifier: MIT */
/*
 * The table of locations: an array in order of first appearance, and an index by location_id().
 *
 * The id is a bijection of the offset for a given file, but two files can share an id, so entries
 * are compared by (file id, offset) and never by id alone.
 */
#include "stack/location.h"

#include "base/vec.h"
#include "base/hash_index.h"

struct location_table {
	struct location *locations;
	uint32_t count;
	size_t cap;
	struct hash_index index;
};

int location_table_new(struct location_table **ret_table)
{
	struct location_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	*ret_table = table;
	return 0;
}

void location_table_clear(struct location_table *table)
{
	free(table->locations);
	free(table->index.slot);
	*table = (struct location_table){0};
}

void location_table_free(struct location_table *table)
{
	if (!table)
		return;
	location_table_clear(table);
	free(table);
}

static int grow_index(struct location_table *table)
{
	struct hash_index grown;
	int err = hash_index_grow(&table->index, &grown);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < table->count; i++) {
		const struct location *l = &table->locations[i];

		hash_index_put_marked(&grown, location_id(l->file_id, l->offset), i);
	}
	free(table->index.slot);
	table->index = grown;
	return 0;
}

static int grow_array(struct location_table *table)
{
	if (table->count >= UINT32_MAX - 1)
		return -ENOMEM;
	return VEC_GROW(table->locations, table->cap, (size_t)table->count + 1);
}

static int location_add(struct location_table *table, const struct location *loc, uint64_t id,
			uint32_t *ret_number)
{
	int err;

	err = grow_array(table);
	if (err < 0)
		return err;
	if (hash_index_full(&table->index)) {
		err = grow_index(table);
		if (err < 0)
			return err;
	}
	table->locations[table->count] = *loc;
	hash_index_put_marked(&table->index, id, table->count);
	*ret_number = table->count++;
	return 0;
}

static int intern_id(struct location_table *table, const struct location *loc, uint64_t id,
		     uint32_t *ret_number)
{
	const struct hash_index *index = &table->index;
	const uint32_t mark = hash_index_mark(index, id);

	if (!index->slot)
		return location_add(table, loc, id, ret_number);
	for (size_t at = id & index->mask; index->slot[at]; at = (at + 1) & index->mask) {
		uint32_t number = hash_index_number(index, index->slot[at]);
		const struct location *l = &table->locations[number];

		if (hash_index_agrees(index, index->slot[at], mark) && l->offset == loc->offset &&
		    l->file_id == loc->file_id) {
			*ret_number = number;
			return 0;
		}
	}
	return location_add(table, loc, id, ret_number);
}

int location_intern(struct location_table *table, const struct location *loc, uint32_t *ret_number)
{
	return intern_id(table, loc, location_id(loc->file_id, loc->offset), ret_number);
}

/* Prefetches what looking up locations with these ids will read. */
static void location_prefetch(const struct location_table *table, const uint64_t *ids, size_t count)
{
	const struct hash_index *index = &table->index;

	if (!index->slot)
		return;
	for (size_t i = 0; i < count; i++)
		__builtin_prefetch(&index->slot[ids[i] & index->mask]);
	for (size_t i = 0; i < count; i++) {
		uint32_t slot = index->slot[ids[i] & index->mask];

		if (slot)
			__builtin_prefetch(&table->locations[hash_index_number(index, slot)]);
	}
}

int location_intern_all(struct location_table *table, const struct location *locs,
			const uint64_t *ids, size_t count, uint32_t *ret_numbers)
{
	int err = 0;

	location_prefetch(table, ids, count);
	for (size_t i = 0; i < count && err == 0; i++)
		err = intern_id(table, &locs[i], ids[i], &ret_numbers[i]);
	return err;
}

uint32_t location_count(const struct location_table *table)
{
	return table->count;
}

void location_set_provenance(struct location_table *table, uint32_t number, uint8_t provenance)
{
	table->locations[number].provenance = provenance;
}

void location_set_put(struct location_table *table, uint32_t number, enum location_put put)
{
	table->locations[number].put = (uint8_t)put;
}

const struct location *location_at(const struct location_table *table, uint32_t number)
{
	return &table->locations[number];
}
