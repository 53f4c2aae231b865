/* SPDX-License-Identifier: MIT */
/*
 * A sorted array. Processes have some ten to a few hundred executable mappings and load them in
 * rising order, and lookups outnumber changes by far; a tree would make every lookup slower for
 * the sake of inserts that are rare.
 *
 *   insert m:        [ a  )   [ b )  [  c  )
 *                       [    m         )
 *   becomes:         [ a)[    m         )c )     a and c cut, b gone
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/mapping_set.h"

static void renew_version(struct mapping_set *set)
{
	static uint64_t last;

	set->version = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

struct mapping_set *mapping_set_new(void)
{
	struct mapping_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->refs = 1;
	renew_version(set);
	return set;
}

struct mapping_set *mapping_set_ref(struct mapping_set *set)
{
	if (set)
		set->refs++;
	return set;
}

void mapping_set_unref(struct mapping_set *set)
{
	if (!set || --set->refs)
		return;
	free(set->maps);
	free(set);
}

int mapping_set_own(struct mapping_set **set)
{
	struct mapping_set *old = *set;
	if (old && old->refs == 1) {
		renew_version(old);
		return 0;
	}

	struct mapping_set *own = mapping_set_new();
	if (!own)
		return -ENOMEM;
	if (old && old->count) {
		own->maps = malloc(old->count * sizeof(*own->maps));
		if (!own->maps) {
			free(own);
			return -ENOMEM;
		}
		memcpy(own->maps, old->maps, old->count * sizeof(*own->maps));
		own->count = own->cap = old->count;
	}
	mapping_set_unref(old);
	*set = own;
	return 0;
}

/* Returns the index of the first mapping whose end is above `address`; with `or_at`, at or above
 * it. */
static uint32_t first_ending_above(const struct mapping_set *set, uint64_t address, bool or_at)
{
	uint32_t low = 0, high = set->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		uint64_t end = set->maps[mid].end;
		if (end > address || (or_at && end == address))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static int reserve(struct mapping_set *set, uint32_t count)
{
	return VEC_GROW(set->maps, set->cap, count);
}

/* Replaces the mappings in [low, high) by `n` others. */
static int replace(struct mapping_set *set, uint32_t low, uint32_t high, const struct mapping *by,
		   uint32_t n)
{
	int err = reserve(set, set->count - (high - low) + n);
	if (err)
		return err;
	memmove(set->maps + low + n, set->maps + high, (set->count - high) * sizeof(*by));
	if (n)
		memcpy(set->maps + low, by, n * sizeof(*by));
	set->count = set->count - (high - low) + n;
	renew_version(set);
	return 0;
}

/* Returns the part of `map` in [start, end); it is empty if start >= end. */
static struct mapping part_of(const struct mapping *map, uint64_t start, uint64_t end)
{
	struct mapping part = *map;

	if (start > map->start) {
		part.start = start;
		part.offset += start - map->start;
	}
	if (end < map->end)
		part.end = end;
	return part;
}

/* Appends `part` to `parts`, or lengthens the last part if `part` continues it. An empty part is
 * left out. Returns the new number of parts. */
static uint32_t push_part(struct mapping *parts, uint32_t n, const struct mapping *part)
{
	if (part->start >= part->end)
		return n;
	if (n) {
		struct mapping *last = &parts[n - 1];
		if (last->object == part->object && last->is_copy == part->is_copy &&
		    last->end == part->start &&
		    last->offset + (part->start - last->start) == part->offset) {
			last->end = part->end;
			if (part->made_ns < last->made_ns)
				last->made_ns = part->made_ns;
			return n;
		}
	}
	parts[n] = *part;
	return n + 1;
}

int mapping_set_insert(struct mapping_set *set, const struct mapping *map)
{
	struct mapping parts[3], part;
	uint32_t n = 0;

	if (map->start >= map->end)
		return 0;
	/* [low, high) are those that `map` overlaps or touches. */
	uint32_t low = first_ending_above(set, map->start, true);
	uint32_t high = low;
	while (high < set->count && set->maps[high].start <= map->end)
		high++;
	if (high > low) {
		part = part_of(&set->maps[low], 0, map->start);
		n = push_part(parts, n, &part);
	}
	n = push_part(parts, n, map);
	if (high > low) {
		part = part_of(&set->maps[high - 1], map->end, UINT64_MAX);
		n = push_part(parts, n, &part);
	}
	return replace(set, low, high, parts, n);
}

int mapping_set_cut(struct mapping_set *set, uint64_t start, uint64_t end)
{
	struct mapping parts[2], part;
	uint32_t n = 0;

	if (start >= end)
		return 0;
	uint32_t low = first_ending_above(set, start, false);
	uint32_t high = low;
	while (high < set->count && set->maps[high].start < end)
		high++;
	if (high == low)
		return 0;
	part = part_of(&set->maps[low], 0, start);
	n = push_part(parts, n, &part);
	part = part_of(&set->maps[high - 1], end, UINT64_MAX);
	n = push_part(parts, n, &part);
	return replace(set, low, high, parts, n);
}

void mapping_set_keep(struct mapping_set *set, const struct mapping_set *kept)
{
	uint32_t n = 0, at = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		const struct mapping *map = &set->maps[i];
		while (at < kept->count && kept->maps[at].end <= map->start)
			at++;
		if (at < kept->count && kept->maps[at].start < map->end)
			set->maps[n++] = *map;
	}
	if (n < set->count)
		renew_version(set);
	set->count = n;
}

struct mapping *mapping_set_find(const struct mapping_set *set, uint64_t address, uint32_t *hint)
{
	if (!set)
		return NULL;
	uint32_t i = *hint;
	if (i >= set->count || address < set->maps[i].start || address >= set->maps[i].end) {
		i = first_ending_above(set, address, false);
		if (i == set->count || address < set->maps[i].start)
			return NULL;
		*hint = i;
	}
	return &set->maps[i];
}
