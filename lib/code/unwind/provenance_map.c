/* SPDX-License-Identifier: MIT */
/* Ranges by provenance in a sorted array; see provenance_map.h. */
#include "unwind/provenance_map.h"

#include <errno.h>
#include <stdlib.h>

struct provenance_range {
	uint32_t start; /* file offset; the range ends where the next one starts */
	uint8_t provenance;
};

struct provenance_map {
	size_t count;
	struct provenance_range ranges[];
};

static size_t count_rows(const struct recipe_rows *rows)
{
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	struct recipe_row row;
	size_t count = 0;

	while (recipe_rows_next(&reader, &row))
		count++;
	return count;
}

static uint8_t provenance_of(const struct recipe_row *row)
{
	return row->rule == PROVENANCE_NONE ? PROVENANCE_CFI : (uint8_t)row->rule;
}

int provenance_map_new(const struct recipe_rows *rows, struct provenance_map **ret_map)
{
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	size_t count = count_rows(rows);
	struct provenance_map *map;
	struct recipe_row row;

	*ret_map = NULL;
	if (!count)
		return 0;
	if (count > PROVENANCE_MAP_MAX)
		count = PROVENANCE_MAP_MAX;
	map = malloc(sizeof(*map) + count * sizeof(map->ranges[0]));
	if (!map)
		return -ENOMEM;
	for (map->count = 0; map->count < count && recipe_rows_next(&reader, &row);)
		map->ranges[map->count++] =
			(struct provenance_range){row.offset, provenance_of(&row)};
	if (recipe_rows_next(&reader, &row) && count > 1 &&
	    map->ranges[count - 1].provenance == PROVENANCE_CFI)
		map->count--;
	*ret_map = map;
	return 0;
}

void provenance_map_free(struct provenance_map *map)
{
	free(map);
}

enum provenance provenance_map_at(const struct provenance_map *map, uint64_t offset)
{
	size_t first = 0, end = map ? map->count : 0;

	if (!end || offset < map->ranges[0].start)
		return PROVENANCE_CFI;
	while (end - first > 1) {
		size_t middle = first + (end - first) / 2;

		if (map->ranges[middle].start <= offset)
			first = middle;
		else
			end = middle;
	}
	return map->ranges[first].provenance;
}

size_t provenance_map_count(const struct provenance_map *map)
{
	return map ? map->count : 0;
}

void provenance_map_range(const struct provenance_map *map, size_t i, uint32_t *ret_start,
			  uint8_t *ret_provenance)
{
	*ret_start = map->ranges[i].start;
	*ret_provenance = map->ranges[i].provenance;
}
