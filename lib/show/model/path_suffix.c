/* SPDX-License-Identifier: MIT */
/* Paths without their root part; see path_suffix.h. New nodes come after the original ones, so a
 * parent still comes before its children. */
#include "model/path_suffix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/int_map.h"

struct path_suffix {
	struct store_tables tables;
	VEC(struct store_node) nodes;
	VEC(uint32_t) climb; /* locations of the current path, leaf first */
	/* children of new nodes and of node 0: (parent, location) -> node */
	struct int_map children;
	struct int_map done; /* (skip, node) -> node: results of path_suffix_enter() */
};

int path_suffix_new(const struct store_tables *tables, struct path_suffix **ret_suffix)
{
	struct path_suffix *suffix = calloc(1, sizeof(*suffix));

	if (!suffix || VEC_RESERVE(&suffix->nodes, tables->n_nodes) < 0) {
		path_suffix_free(suffix);
		return -ENOMEM;
	}
	suffix->tables = *tables;
	suffix->nodes.count = tables->n_nodes;
	memcpy(suffix->nodes.items, tables->nodes, tables->n_nodes * sizeof(*suffix->nodes.items));
	suffix->tables.nodes = suffix->nodes.items;
	*ret_suffix = suffix;
	return 0;
}

void path_suffix_free(struct path_suffix *suffix)
{
	if (!suffix)
		return;
	free(suffix->nodes.items);
	free(suffix->climb.items);
	int_map_fini(&suffix->children);
	int_map_fini(&suffix->done);
	free(suffix);
}

static int child(struct path_suffix *suffix, uint32_t parent, uint32_t location, uint32_t *ret_node)
{
	uint32_t node;

	if (VEC_RESERVE(&suffix->nodes, 1) < 0 || suffix->nodes.count >= UINT32_MAX - 1 ||
	    int_map_enter(&suffix->children, (uint64_t)parent << 32 | location,
			  (uint32_t)suffix->nodes.count, &node) < 0)
		return -ENOMEM;
	*ret_node = node;
	if (node < suffix->nodes.count)
		return 0;
	suffix->nodes.items[suffix->nodes.count++] = (struct store_node){parent, location};
	suffix->tables.nodes = suffix->nodes.items;
	suffix->tables.n_nodes = (uint32_t)suffix->nodes.count;
	return 0;
}

/* Lists all locations of a path, leaf first. */
static int path_suffix_climb(struct path_suffix *suffix, uint32_t node)
{
	suffix->climb.count = 0;
	for (; node; node = suffix->nodes.items[node].parent) {
		if (VEC_RESERVE(&suffix->climb, 1) < 0)
			return -ENOMEM;
		suffix->climb.items[suffix->climb.count++] = suffix->nodes.items[node].location;
	}
	return 0;
}

int path_suffix_enter(struct path_suffix *suffix, uint32_t node, uint32_t skip, uint32_t *ret_node)
{
	uint64_t key = (uint64_t)skip << 32 | node;
	uint32_t at = int_map_find(&suffix->done, key);
	int err = 0;

	if (at == INT_MAP_NONE) {
		at = 0;
		err = path_suffix_climb(suffix, node);
		for (size_t i = suffix->climb.count > skip ? suffix->climb.count - skip : 0;
		     err == 0 && i-- > 0;)
			err = child(suffix, at, suffix->climb.items[i], &at);
		if (err == 0)
			err = int_map_enter(&suffix->done, key, at, &at);
	}
	if (err == 0)
		*ret_node = at;
	return err;
}

uint32_t path_suffix_find(const struct path_suffix *suffix, uint32_t node, uint32_t skip)
{
	return int_map_find(&suffix->done, (uint64_t)skip << 32 | node);
}

const struct store_tables *path_suffix_tables(const struct path_suffix *suffix)
{
	return &suffix->tables;
}
