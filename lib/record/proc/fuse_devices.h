/* SPDX-License-Identifier: MIT */
/*
 * Finds out which devices hold filesystems that a program serves (FUSE). Any question about a file
 * there, even statfs(), waits until that program answers. Filesystems of the type "fuse" have no
 * device of their own, but those of "fuseblk" are on a block device, as ext4 is.
 */
#ifndef PROC_FUSE_DEVICES_H
#define PROC_FUSE_DEVICES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"

struct fuse_devices { /* A zeroed one is empty. fuse_devices_fini() frees it. */
	VEC(struct fuse_device {
		dev_t device;
		bool is_fuse;
	})
	known;
};

/* Returns whether a program may serve the filesystem of a device: its type is one of FUSE, or
 * `mounts` lacks the device, or cannot be read. `mounts` is the path of a file like
 * /proc/self/mountinfo, which is read once for each device. */
bool fuse_devices_may_have(struct fuse_devices *devices, const char *mounts, dev_t device);

/* Frees its memory, and leaves an empty one. */
void fuse_devices_fini(struct fuse_devices *devices);

#endif
