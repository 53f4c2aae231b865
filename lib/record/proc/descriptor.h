/* SPDX-License-Identifier: MIT */
/*
 * What another process's descriptors and sockets are named by.
 *
 * A descriptor can be closed, and be another file's, at any time. So the file is held by a
 * descriptor of our own (O_PATH, which opens nothing) while it is compared with what is known of
 * the one that is looked for: the kernel's number of its inode, and when it was there. Neither is
 * asked of the file system, which might block.
 */
#ifndef PROC_DESCRIPTOR_H
#define PROC_DESCRIPTOR_H

#include <stdint.h>
#include <sys/types.h>

/* Gives the path of the file that a process has at a descriptor, for free(), if that has this inode
 * number, and was made no later than `time_ns` of CLOCK_REALTIME (where the file system knows; its
 * clock has some milliseconds). A file without a name any more ends with " (deleted)". 0; -ENOENT:
 * it is another file, or none; -ESRCH, -EACCES, -ENOMEM or another -errno. */
int descriptor_path(const char *root, pid_t pid, int descriptor, uint64_t inode, uint64_t time_ns,
		    char **ret_path);

/* Gives the address of the socket of AF_UNIX with this inode number in a process's network
 * namespace, for free(): a path, or "@..." of an abstract one. 0; -ENOENT: there is none with an
 * address; or another -errno. It reads the list of all of them. */
int descriptor_unix_address(const char *root, pid_t pid, uint64_t inode, char **ret_address);

#endif
