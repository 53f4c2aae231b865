/* SPDX-License-Identifier: MIT */
/*
 * What the kernel half identifies a file by, before it has met the file: inode number, change time,
 * device and generation.
 *
 * stat() and an ioctl have all of it for filesystems on a block device: ext4, XFS and their like.
 * Others number their devices in another way than stat() shows, have no generations, or are
 * served by a program (FUSE), for which the daemon must not wait. The kernel
 * half learns of those files when a record has met them.
 */
#ifndef MODEL_FILE_KEY_H
#define MODEL_FILE_KEY_H

#include <stdbool.h>

#include "proc/fuse_devices.h"
#include "proc/object.h"
#include "stackd_abi.h"

/* The key of an object's file in the state that it was opened in. false: it is not open, or has no
 * key that is known here. `devices` keeps which ones are not asked. */
bool file_key_of(const struct object *object, struct fuse_devices *devices,
		 struct stackd_inode *ret_key);

#endif
