/* SPDX-License-Identifier: MIT */
/* The functions of the two sides of a comparison, by the names under which they are matched. Only
 * tagset_diff.c uses this. */
#ifndef TAGSET_TAGSET_DIFF_NAMES_H
#define TAGSET_TAGSET_DIFF_NAMES_H

#include "tagset/tagset_diff.h"

/* Fills diff->names, diff->function_of and diff->is_rebuilt. Returns 0 or -ENOMEM; the caller
 * releases `diff` in either case. */
int tagset_diff_names_make(struct tagset_diff *diff, const struct tagset *set);

typedef int (*tagset_diff_each)(void *arg, uint32_t function);

/* Calls `each` for the functions of a location, the enclosing one first. Returns 0, -ENOMEM, or
 * what `each` returned, which ends the calls unless it is 0. */
int tagset_diff_names_each(struct tagset_diff *diff, const struct tagset *set, uint32_t location,
			   tagset_diff_each each, void *arg);

#endif
