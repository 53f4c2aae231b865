/* SPDX-License-Identifier: MIT */
/* A FUSE mount that nobody serves: each call that asks its file system anything waits for ever. */
#ifndef SERVED_MOUNT_H
#define SERVED_MOUNT_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Mounts it at `path`, which it makes, in a mount namespace of this test. `is_file`: the mount's
 * root is a regular file, which can be named without asking the server; else a folder. Returns a
 * descriptor of the device; closing it ends what waits. -1: that is not possible here. */
static int served_mount(const char *path, bool is_file)
{
	int fd = geteuid() ? -1 : open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];

	if (fd < 0)
		return -1;
	snprintf(options, sizeof(options), "fd=%d,rootmode=%o,user_id=0,group_id=0,allow_other", fd,
		 is_file ? S_IFREG : S_IFDIR);
	if (is_file)
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	else
		mkdir(path, 0755);
	if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("x", path, "fuse", MS_NOSUID | MS_NODEV, options))
		return fd;
	close(fd);
	return -1;
}

#endif
