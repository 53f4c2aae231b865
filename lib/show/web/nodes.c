/* SPDX-License-Identifier: MIT */
/*
 * What is large enough of a call tree; see nodes.h. The pass goes down with a stack of its own,
 * since paths can have ten thousands of frames.
 */
#include "web/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "web/opened.h"

#define NODES_REST 4000 /* bytes of an answer that are no strings, frames and nodes */

struct nodes_pending {
	uint32_t node; /* in the call tree */
	uint32_t frame;
	int32_t parent; /* in the answer */
	/* of a node "other": the sums; its node is CALLTREE_NONE */
	uint64_t self, total, inferred;
};

struct nodes_pass {
	const struct calltree *tree;
	const struct calltree_node *from;
	double least;
	struct words *words;
	struct nodes *nodes;
	VEC(struct nodes_pending) pending;
	VEC(uint32_t) children;
};

static unsigned digits(uint64_t value)
{
	unsigned n = 1;

	for (; value >= 10; value /= 10)
		n++;
	return n;
}

static int nodes_append(struct nodes_pass *pass, const struct nodes_pending *p)
{
	struct nodes *nodes = pass->nodes;
	struct nodes_node node = {p->parent, p->frame, p->self, p->total, p->inferred};

	if (p->node != CALLTREE_NONE) {
		node.self = pass->from[p->node].self;
		node.total = pass->from[p->node].samples;
		node.inferred = pass->from[p->node].inferred;
	}
	if (VEC_RESERVE(&nodes->nodes, 1) < 0)
		return -ENOMEM;
	nodes->bytes += 5 + digits((uint32_t)node.parent) + digits(node.frame) + digits(node.self) +
			digits(node.total) + digits(node.inferred);
	nodes->nodes.items[nodes->nodes.count++] = node;
	return 0;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct nodes_pass *pass = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct profile_symbol *s = calltree_symbol(pass->tree, x),
				    *t = calltree_symbol(pass->tree, y);
	int order = s->name_number == t->name_number ? 0 : strcmp(s->name, t->name);

	if (!order)
		order = strcmp(s->object, t->object);
	return order ? order : (int)pass->from[x].is_inlined - (int)pass->from[y].is_inlined;
}

/* Adds a node that is too small, with all that is below it, to "other". */
static void leave_out(struct nodes_pass *pass, uint32_t top, struct nodes_pending *other)
{
	other->self += pass->from[top].samples;
	other->total += pass->from[top].samples;
	other->inferred += pass->from[top].inferred;
	pass->nodes->left_out++;
}

static int push(struct nodes_pass *pass, const struct nodes_pending *p)
{
	if (VEC_RESERVE(&pass->pending, 1) < 0)
		return -ENOMEM;
	pass->pending.items[pass->pending.count++] = *p;
	return 0;
}

/* Pushes the children of a node, the last one first. Returns 0, -ENOMEM or -EOVERFLOW. */
static int push_children(struct nodes_pass *pass, uint32_t node, int32_t parent)
{
	struct nodes_pending other = {.node = CALLTREE_NONE, .parent = parent};
	int err = 0;

	pass->children.count = 0;
	for (uint32_t at = pass->from[node].first_child; at != CALLTREE_NONE;
	     at = pass->from[at].next_sibling) {
		if ((double)pass->from[at].samples < pass->least)
			leave_out(pass, at, &other);
		else if (VEC_RESERVE(&pass->children, 1) < 0)
			return -ENOMEM;
		else
			pass->children.items[pass->children.count++] = at;
	}
	if (pass->children.count > 1)
		qsort_r(pass->children.items, pass->children.count, sizeof(uint32_t), compare,
			pass);
	if (other.total) {
		err = words_named(pass->words, "other", WORDS_OTHER, &other.frame);
		if (err == 0)
			err = push(pass, &other);
	}
	for (size_t i = pass->children.count; err == 0 && i-- > 0;) {
		const uint32_t at = pass->children.items[i];
		struct nodes_pending p = {.node = at, .parent = parent};

		err = words_symbol(pass->words, calltree_symbol(pass->tree, at),
				   pass->from[at].is_inlined, &p.frame);
		if (err == 0)
			err = push(pass, &p);
	}
	return err;
}

int nodes_add(const struct ask *ask, const struct calltree *tree, uint32_t root, uint32_t frame,
	      int32_t parent, double least, struct words *words, struct nodes *nodes)
{
	struct nodes_pass pass = {.tree = tree, .least = least, .words = words, .nodes = nodes};
	const struct nodes_pending first = {.node = root, .frame = frame, .parent = parent};
	uint32_t n;
	int err;

	pass.from = calltree_nodes(tree, &n);
	err = push(&pass, &first);
	while (err == 0 && pass.pending.count) {
		const struct nodes_pending p = pass.pending.items[--pass.pending.count];

		if (nodes->bytes + words_size(words) + NODES_REST > opened_room(ask))
			err = 1;
		else if (ask_is_stopped(ask))
			err = -ECANCELED;
		else
			err = nodes_append(&pass, &p);
		if (err == 0 && p.node != CALLTREE_NONE)
			err = push_children(&pass, p.node, (int32_t)nodes->nodes.count - 1);
	}
	free(pass.pending.items);
	free(pass.children.items);
	return err;
}

void nodes_clear(struct nodes *nodes)
{
	nodes->nodes.count = 0;
	nodes->left_out = 0;
	nodes->bytes = 0;
}

#define NODES_COLUMN(j, nodes, name, put, member)                                                  \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (size_t i = 0; i < (nodes)->nodes.count; i++)                                  \
			put(j, NULL, (nodes)->nodes.items[i].member);                              \
		json_put_end(j);                                                                   \
	} while (0)

void nodes_put(const struct nodes *nodes, const char *key, struct json *j)
{
	json_put_object(j, key);
	NODES_COLUMN(j, nodes, "parent", json_put_int, parent);
	NODES_COLUMN(j, nodes, "frame", json_put_uint, frame);
	NODES_COLUMN(j, nodes, "self", json_put_uint, self);
	NODES_COLUMN(j, nodes, "total", json_put_uint, total);
	NODES_COLUMN(j, nodes, "inferred", json_put_uint, inferred);
	json_put_end(j);
}
