/* SPDX-License-Identifier: MIT */
/* Functions of files that keep a tag (callgraph/tagged_functions.h), found by a worker. */
#ifndef WORKER_ASK_TAGS_H
#define WORKER_ASK_TAGS_H

#include "callgraph/tagged_functions.h"
#include "daemon/worker/worker.h"

/* Looks at a file: whether it has a note, and which word that names; and whether functions of it
 * keep a tag. A file that cannot be read has neither. */
void ask_tags_info(struct worker *worker, const struct object *object, bool *ret_has_note,
		   uint64_t *ret_word, bool *ret_has_functions);

/* As their namesakes in callgraph/tagged_functions.h. */
bool ask_tags_find(struct worker *worker, const struct object *object, uint64_t vaddr,
		   struct tagged_code *ret_code);
bool ask_tags_is_runtime(struct worker *worker, const struct object *object, uint64_t vaddr);
bool ask_tags_is_window(struct worker *worker, const struct object *object, uint64_t vaddr);

#endif
