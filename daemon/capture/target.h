/* SPDX-License-Identifier: MIT */
/*
 * Finds the target and watches whether it still runs: given processes (by pidfd), a command that it
 * starts (and holds before its exec until sampling is set up), a cgroup, or all processes.
 */
#ifndef CAPTURE_TARGET_H
#define CAPTURE_TARGET_H

#include "daemon/base/options.h"

struct target;

/* Finds the target; or forks a child for the command, which waits before its exec for
 * target_start(). 0; -ESRCH, -ENOENT, ... with a malloc()ed sentence in *ret_error. `options` is
 * borrowed. */
int target_new(const struct options *options, struct target **ret_target, char **ret_error);

/* Ends a command that still runs (SIGTERM) and frees. NULL is fine. */
void target_free(struct target *target);

/* Returns the processes to attach to; none for cgroups and everything. They belong to the target.
 */
const pid_t *target_pids(const struct target *target, size_t *ret_count);

/* Returns the descriptor of the cgroup's folder, which belongs to the target; -1: the target is no
 * cgroup. */
int target_cgroup_fd(const struct target *target);

/* Makes target_start() execute the command without preloading options->alloc_library. To be called
 * before target_start(). */
void target_leave_out_library(struct target *target);

/* Lets the command call exec. 0, or the negative errno of the exec. */
int target_start(struct target *target);

/* Gives the CPU time that the command, and those of its children that it waited for, have used.
 * false: it still runs, or the target is no command. */
bool target_command_cpu(struct target *target, uint64_t *ret_ns);

/* Returns a descriptor, owned by the target, that becomes readable when one of the processes ends;
 * -1: there is none. target_has_ended() then returns whether all of them have ended. */
int target_poll_fd(const struct target *target);
bool target_has_ended(struct target *target);

/* Returns the number of threads that the processes have. */
uint64_t target_threads(const struct target *target);

#endif
