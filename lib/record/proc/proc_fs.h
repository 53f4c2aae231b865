/* SPDX-License-Identifier: MIT */
/*
 * Reads the files of /proc/PID. This is the only code that knows their formats.
 *
 * `root` is "/proc" but for tests. A process can vanish between any two calls and between two
 * reads of one file: that is -ESRCH, never a crash. Errors of all: -ESRCH (no such process or
 * task), -EACCES (not ours to read), -ENOMEM, -EBADMSG (not the format of a /proc file), or the
 * -errno of open() or read().
 */
#ifndef PROC_PROC_FS_H
#define PROC_PROC_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct mount_lists;

#define PROC_FS_COMM_SIZE 16 /* with the final NUL */

/* A line of /proc/PID/maps. */
struct proc_fs_map {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	bool executable, writable, shared;
	const char *path; /* line ends unescaped; "" for none; lives for the call */
};

/* Calls `each` for every mapping, by rising address. A non-zero result ends the calls and is
 * returned. -ESRCH also if the process has called exec or has ended meanwhile, so that mappings may
 * be missing. */
int proc_fs_each_map(const char *root, pid_t pid,
		     int (*each)(void *arg, const struct proc_fs_map *map), void *arg);

/* Calls `each` for every process of `root`, or for every thread of process `pid`, in no order. A
 * non-zero result ends the calls and is returned. */
int proc_fs_each_process(const char *root, int (*each)(void *arg, pid_t pid), void *arg);
int proc_fs_each_task(const char *root, pid_t pid, int (*each)(void *arg, pid_t tid), void *arg);

struct proc_fs_stat {
	char state; /* 'R', 'S', 'Z', ... */
	/* It has begun to exit, so its memory (all mappings) may be gone already. */
	bool is_exiting;
	/* It executes a program whose arguments and environment the kernel has not set yet. Needs
	 * the right to read the process's memory. */
	bool is_in_exec;
	pid_t parent;
	uint64_t start_ticks; /* since boot: identifies the process together with the pid */
};

/* Reads /proc/PID/stat. */
int proc_fs_stat(const char *root, pid_t pid, struct proc_fs_stat *ret_stat);

struct proc_fs_status {
	uid_t uid, euid;
	pid_t ns_pid; /* its pid in its own pid namespace */
};

/* Reads /proc/PID/status. */
int proc_fs_status(const char *root, pid_t pid, struct proc_fs_status *ret_status);

/* Reads the name of a thread, NUL-terminated and padded with NULs. */
int proc_fs_comm(const char *root, pid_t pid, pid_t tid, char ret_comm[PROC_FS_COMM_SIZE]);

/* Returns the path of the main executable, malloc()ed. Kernel threads have none: -ESRCH. */
int proc_fs_exe(const char *root, pid_t pid, char **ret_path);

/* Return descriptors: proc_fs_map_file() of the file that a process has mapped at [start, end),
 * proc_fs_root_file() of a file by its path in the process's root folder (symbolic links are
 * resolved inside that root; -EREMOTE or -ENOLINK: a mount that may not answer is on the way).
 * These descriptors only name the file (O_PATH), because opening one that is not a regular file
 * could block or do harm. named_file_reopen() opens such a file for reading. `mounts`: lists of
 * mounts that are kept; NULL: they are read for this call. */
int proc_fs_map_file(const char *root, pid_t pid, uint64_t start, uint64_t end);
int proc_fs_root_file(const char *root, pid_t pid, const char *path, bool follow,
		      struct mount_lists *mounts);

/* Returns whether a link in /proc/PID (ns/mnt, root) leads to the same file for two processes;
 * false if it cannot be read for one of them. */
bool proc_fs_is_same_file(const char *root, pid_t one, pid_t other, const char *link);

/* Gives the stat() of the file that process `pid` has mapped at exactly these addresses. Returns 0
 * or the -errno of stat(). */
int proc_fs_stat_map_file(const char *root, pid_t pid, uint64_t start, uint64_t end,
			  struct stat *ret_stat);

/* Gives the path behind a mapping's link in map_files, as the kernel sees it, malloc()ed. */
int proc_fs_map_file_path(const char *root, pid_t pid, uint64_t start, uint64_t end,
			  char **ret_path);

#endif
