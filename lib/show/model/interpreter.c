/* SPDX-License-Identifier: MIT */
/* Leaves frames of interpreters out; see interpreter.h. */
#include "model/interpreter.h"

#include "model/frame_kind.h"
#include "proc/object.h"

static const struct store_object *object_of(const struct store_tables *t, uint32_t node)
{
	return &t->objects[t->locations[t->nodes[node].location].object];
}

/* Does a node carry the managed frame that is its parent? */
static bool carries(const struct store_tables *t, uint32_t node)
{
	uint32_t parent = t->nodes[node].parent;

	return parent && object_of(t, node)->kind != OBJECT_MANAGED &&
	       frame_kind_is_managed(frame_kind_of_object(object_of(t, parent)));
}

static bool has_managed(const struct store_tables *t)
{
	for (uint32_t i = 0; i < t->n_objects; i++) {
		if (t->objects[i].kind == OBJECT_MANAGED)
			return true;
	}
	return false;
}

int interpreter_hide(struct store_reader *reader)
{
	return has_managed(store_reader_tables(reader)) ? store_reader_leave_out(reader, carries)
							: 0;
}
