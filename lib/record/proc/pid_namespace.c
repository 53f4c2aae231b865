/* SPDX-License-Identifier: MIT */
/* Looks at the inode of the namespace; see pid_namespace.h. */
#include "proc/pid_namespace.h"

#include <stdio.h>
#include <sys/stat.h>

#define FIRST_INODE 0xeffffffcu /* PID_NS_INIT_INO of the kernel, which never changes */

/* Returns whether a process (a folder name in `proc_root`) is in the first namespace. True also if
 * that cannot be read. */
static bool is_first(const char *proc_root, const char *process)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/ns/pid", proc_root, process);
	return stat(path, &st) || st.st_ino == FIRST_INODE;
}

bool pid_namespace_proc_is_first(const char *proc_root)
{
	char path[512];
	struct stat st;

	/* The /proc of a namespace that this process is not in has no "self". */
	snprintf(path, sizeof(path), "%s/self", proc_root);
	return !stat(path, &st) && is_first(proc_root, "1");
}

bool pid_namespace_is_first(const char *proc_root)
{
	return pid_namespace_proc_is_first(proc_root) && is_first(proc_root, "self");
}
