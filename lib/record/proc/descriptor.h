/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of other processes' descriptors and sockets.
 *
 * A descriptor can be closed, and become another file's, at any time. So this holds the file by a
 * descriptor of its own (O_PATH, which opens nothing) while it compares the file with what is known
 * about the wanted one: its inode number, and a time at which it existed. Neither comparison asks
 * the file system, which might block.
 */
#ifndef PROC_DESCRIPTOR_H
#define PROC_DESCRIPTOR_H

#include <stdint.h>
#include <sys/types.h>

/* Gives the path of the file at a process's descriptor, for free(), if it has this inode number and
 * was made no later than `time_ns` of CLOCK_REALTIME (if the file system knows; its clock has a
 * resolution of some milliseconds). The path of an unlinked file ends with " (deleted)". 0;
 * -ENOENT: it is another file, or none; -ESRCH, -EACCES, -ENOMEM or another -errno. */
int descriptor_path(const char *root, pid_t pid, int descriptor, uint64_t inode, uint64_t time_ns,
		    char **ret_path);

/* Gives the address of the AF_UNIX socket with this inode number in a process's network namespace,
 * for free(): a path, or "@..." for an abstract one. 0; -ENOENT: there is none with an address; or
 * another -errno. It reads the list of all such sockets. */
int descriptor_unix_address(const char *root, pid_t pid, uint64_t inode, char **ret_address);

#endif
