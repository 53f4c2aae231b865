/* SPDX-License-Identifier: MIT */
/* Asks a worker for the functions of files that keep a tag (callgraph/tagged_functions.h). */
#ifndef TAGS_ASK_TAGS_H
#define TAGS_ASK_TAGS_H

#include "daemon/tags/tag_files.h"
#include "daemon/worker/ask_worker.h"

/* Makes a tag_files that asks the worker of `files` (borrowed), and keeps the answers, since each
 * walk asks for the same addresses. Returns 0 or -ENOMEM. */
int ask_tags_new(const struct ask_files *files, struct tag_files **ret_files);

#endif
