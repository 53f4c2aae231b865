/* SPDX-License-Identifier: MIT */
/* Groups the entries of a profile (by process, by thread name, ...), for calltree_add(). */
#ifndef TREE_GROUPS_H
#define TREE_GROUPS_H

#include "model/profile.h"

struct groups {
	/* numbers of entries, sorted by group, then root mark, then in the profile's order */
	uint32_t *order;
	/* n + 1 elements: the entries of group i are order[first[i] .. first[i + 1]) */
	uint32_t *first;
	uint64_t *samples; /* by group */
	uint32_t *ranking; /* groups that have samples, most samples first */
	uint32_t n, n_ranking;
};

/* Groups the entries by their threads: group_of_thread[thread] is a number below `n_groups`. The
 * caller frees the result with groups_free(). Takes linear time in entries and groups, except for
 * the ranking. Returns 0 or -ENOMEM. */
int groups_make(const struct profile *profile, const uint32_t *group_of_thread, uint32_t n_groups,
		struct groups *ret_groups);

/* Does as groups_make(), with the group of each entry given. */
int groups_make_by_entry(const struct profile *profile, const uint32_t *group_of_entry,
			 uint32_t n_groups, struct groups *ret_groups);

/* Does what groups_make() does, with the number of the process as the group. */
int groups_by_process(const struct profile *profile, struct groups *ret_groups);

/* Frees the arrays and zeroes the groups; they may be zeroed already. */
void groups_free(struct groups *groups);

#endif
