/* SPDX-License-Identifier: MIT */
/*
 * Paths without their root part: a recording's tables with more nodes in its trie, for paths that
 * lose their first frames (those that are inferred, when only what was observed is asked for).
 * Whoever reads the trie through path_suffix_tables() then needs to know nothing about it.
 */
#ifndef MODEL_PATH_SUFFIX_H
#define MODEL_PATH_SUFFIX_H

#include "store/store_reader.h"

struct path_suffix;

/* The tables are borrowed. 0 or -ENOMEM. */
int path_suffix_new(const struct store_tables *tables, struct path_suffix **ret_suffix);
void path_suffix_free(struct path_suffix *suffix);

/* The node of a path without its first `skip` frames; 0, the empty path, if there are no more.
 * `node` is one of the original trie. 0 or -ENOMEM. */
int path_suffix_enter(struct path_suffix *suffix, uint32_t node, uint32_t skip, uint32_t *ret_node);

/* The same for a path that path_suffix_enter() has had. */
uint32_t path_suffix_find(const struct path_suffix *suffix, uint32_t node, uint32_t skip);

/* The tables with all nodes so far; their addresses change with path_suffix_enter(). */
const struct store_tables *path_suffix_tables(const struct path_suffix *suffix);

#endif
