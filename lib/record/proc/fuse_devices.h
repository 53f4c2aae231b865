/* SPDX-License-Identifier: MIT */
/*
 * Finds out which devices hold file systems that a program serves (FUSE). Any system call about a
 * file there, even statfs(), waits until that program answers. File systems of the type "fuse" have
 * no block device, but those of the type "fuseblk" are on a block device, as ext4 is.
 */
#ifndef PROC_FUSE_DEVICES_H
#define PROC_FUSE_DEVICES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"

struct fuse_devices { /* A zeroed struct is an empty set. fuse_devices_fini() frees its memory. */
	VEC(struct fuse_device {
		dev_t device;
		bool is_fuse;
	})
	known;
};

/* Returns whether a program may serve the file system of a device: its type is one of FUSE, or
 * `mounts` lacks the device or cannot be read. `mounts` is the path of a file like
 * /proc/self/mountinfo. The answer is kept, so the file is read once for each device. */
bool fuse_devices_may_have(struct fuse_devices *devices, const char *mounts, dev_t device);

/* Frees the set's memory, and leaves an empty set. */
void fuse_devices_fini(struct fuse_devices *devices);

#endif
