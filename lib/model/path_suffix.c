/* SPDX-License-Identifier: MIT */
/* Paths without their root part; see trim.h. New nodes stand after the original ones, so a parent
 * still comes before its children. */
#include "model/path_suffix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/int_map.h"

struct path_suffix {
	struct store_tables tables;
	VEC(struct store_node) nodes;
	VEC(uint32_t) climb;	 /* locations, leaf first */
	struct int_map children; /* of new nodes, and of 0: (parent, location) -> node */
	struct int_map done;	 /* (skip, node) -> node */
};

int path_suffix_new(const struct store_tables *tables, struct path_suffix **ret_trim)
{
	struct path_suffix *t = calloc(1, sizeof(*t));

	if (!t || VEC_RESERVE(&t->nodes, tables->n_nodes) < 0) {
		path_suffix_free(t);
		return -ENOMEM;
	}
	t->tables = *tables;
	t->nodes.count = tables->n_nodes;
	memcpy(t->nodes.items, tables->nodes, tables->n_nodes * sizeof(*t->nodes.items));
	t->tables.nodes = t->nodes.items;
	*ret_trim = t;
	return 0;
}

void path_suffix_free(struct path_suffix *t)
{
	if (!t)
		return;
	free(t->nodes.items);
	free(t->climb.items);
	int_map_fini(&t->children);
	int_map_fini(&t->done);
	free(t);
}

static int child(struct path_suffix *t, uint32_t parent, uint32_t location, uint32_t *ret_node)
{
	uint32_t node;

	if (VEC_RESERVE(&t->nodes, 1) < 0 || t->nodes.count >= UINT32_MAX - 1 ||
	    int_map_enter(&t->children, (uint64_t)parent << 32 | location, (uint32_t)t->nodes.count,
			  &node) < 0)
		return -ENOMEM;
	*ret_node = node;
	if (node < t->nodes.count)
		return 0;
	t->nodes.items[t->nodes.count++] = (struct store_node){parent, location};
	t->tables.nodes = t->nodes.items;
	t->tables.n_nodes = (uint32_t)t->nodes.count;
	return 0;
}

/* All locations of a path, leaf first. */
static int path_suffix_climb(struct path_suffix *t, uint32_t node)
{
	t->climb.count = 0;
	for (; node; node = t->nodes.items[node].parent) {
		if (VEC_RESERVE(&t->climb, 1) < 0)
			return -ENOMEM;
		t->climb.items[t->climb.count++] = t->nodes.items[node].location;
	}
	return 0;
}

int path_suffix_enter(struct path_suffix *t, uint32_t node, uint32_t skip, uint32_t *ret_node)
{
	uint64_t key = (uint64_t)skip << 32 | node;
	uint32_t at = int_map_find(&t->done, key);
	int r = 0;

	if (at == INT_MAP_NONE) {
		at = 0;
		r = path_suffix_climb(t, node);
		for (size_t i = t->climb.count > skip ? t->climb.count - skip : 0;
		     r == 0 && i-- > 0;)
			r = child(t, at, t->climb.items[i], &at);
		if (r == 0)
			r = int_map_enter(&t->done, key, at, &at);
	}
	if (r == 0)
		*ret_node = at;
	return r;
}

uint32_t path_suffix_find(const struct path_suffix *t, uint32_t node, uint32_t skip)
{
	return int_map_find(&t->done, (uint64_t)skip << 32 | node);
}

const struct store_tables *path_suffix_tables(const struct path_suffix *t)
{
	return &t->tables;
}
