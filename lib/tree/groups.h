/* SPDX-License-Identifier: MIT */
/* The entries of a profile in groups (by process, by thread name, ...), for calltree_add(). */
#ifndef TREE_GROUPS_H
#define TREE_GROUPS_H

#include "model/profile.h"

struct groups {
	uint32_t *order;   /* indexes of entries: by group, then by root mark, then as they were */
	uint32_t *first;   /* n + 1: the entries of group i are order[first[i] .. first[i + 1]) */
	uint64_t *samples; /* by group */
	uint32_t *ranking; /* groups with samples, most samples first */
	uint32_t n, n_ranking;
};

/* Groups the entries by what `group_of_thread` says of their threads (below `n_groups`). 0 or
 * -ENOMEM. Linear in entries and groups, but for the ranking of the groups that have any. */
int groups_make(const struct profile *profile, const uint32_t *group_of_thread, uint32_t n_groups,
		struct groups *ret_groups);

/* The same by what `group_of_entry` says of each entry. */
int groups_make_by_entry(const struct profile *profile, const uint32_t *group_of_entry,
			 uint32_t n_groups, struct groups *ret_groups);

/* The same by process number. */
int groups_by_process(const struct profile *profile, struct groups *ret_groups);

void groups_free(struct groups *groups);

#endif
