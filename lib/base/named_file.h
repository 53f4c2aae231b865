/* SPDX-License-Identifier: MIT */
/*
 * Opens files whose names come from others: from a profiled process, from one of its files (debug
 * links, source files), or from a recording. Such a name can lead to anything, and stackd has more
 * rights than the user who chose it. Nothing else of stackd and stackctl opens such names;
 * tests/lint/opens.py checks that.
 *
 * A file is first opened as a path (O_PATH), which has no effect on it, and is opened for reading
 * only if it is a regular file on a file system that holds files. Opening a FIFO can block, opening
 * a device can have effects, and the kernel's own interfaces (proc, sysfs, tracefs and the like)
 * are regular files too: a user who bind-mounts /proc/kmsg over a name in a mount namespace would
 * let a reader with rights take messages out of the kernel's log.
 */
#ifndef BASE_NAMED_FILE_H
#define BASE_NAMED_FILE_H

#include <sys/types.h>

/* Opens the file of an O_PATH descriptor for reading. Returns a descriptor; -EACCES: it is no
 * regular file, or lies on a file system that holds no files; or another -errno. */
int named_file_reopen(int path_fd);

/* Does the same if the file belongs to one of two users, and has no other name: a user can give
 * another's file a second name (a hard link), if the kernel lets him. -EACCES if not. */
int named_file_reopen_of(int path_fd, uid_t user, uid_t other_user);

/* Opens a file by its path, for a process that has only the rights of the user who runs it, or for
 * a path that this user has given. Symbolic links are followed. Errors as above. */
int named_file_open(const char *path);

/* Opens a file by its absolute path for a process that has more rights than the user who chose the
 * path. Opens only what that user may read: each folder on the way lets everybody pass, or belongs
 * to `user`, or only root could have put it there; the file lets everybody read it, or belongs to
 * `user`. Links are followed by the same rules. No mount that a program serves is entered. `user`:
 * who owns the file that has the path in it; 0 gives no more than everybody may. Returns a
 * descriptor; -EPERM: this user may not; -EACCES as above; or an error of path_walk(). */
int named_file_open_for(const char *path, uid_t user);

#endif
