/* SPDX-License-Identifier: MIT */
/*
 * Finds the key by which the kernel half recognises a file before a walk has come to it: inode
 * number, change time, device and generation.
 *
 * stat() and an ioctl return all of these for filesystems on a block device: ext4, XFS and their
 * like. Other filesystems have no generations, show another device number in stat() than the kernel
 * half sees, or are served by a program (FUSE), for which the daemon must not wait. The kernel half
 * learns of their files from the daemon after its first record in them.
 */
#ifndef RECORDER_FILE_KEY_H
#define RECORDER_FILE_KEY_H

#include <stdbool.h>

#include "proc/fuse_devices.h"
#include "proc/object.h"
#include "stackd_abi.h"

/* Gives the key that an object's file had when it was opened. `devices`: which devices may be
 * served by FUSE; their files get no key. false: there is no key, because the file is not open or
 * was changed, or because of its filesystem. */
bool file_key_of(const struct object *object, struct fuse_devices *devices,
		 struct stackd_inode *ret_key);

#endif
