/* SPDX-License-Identifier: MIT */
/*
 * Decides which call paths pass the name filters of struct profile_filter, which select by the
 * function or object in which a sample hit, and by functions anywhere in its path. Inlined
 * functions count like others.
 *
 * One pass over the trie, root to leaves, decides all nodes, so each sample costs one array access.
 */
#ifndef MODEL_PATH_FILTER_H
#define MODEL_PATH_FILTER_H

#include "model/names.h"

struct path_filter;

/* Makes the filter for all nodes of the tables. `wanted` is borrowed and must outlive it; `tables`
 * and `names` are used during the call only. *ret_filter is NULL if `wanted` is NULL or has no name
 * filter. Returns 0, -ENOMEM, or -EINVAL for more than PROFILE_MAX_FOCUS functions to focus on. */
int path_filter_new(const struct profile_filter *wanted, const struct store_tables *tables,
		    struct names *names, struct path_filter **ret_filter);
void path_filter_free(struct path_filter *filter); /* NULL is allowed */

/* Returns whether the path of a node passes. `mark` is the name of the path's root mark, or NULL.
 */
bool path_filter_accepts(const struct path_filter *filter, uint32_t node, const char *mark);

#endif
