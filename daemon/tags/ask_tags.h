/* SPDX-License-Identifier: MIT */
/* Functions of files that keep a tag (callgraph/tagged_functions.h), found by a worker. */
#ifndef TAGS_ASK_TAGS_H
#define TAGS_ASK_TAGS_H

#include "callgraph/tagged_functions.h"
#include "daemon/worker/ask_worker.h"

struct ask_tags;

/* Prepares to ask the worker of `files`, which are borrowed. Answers are kept: the same addresses
 * come again with each walk. 0 or -ENOMEM. */
int ask_tags_new(const struct ask_files *files, struct ask_tags **ret_tags);
void ask_tags_free(struct ask_tags *tags); /* NULL is fine */

/* Looks at a file: whether it has a note, and which word that names; and whether functions of it
 * keep a tag. A file that cannot be read has neither. */
void ask_tags_info(struct ask_tags *tags, const struct object *object, bool *ret_has_note,
		   uint64_t *ret_word, bool *ret_has_functions);

/* As their namesakes in callgraph/tagged_functions.h. */
bool ask_tags_find(struct ask_tags *tags, const struct object *object, uint64_t vaddr,
		   struct tagged_code *ret_code);
bool ask_tags_is_runtime(struct ask_tags *tags, const struct object *object, uint64_t vaddr);
bool ask_tags_is_window(struct ask_tags *tags, const struct object *object, uint64_t vaddr);

#endif
