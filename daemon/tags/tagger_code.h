/* SPDX-License-Identifier: MIT */
/* The part of the tagger's interface (daemon/recorder/tagger.h) that only tag_paths.c needs:
 * questions about code that keeps a tag. */
#ifndef TAGS_TAGGER_CODE_H
#define TAGS_TAGGER_CODE_H

#include "callgraph/tagged_functions.h"
#include "daemon/recorder/tagger.h"

/* Returns whether functions of an object keep a tag. */
bool tagger_has_functions(struct tagger *tagger, const struct object *object);

/* Finds the code that holds a vaddr of an object, as tagged_functions_find() does. */
bool tagger_find(struct tagger *tagger, const struct object *object, uint64_t vaddr,
		 struct tagged_code *ret_code);

/* Returns whether the tag may differ from the stack at a vaddr, because the function there has not
 * changed the tag yet, or has restored it already: see tagged_functions_is_window(). */
bool tagger_is_window(struct tagger *tagger, const struct object *object, uint64_t vaddr);

/* Returns whether the code at an object's offset is libstacktag's. */
bool tagger_is_runtime(struct tagger *tagger, const struct object *object, uint64_t offset);

#endif
