/* SPDX-License-Identifier: MIT */
/* Answers questions of tag_paths.c about the code of files that keep a tag, from what the tagger of
 * daemon/model/tagger.h knows. */
#ifndef TAGS_TAGGER_CODE_H
#define TAGS_TAGGER_CODE_H

#include "callgraph/tagged_functions.h"
#include "daemon/model/tagger.h"

/* Returns whether functions of an object keep a tag. */
bool tagger_has_functions(struct tagger *tagger, const struct object *object);

/* Finds the code that holds a vaddr of an object, as tagged_functions_find() does. */
bool tagger_find(struct tagger *tagger, const struct object *object, uint64_t vaddr,
		 struct tagged_code *ret_code);

/* Returns whether the tag may not be the function's at a vaddr: see tagged_functions_is_window().
 */
bool tagger_is_window(struct tagger *tagger, const struct object *object, uint64_t vaddr);

/* Returns whether the code at an object's offset is libstacktag's. */
bool tagger_is_runtime(struct tagger *tagger, const struct object *object, uint64_t offset);

#endif
