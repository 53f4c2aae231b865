/* SPDX-License-Identifier: MIT */
/*
 * The processes whose side-band events matter: those that were named and their children, or all.
 */
#ifndef MODEL_MEMBERS_H
#define MODEL_MEMBERS_H

#include <stdbool.h>
#include <sys/types.h>

struct members;

/* `everyone`: every process is one. 0 or -ENOMEM. */
int members_new(bool everyone, struct members **ret_members);
void members_free(struct members *members);

bool members_are_all(const struct members *members);
bool members_has(const struct members *members, pid_t pid);
int members_add(struct members *members, pid_t pid); /* 0 or -ENOMEM */
void members_remove(struct members *members, pid_t pid);

/* Calls `fn` for each that was added; stops at, and returns, the first that is not 0. */
int members_each(const struct members *members, int (*fn)(void *arg, pid_t pid), void *arg);

#endif
