/* SPDX-License-Identifier: MIT */
/*
 * Finds a cgroup by its folder, or by its path below a mount of cgroups.
 *
 * A machine can have cgroups of versions 1 and 2 mounted at once (a hybrid hierarchy). perf accepts
 * those of version 2, unless the controller perf_event is mounted as version 1: then it accepts
 * only cgroups of that mount.
 */
#ifndef CAPTURE_CGROUP_H
#define CAPTURE_CGROUP_H

/* Opens the folder of a cgroup that perf accepts. 0; -ENOENT, -ENOTDIR, -EINVAL (the folder is no
 * cgroup, or perf does not accept it) or an error of open(), with a malloc()ed sentence in
 * *ret_error. The caller closes the descriptor. */
int cgroup_open(const char *path, int *ret_fd, char **ret_error);

#endif
