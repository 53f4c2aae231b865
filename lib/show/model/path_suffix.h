/* SPDX-License-Identifier: MIT */
/*
 * Paths without their root part: a copy of a recording's tables whose trie has additional nodes,
 * for paths that lose their first frames (the inferred ones, if a user wants only observed frames).
 * Code that reads the trie through path_suffix_tables() sees ordinary paths.
 */
#ifndef MODEL_PATH_SUFFIX_H
#define MODEL_PATH_SUFFIX_H

#include "store/store_reader.h"

struct path_suffix;

/* Copies the trie of `tables`. All other tables are borrowed and must outlive the result. Returns 0
 * or -ENOMEM. */
int path_suffix_new(const struct store_tables *tables, struct path_suffix **ret_suffix);
void path_suffix_free(struct path_suffix *suffix); /* NULL is allowed */

/* Gives the node of a path without its first `skip` frames, and adds nodes if there is none: node
 * 0, the empty path, if no frame remains. `node` is a node of the original trie. Returns 0 or
 * -ENOMEM. */
int path_suffix_enter(struct path_suffix *suffix, uint32_t node, uint32_t skip, uint32_t *ret_node);

/* Returns the node that path_suffix_enter() returned for the same arguments; UINT32_MAX if it was
 * not called with them. */
uint32_t path_suffix_find(const struct path_suffix *suffix, uint32_t node, uint32_t skip);

/* Returns the tables with all nodes so far. They belong to `suffix`; the next path_suffix_enter()
 * can move the array of nodes. */
const struct store_tables *path_suffix_tables(const struct path_suffix *suffix);

#endif
