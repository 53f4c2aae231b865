/* SPDX-License-Identifier: MIT */
/*
 * Finding a cgroup by what the user calls it: its folder, or its path below where cgroups are
 * mounted.
 *
 * Of cgroups there are two kinds, and a machine can have both mounted (a hybrid hierarchy). perf
 * takes those of version 2; but where its controller, perf_event, is mounted as one of version 1,
 * those of that mount and no others.
 */
#ifndef CAPTURE_CGROUP_H
#define CAPTURE_CGROUP_H

/* Opens the folder of a cgroup that perf takes. 0; -ENOENT, -ENOTDIR, -EINVAL (it is no cgroup, or
 * one of another kind) or what open() says, with a malloc()ed sentence in *ret_error. */
int cgroup_open(const char *path, int *ret_fd, char **ret_error);

#endif
