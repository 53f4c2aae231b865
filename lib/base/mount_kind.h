/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether the file system of a file may never answer, without asking it anything.
 *
 * A program serves a FUSE mount, and it may stop, or be written to do harm. Then nearly every
 * system call about a file there waits for ever, fstat() and statfs() as well, and not even SIGKILL
 * ends the wait. What the kernel knows by itself is asked instead: the number of a descriptor's
 * mount, and the mount's type, which the lists of mounts have (mount_list.h).
 */
#ifndef BASE_MOUNT_KIND_H
#define BASE_MOUNT_KIND_H

#include <sys/stat.h>
#include <sys/types.h>

struct mount_lists;

enum mount_kind {
	MOUNT_LOCAL,
	MOUNT_NETWORK, /* NFS and the like: another machine answers */
	MOUNT_SERVED,  /* a program answers (FUSE), or mounts something on demand (autofs) */
	MOUNT_LAYERED, /* an overlay of which no layer is known to be one of those above. Root of
			* this process's namespace of users has mounted it. */
	MOUNT_FOREIGN, /* an overlay that was mounted in another namespace of users, which anybody
			* may do. Its layers may be any of the above. */
	MOUNT_UNKNOWN, /* not in the lists of mounts: unmounted while files were in use, or seen by
			* other processes alone. It may be any of the above. */
};

/* Returns the kind of the mount of a file, of which `fd` may be an O_PATH descriptor. The mount is
 * looked for among those of this process, then of process `pid` (0: none), below `proc_root`. If
 * neither has it, another mount of the same file system says what it is. An overlay has the worst
 * kind of its layers, as far as it is known. `lists`: those that are kept; NULL: they are read for
 * this call. */
enum mount_kind mount_kind_of(struct mount_lists *lists, int fd, const char *proc_root, pid_t pid);

/* Returns 0 if a file may be opened and read as far as its mount is concerned: MOUNT_LOCAL,
 * MOUNT_NETWORK or an overlay. -EREMOTE: MOUNT_SERVED; -ENOLINK: MOUNT_UNKNOWN; -EMFILE, -ENFILE
 * or -ENOMEM: the lists of mounts could not be read. `lists` as above. */
int mount_check(struct mount_lists *lists, int fd, const char *proc_root, pid_t pid);

/* Does what fstat() does, from what the kernel has at hand: the file system is not asked. Of a
 * network file system the times and the size may be old. Returns 0 or -errno. */
int mount_stat(int fd, struct stat *ret_stat);

/* Does the same for a path, of which only the last component may be on such a file system, as in
 * /proc/PID/map_files. */
int mount_stat_path(const char *path, struct stat *ret_stat);

#endif
