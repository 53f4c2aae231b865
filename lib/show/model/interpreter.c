/* SPDX-License-Identifier: MIT */
/* Leaves frames of interpreters out; see interpreter.h. */
#include "model/interpreter.h"

#include <errno.h>
#include <stdlib.h>

#include "model/frame_kind.h"
#include "proc/object.h"

static const struct store_object *object_of(const struct store_tables *t, uint32_t node)
{
	return &t->objects[t->locations[t->nodes[node].location].object];
}

/* Returns whether a node is a managed frame that a native one carries. Java's methods have frames
 * of their own, and what is below one was called. */
static bool is_carried(const struct store_tables *t, uint32_t node)
{
	enum frame_kind kind = frame_kind_of_object(object_of(t, node));

	return frame_kind_is_managed(kind) && kind != FRAME_JAVA;
}

/* Returns whether a node carries the managed frame that is its parent. */
static bool carries(const struct store_tables *t, uint32_t node)
{
	uint32_t parent = t->nodes[node].parent;

	return parent && object_of(t, node)->kind != OBJECT_MANAGED && is_carried(t, parent);
}

static bool has_managed(const struct store_tables *t)
{
	for (uint32_t i = 0; i < t->n_objects; i++) {
		if (t->objects[i].kind == OBJECT_MANAGED)
			return true;
	}
	return false;
}

/* Marks the nodes that carry managed frames, and in `is_interpreter` the objects of their code. */
static void mark_carriers(const struct store_tables *t, bool *is_out, bool *is_interpreter)
{
	for (uint32_t node = 1; node < t->n_nodes; node++) {
		if (!carries(t, node))
			continue;
		is_out[node] = true;
		is_interpreter[t->locations[t->nodes[node].location].object] = true;
	}
}

/* Marks the nodes that enter an activation: their function calls the interpreter's own one, and is
 * in the same object. */
static void mark_entering(const struct store_tables *t, bool *is_out, const bool *is_interpreter)
{
	for (uint32_t node = 1; node < t->n_nodes; node++) {
		uint32_t parent = t->nodes[node].parent;

		if (parent && is_carried(t, node) && !is_carried(t, parent) &&
		    is_interpreter[t->locations[t->nodes[parent].location].object])
			is_out[parent] = true;
	}
}

int interpreter_hide(struct store_reader *reader)
{
	const struct store_tables *t = store_reader_tables(reader);
	bool *is_out, *is_interpreter;
	int err = -ENOMEM;

	if (!has_managed(t))
		return 0;
	is_out = calloc(t->n_nodes + 1, sizeof(*is_out));
	is_interpreter = calloc(t->n_objects + 1, sizeof(*is_interpreter));
	if (is_out && is_interpreter) {
		mark_carriers(t, is_out, is_interpreter);
		mark_entering(t, is_out, is_interpreter);
		err = store_reader_leave_out(reader, is_out);
	}
	free(is_out);
	free(is_interpreter);
	return err;
}
