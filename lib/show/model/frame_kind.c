/* SPDX-License-Identifier: MIT */
/* Tells the kind of a frame by its object; see frame_kind.h. */
#include "model/frame_kind.h"

#include "proc/object.h"
#include "proc/object_id.h"
#include "stackd_abi.h"

/* Returns the kind of functions in a source file. The file's id is a hash with the language in
 * it. */
static enum frame_kind of_source(const struct store_object *object)
{
	if (!object->path ||
	    (*object->path == '[' &&
	     object_is_managed_id(object->file_id, OBJECT_NO_LANGUAGE, object->path)))
		return FRAME_NOTE;
	if (object_is_managed_id(object->file_id, STACKD_RUNTIME_PYTHON, object->path))
		return FRAME_PYTHON;
	if (object_is_managed_id(object->file_id, STACKD_RUNTIME_RUBY, object->path))
		return FRAME_RUBY;
	if (object_is_managed_id(object->file_id, STACKD_RUNTIME_PHP, object->path))
		return FRAME_PHP;
	if (object_is_managed_id(object->file_id, STACKD_RUNTIME_PERL, object->path))
		return FRAME_PERL;
	if (object_is_managed_id(object->file_id, STACKD_RUNTIME_BEAM, object->path))
		return FRAME_ERLANG;
	if (object_is_managed_id(object->file_id, STACKD_RUNTIME_HOTSPOT, object->path))
		return FRAME_JAVA;
	return object_is_managed_id(object->file_id, STACKD_RUNTIME_V8, object->path)
		       ? FRAME_JAVASCRIPT
		       : FRAME_MANAGED;
}

enum frame_kind frame_kind_of_object(const struct store_object *object)
{
	switch (object->kind) {
	case OBJECT_KERNEL:
	case OBJECT_MODULE:
		return FRAME_KERNEL;
	case OBJECT_JIT:
		return FRAME_JIT;
	case OBJECT_TAG:
	case OBJECT_MARK:
	case OBJECT_AWAITED:
		return FRAME_NOTE;
	case OBJECT_MANAGED:
		return of_source(object);
	default:
		return FRAME_NATIVE;
	}
}

enum frame_kind frame_kind_of(const struct profile_frame *frame)
{
	return frame->is_inlined ? FRAME_INLINED : (enum frame_kind)frame->symbol->kind;
}

bool frame_kind_is_managed(enum frame_kind kind)
{
	return kind == FRAME_PYTHON || kind == FRAME_RUBY || kind == FRAME_PHP ||
	       kind == FRAME_PERL || kind == FRAME_JAVA || kind == FRAME_JAVASCRIPT ||
	       kind == FRAME_ERLANG || kind == FRAME_MANAGED;
}

const char *frame_kind_name(enum frame_kind kind)
{
	static const char *const names[FRAME_KINDS] = {
		[FRAME_NATIVE] = "native", [FRAME_INLINED] = "inlined",
		[FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit",
		[FRAME_PYTHON] = "python", [FRAME_RUBY] = "ruby",
		[FRAME_PHP] = "php",	   [FRAME_PERL] = "perl",
		[FRAME_JAVA] = "java",	   [FRAME_JAVASCRIPT] = "javascript",
		[FRAME_ERLANG] = "erlang", [FRAME_MANAGED] = "managed",
		[FRAME_NOTE] = "note",
	};

	return names[kind < FRAME_KINDS ? kind : FRAME_NATIVE];
}
