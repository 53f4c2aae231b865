/* SPDX-License-Identifier: MIT */
/*
 * Keeps the set of processes whose side-band events are used: the target and its children, or all.
 */
#ifndef RECORDER_TRACKED_PIDS_H
#define RECORDER_TRACKED_PIDS_H

#include <stdbool.h>
#include <sys/types.h>

struct tracked_pids;

/* `everyone`: every process is a member. 0 or -ENOMEM. */
int tracked_pids_new(bool everyone, struct tracked_pids **ret_pids);
void tracked_pids_free(struct tracked_pids *pids); /* NULL is fine */

/* Returns whether every process is a member. */
bool tracked_pids_are_all(const struct tracked_pids *pids);

/* Returns whether a process is a member. */
bool tracked_pids_has(const struct tracked_pids *pids, pid_t pid);

/* Adds a process, unless it is a member. 0 or -ENOMEM. */
int tracked_pids_add(struct tracked_pids *pids, pid_t pid);

/* Removes a process, if it was added. */
void tracked_pids_remove(struct tracked_pids *pids, pid_t pid);

/* Calls `fn` for each process that was added; stops at the first result that is not 0, and returns
 * it. */
int tracked_pids_each(const struct tracked_pids *pids, int (*fn)(void *arg, pid_t pid), void *arg);

#endif
