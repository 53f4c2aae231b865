/* SPDX-License-Identifier: MIT */
/* Keeps a set of process ids; see tracked_pids.h. */
#include "daemon/recorder/tracked_pids.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct member {
	pid_t pid;
	UT_hash_handle hh;
};

struct tracked_pids {
	bool everyone;
	struct member *set;
};

int tracked_pids_new(bool everyone, struct tracked_pids **ret_pids)
{
	struct tracked_pids *pids = calloc(1, sizeof(*pids));

	if (!pids)
		return -ENOMEM;
	pids->everyone = everyone;
	*ret_pids = pids;
	return 0;
}

void tracked_pids_free(struct tracked_pids *pids)
{
	struct member *member, *next;

	if (!pids)
		return;
	HASH_ITER (hh, pids->set, member, next) {
		HASH_DEL(pids->set, member);
		free(member);
	}
	free(pids);
}

static struct member *find(const struct tracked_pids *pids, pid_t pid)
{
	struct member *member;

	HASH_FIND_INT(pids->set, &pid, member);
	return member;
}

bool tracked_pids_are_all(const struct tracked_pids *pids)
{
	return pids->everyone;
}

bool tracked_pids_has(const struct tracked_pids *pids, pid_t pid)
{
	return pids->everyone || find(pids, pid);
}

int tracked_pids_add(struct tracked_pids *pids, pid_t pid)
{
	struct member *member;

	if (tracked_pids_has(pids, pid))
		return 0;
	member = calloc(1, sizeof(*member));
	if (!member)
		return -ENOMEM;
	member->pid = pid;
	HASH_ADD_INT(pids->set, pid, member);
	return 0;
}

void tracked_pids_remove(struct tracked_pids *pids, pid_t pid)
{
	struct member *member = find(pids, pid);

	if (!member)
		return;
	HASH_DEL(pids->set, member);
	free(member);
}

int tracked_pids_each(const struct tracked_pids *pids, int (*fn)(void *arg, pid_t pid), void *arg)
{
	struct member *member, *next;
	int err;

	HASH_ITER (hh, pids->set, member, next) {
		err = fn(arg, member->pid);
		if (err)
			return err;
	}
	return 0;
}
