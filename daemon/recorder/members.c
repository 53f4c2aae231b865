/* SPDX-License-Identifier: MIT */
/* A set of process numbers; see members.h. */
#include "daemon/recorder/members.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct member {
	pid_t pid;
	UT_hash_handle hh;
};

struct members {
	bool everyone;
	struct member *set;
};

int members_new(bool everyone, struct members **ret_members)
{
	struct members *members = calloc(1, sizeof(*members));

	if (!members)
		return -ENOMEM;
	members->everyone = everyone;
	*ret_members = members;
	return 0;
}

void members_free(struct members *members)
{
	struct member *member, *next;

	if (!members)
		return;
	HASH_ITER (hh, members->set, member, next) {
		HASH_DEL(members->set, member);
		free(member);
	}
	free(members);
}

static struct member *find(const struct members *members, pid_t pid)
{
	struct member *member;

	HASH_FIND_INT(members->set, &pid, member);
	return member;
}

bool members_are_all(const struct members *members)
{
	return members->everyone;
}

bool members_has(const struct members *members, pid_t pid)
{
	return members->everyone || find(members, pid);
}

int members_add(struct members *members, pid_t pid)
{
	struct member *member;

	if (members_has(members, pid))
		return 0;
	member = calloc(1, sizeof(*member));
	if (!member)
		return -ENOMEM;
	member->pid = pid;
	HASH_ADD_INT(members->set, pid, member);
	return 0;
}

void members_remove(struct members *members, pid_t pid)
{
	struct member *member = find(members, pid);

	if (!member)
		return;
	HASH_DEL(members->set, member);
	free(member);
}

int members_each(const struct members *members, int (*fn)(void *arg, pid_t pid), void *arg)
{
	struct member *member, *next;
	int err;

	HASH_ITER (hh, members->set, member, next) {
		err = fn(arg, member->pid);
		if (err)
			return err;
	}
	return 0;
}
