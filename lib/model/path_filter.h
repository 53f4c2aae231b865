/* SPDX-License-Identifier: MIT */
/*
 * Which call paths a filter chooses by names (model/profile.h): of the function or object where
 * a sample hit, and of functions anywhere in its path. Inlined functions count like others.
 *
 * Decided once for all nodes of the trie, root to leaf, so a sample is one look in an array.
 */
#ifndef MODEL_PATH_FILTER_H
#define MODEL_PATH_FILTER_H

#include "model/names.h"

struct path_filter;

/* *ret_choice is NULL if the filter asks for no names. 0, -ENOMEM, -EINVAL: more than
 * PROFILE_MAX_FOCUS functions to focus on. */
int path_filter_new(const struct profile_filter *wanted, const struct store_tables *tables,
		    struct names *names, struct path_filter **ret_filter);
void path_filter_free(struct path_filter *filter);

/* Whether a path is chosen; `mark` is the name of its root mark, or NULL. */
bool path_filter_accepts(const struct path_filter *filter, uint32_t node, const char *mark);

#endif
