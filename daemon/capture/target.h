/* SPDX-License-Identifier: MIT */
/*
 * What is being profiled, and whether it still runs: given processes (watched by pidfd), a command
 * that is started here (held back until sampling is set up), a cgroup, or everything.
 */
#ifndef CAPTURE_TARGET_H
#define CAPTURE_TARGET_H

#include "daemon/base/options.h"

struct target;

/* Finds the target or starts the command, stopped before its exec. 0; -ESRCH, -ENOENT, ... with
 * a malloc()ed sentence in *ret_error. `options` is borrowed. */
int target_new(const struct options *options, struct target **ret_target, char **ret_error);

/* Ends a command that still runs (SIGTERM) and frees. NULL is fine. */
void target_free(struct target *target);

/* The processes to attach to; none for cgroups and everything. */
const pid_t *target_pids(const struct target *target, size_t *ret_count);

int target_cgroup_fd(const struct target *target); /* -1 unless it is a cgroup */

/* Lets the command go on to its exec. 0, or why the command could not be run: negative errno. */
int target_start(struct target *target);

/* The CPU time that the command has used, with the children that it waited for. false: it still
 * runs, or the target is no command. */
bool target_command_cpu(struct target *target, uint64_t *ret_ns);

/* A descriptor that becomes readable when one of the processes ends; -1 for none. After that,
 * target_has_ended() says whether all of them have. */
int target_poll_fd(const struct target *target);
bool target_has_ended(struct target *target);

#endif
