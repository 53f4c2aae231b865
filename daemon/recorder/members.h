/* SPDX-License-Identifier: MIT */
/*
 * The set of processes whose side-band events matter: the target and its children, or all.
 */
#ifndef MODEL_MEMBERS_H
#define MODEL_MEMBERS_H

#include <stdbool.h>
#include <sys/types.h>

struct members;

/* `everyone`: every process is one. 0 or -ENOMEM. */
int members_new(bool everyone, struct members **ret_members);
void members_free(struct members *members); /* NULL is fine */

/* Returns whether every process is a member. */
bool members_are_all(const struct members *members);

/* Returns whether a process is a member. */
bool members_has(const struct members *members, pid_t pid);

/* Adds a process, unless it is a member. 0 or -ENOMEM. */
int members_add(struct members *members, pid_t pid);

/* Removes a process, if it was added. */
void members_remove(struct members *members, pid_t pid);

/* Calls `fn` for each process that was added; stops at the first result that is not 0, and returns
 * it. */
int members_each(const struct members *members, int (*fn)(void *arg, pid_t pid), void *arg);

#endif
