/* SPDX-License-Identifier: MIT */
/* Reads the key by stat() and an ioctl; see file_key.h. */
#include "daemon/recorder/file_key.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#define KERNEL_MINOR_BITS 20 /* bits of the minor number in the kernel's device numbers */

bool file_key_of(const struct object *object, struct fuse_devices *devices,
		 struct stackd_inode *ret_key)
{
	const struct elf_file *elf = object->elf;
	const struct elf_stamp *stamp = elf_file_stamp(elf);
	int generation = 0; /* the ioctl's name says long, and it writes an int */

	/* Nothing here may wait for the program that serves a FUSE filesystem. */
	if (!stamp->inode || !major(stamp->dev) || !elf_file_is_open(elf) ||
	    elf_file_is_touched(elf) ||
	    fuse_devices_may_have(devices, "/proc/self/mountinfo", stamp->dev) ||
	    ioctl(elf_file_descriptor(elf), FS_IOC_GETVERSION, &generation))
		return false;
	*ret_key = (struct stackd_inode){
		.inode = stamp->inode,
		.changed_ns = (uint64_t)stamp->ctime_ns,
		.dev = major(stamp->dev) << KERNEL_MINOR_BITS | minor(stamp->dev),
		.generation = (uint32_t)generation,
	};
	return true;
}
