/* SPDX-License-Identifier: MIT */
/* Makes call graphs from observed paths; see observed_model.h. */
#include "callgraph/observed_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Writes "function (object+offset)", since the function alone would not distinguish its call
 * sites. */
static int write_name(const struct tagset *set, const struct tagset_location *l, struct buf *b)
{
	const char *names = tagset_escaped(set, l->names), *at = strchr(names, '\t');
	size_t len = at ? strcspn(at + 1, "\t") : 0;

	buf_clear(b);
	if (len) {
		tagset_text(b, at + 1, len);
		text_put_raw(b, " ");
	}
	text_put_raw(b, len ? "(" : "");
	text_put_raw(b, text_basename(tagset_object_path(set, l->object)));
	text_put_raw(b, "+0x");
	text_put_raw(b, tagset_escaped(set, l->offset));
	text_put_raw(b, len ? ")" : "");
	buf_put_u8(b, 0);
	return b->failed ? -ENOMEM : 0;
}

static int add_nodes(const struct tagset *set, struct callgraph *graph, uint32_t *node_of)
{
	uint32_t n;
	const struct tagset_location *locations = tagset_locations(set, &n);
	struct buf name = {0};
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < n; i++) {
		err = write_name(set, &locations[i], &name);
		if (err == 0)
			err = callgraph_node(graph, locations[i].id, (const char *)name.data,
					     &node_of[i]);
	}
	buf_free(&name);
	return err;
}

int observed_model_add(const struct tagset *set, struct callgraph *graph)
{
	uint32_t n, n_locations, *node_of;
	const struct tagset_node *nodes = tagset_nodes(set, &n);
	int err;

	tagset_locations(set, &n_locations);
	node_of = calloc((size_t)n_locations + 1, sizeof(*node_of));
	if (!node_of)
		return -ENOMEM;
	err = add_nodes(set, graph, node_of);
	for (uint32_t i = 1; err == 0 && i < n; i++) {
		uint32_t to = node_of[nodes[i].location];

		if (nodes[i].parent)
			err = callgraph_edge(graph, node_of[nodes[nodes[i].parent].location], to);
		else
			callgraph_set_root(graph, to);
	}
	free(node_of);
	return err;
}
