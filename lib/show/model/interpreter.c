/* SPDX-License-Identifier: MIT */
/* Leaves frames of interpreters out; see interpreter.h. */
#include "model/interpreter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/frame_kind.h"
#include "proc/object.h"

static const struct store_object *object_of(const struct store_tables *t, uint32_t node)
{
	return &t->objects[t->locations[t->nodes[node].location].object];
}

/* Returns whether a node is a managed frame that a native one carries. Methods of Java and
 * functions of JavaScript have frames of their own, and what is below one was called. */
static bool is_carried(const struct store_tables *t, uint32_t node)
{
	enum frame_kind kind = frame_kind_of_object(object_of(t, node));

	return frame_kind_is_managed(kind) && kind != FRAME_JAVA && kind != FRAME_JAVASCRIPT &&
	       kind != FRAME_ERLANG;
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

/* Returns whether a function does nothing but enter the interpreter. "NAME.isra.0" is a part of
 * NAME. */
static bool only_enters(const char *function)
{
	static const char *const names[] = {
		"_PyEval_Vector",
		"_PyEval_EvalFrame",
		"PyEval_EvalFrameEx",
		"_PyEval_EvalCode",
		"_PyEval_EvalCodeWithName",
		"_PyFunction_Vectorcall",
		"function_code_fastcall",
		"gen_send_ex",
		"gen_send_ex2",
		"rb_vm_exec",
		"zend_execute",
	};
	size_t len = strcspn(function, ".");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i]) == len && !memcmp(names[i], function, len))
			return true;
	}
	return false;
}

/* Returns whether the code of a node is that of such a function, whatever is inlined in it. */
static bool is_entering(const struct store_tables *t, uint32_t node)
{
	uint32_t location = t->nodes[node].location, end = t->line_first[location + 1];
	const struct store_line *outer = &t->lines[end - 1];

	return end > t->line_first[location] && !outer->is_inlined && outer->function &&
	       only_enters(outer->function);
}

static void mark(const struct store_tables *t, bool *is_out)
{
	for (uint32_t node = 1; node < t->n_nodes; node++) {
		uint32_t parent = t->nodes[node].parent;

		if (carries(t, node))
			is_out[node] = true;
		else if (parent && is_carried(t, node) && !is_carried(t, parent) &&
			 is_entering(t, parent))
			is_out[parent] = true;
	}
}

int interpreter_hide(struct store_reader *reader)
{
	const struct store_tables *t = store_reader_tables(reader);
	bool *is_out;
	int err;

	if (!has_managed(t))
		return 0;
	is_out = calloc(t->n_nodes + 1, sizeof(*is_out));
	if (!is_out)
		return -ENOMEM;
	mark(t, is_out);
	err = store_reader_leave_out(reader, is_out);
	free(is_out);
	return err;
}
