/* SPDX-License-Identifier: MIT */
/* Opens /proc/kallsyms and /proc/modules; see kernel_files.h. */
#include "proc/kernel_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static int open_below(const char *root, const char *name)
{
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void kernel_files_open(const char *root, struct kernel_files *ret_files)
{
	ret_files->symbols = open_below(root, "kallsyms");
	ret_files->modules = open_below(root, "modules");
}

void kernel_files_close(struct kernel_files *files)
{
	if (files->symbols >= 0)
		close(files->symbols);
	if (files->modules >= 0)
		close(files->modules);
	*files = KERNEL_FILES_NONE;
}
