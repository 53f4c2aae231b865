/* SPDX-License-Identifier: MIT */
/* Looks at the inode of the namespace; see pid_namespace.h. */
#include "proc/pid_namespace.h"

#include <stdio.h>
#include <sys/stat.h>

#define FIRST_INODE 0xeffffffcu /* PID_NS_INIT_INO of the kernel, which never changes */

bool pid_namespace_is_first(const char *proc_root)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/self/ns/pid", proc_root);
	return stat(path, &st) || st.st_ino == FIRST_INODE;
}
