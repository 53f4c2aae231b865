/* SPDX-License-Identifier: MIT */
/*
 * Flattens nested ranges into points; see range_map.h.
 *
 *   ranges   A [0,100)   B [20,60)   C [40,60)
 *   points   0:A  20:B  40:C  60:A  100:-
 *
 * A query is then one binary search, however deeply ranges nest or overlap: in a hostile file, an
 * interval tree, or going back over sorted starts, would take linear time. Sealing takes one sort
 * and one sweep with a stack of open ranges; every range is pushed and popped once, so there are at
 * most twice as many points as ranges.
 */
#include "sym/range_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

#define NOTHING UINT32_MAX

struct range_map_range {
	uint64_t start, end;
	uint32_t value, rank;
};

struct range_map_point {
	uint64_t start; /* the value is valid from here to the next point */
	uint32_t value;
	uint32_t reserved;
};

int range_map_add(struct range_map *map, uint64_t start, uint64_t end, uint32_t value,
		  uint32_t rank)
{
	if (start >= end)
		return 0;
	if (VEC_GROW(map->ranges, map->cap_ranges, map->n_ranges + 1) < 0)
		return -ENOMEM;
	map->ranges[map->n_ranges++] = (struct range_map_range){start, end, value, rank};
	return 0;
}

/* Orders ranges by start; of ranges with the same start, the innermost comes last. */
static int compare(const void *a, const void *b)
{
	const struct range_map_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static void put_point(struct range_map *map, uint64_t start, uint32_t value)
{
	if (map->n_points && map->points[map->n_points - 1].start == start)
		map->n_points--;
	if (map->n_points && map->points[map->n_points - 1].value == value)
		return;
	map->points[map->n_points++] = (struct range_map_point){.start = start, .value = value};
}

/* Closes the open ranges that end at or before `limit`. Where a range ends, the one below it on the
 * stack continues, unless it has ended as well. Returns how many ranges are still open. */
static size_t close_ranges(struct range_map *map, const uint32_t *open, size_t n, uint64_t limit)
{
	while (n && map->ranges[open[n - 1]].end <= limit) {
		uint64_t end = map->ranges[open[n - 1]].end;

		while (n && map->ranges[open[n - 1]].end <= end)
			n--;
		put_point(map, end, n ? map->ranges[open[n - 1]].value : NOTHING);
	}
	return n;
}

int range_map_seal(struct range_map *map)
{
	size_t n_open = 0;
	uint32_t *open;

	if (!map->n_ranges)
		return 0;
	open = calloc(map->n_ranges, sizeof(*open));
	map->points = calloc(2 * map->n_ranges, sizeof(*map->points));
	if (!open || !map->points || map->n_ranges > UINT32_MAX) {
		free(open);
		free(map->points);
		map->points = NULL;
		return -ENOMEM;
	}
	qsort(map->ranges, map->n_ranges, sizeof(*map->ranges), compare);
	for (size_t i = 0; i < map->n_ranges; i++) {
		n_open = close_ranges(map, open, n_open, map->ranges[i].start);
		open[n_open++] = (uint32_t)i;
		put_point(map, map->ranges[i].start, map->ranges[i].value);
	}
	close_ranges(map, open, n_open, UINT64_MAX);
	free(open);
	free(map->ranges);
	map->ranges = NULL;
	map->n_ranges = map->cap_ranges = 0;
	return 0;
}

bool range_map_find(const struct range_map *map, uint64_t address, uint32_t *ret_value)
{
	size_t low = 0, high = map->n_points;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (map->points[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || map->points[low - 1].value == NOTHING)
		return false;
	*ret_value = map->points[low - 1].value;
	return true;
}

void range_map_free(struct range_map *map)
{
	free(map->ranges);
	free(map->points);
	*map = (struct range_map){0};
}
