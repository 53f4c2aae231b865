/* SPDX-License-Identifier: MIT */
/*
 * Paths without their root part: a recording's tables with more nodes in its trie, for paths that
 * lose their first frames (those that are inferred, when only what was observed is asked for).
 * Whoever reads the trie through trim_tables() then needs to know nothing about it.
 */
#ifndef MODEL_PATH_SUFFIX_H
#define MODEL_PATH_SUFFIX_H

#include "store/store_reader.h"

struct trim;

/* The tables are borrowed. 0 or -ENOMEM. */
int trim_new(const struct store_tables *tables, struct trim **ret_trim);
void trim_free(struct trim *trim);

/* The node of a path without its first `skip` frames; 0, the empty path, if there are no more.
 * `node` is one of the original trie. 0 or -ENOMEM. */
int trim_path(struct trim *trim, uint32_t node, uint32_t skip, uint32_t *ret_node);

/* The same for a path that trim_path() has had. */
uint32_t trim_find(const struct trim *trim, uint32_t node, uint32_t skip);

/* The tables with all nodes so far; their addresses change with trim_path(). */
const struct store_tables *trim_tables(const struct trim *trim);

#endif
