/* SPDX-License-Identifier: MIT */
/* Asks a worker for the functions of files that keep a tag (callgraph/tagged_functions.h). */
#ifndef TAGS_ASK_TAGS_H
#define TAGS_ASK_TAGS_H

#include "daemon/tags/tag_files.h"
#include "daemon/worker/ask_worker.h"

/* Prepares to ask the worker of `files`, which are borrowed. Answers are kept, since the same
 * addresses come with each walk. 0 or -ENOMEM. */
int ask_tags_new(const struct ask_files *files, struct tag_files **ret_files);

#endif
