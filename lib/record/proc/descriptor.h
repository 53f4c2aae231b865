/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of other processes' descriptors and sockets.
 *
 * The other process can close a descriptor and open another file with its number at any time. So
 * this holds the file by an O_PATH descriptor of its own (which does not open the file) while it
 * compares the file with what is known about the wanted file: its inode number, and a time at which
 * it existed. Neither comparison calls the file system, which might block.
 */
#ifndef PROC_DESCRIPTOR_H
#define PROC_DESCRIPTOR_H

#include <stdint.h>
#include <sys/types.h>

/* Gives the path of the file at a process's descriptor, if the file has this inode number and was
 * made no later than `time_ns` of CLOCK_REALTIME. (The time is not compared if the file system does
 * not tell it; its clock has a resolution of some milliseconds.) The path of an unlinked file ends
 * with " (deleted)". The caller frees *ret_path. Returns 0; -ENOENT: there is another file, or
 * none; -ESRCH, -EACCES, -ENOMEM or another -errno. */
int descriptor_path(const char *root, pid_t pid, int descriptor, uint64_t inode, uint64_t time_ns,
		    char **ret_path);

/* Gives the address of the AF_UNIX socket with this inode number in a process's network namespace:
 * a path, or "@..." for an abstract address. Reads the list of all such sockets. The caller frees
 * *ret_address. Returns 0; -ENOENT: there is no such socket with an address; or another -errno. */
int descriptor_unix_address(const char *root, pid_t pid, uint64_t inode, char **ret_address);

#endif
