/* SPDX-License-Identifier: MIT */
/*
 * From a mapping to the file behind it: how the mapped file is found, and how it is made sure
 * that it is the mapped one. No state: object.c remembers what was opened.
 */
#ifndef PROC_OBJECT_OPEN_H
#define PROC_OBJECT_OPEN_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "proc/object.h"

/* Which file it is and in which state: a file that is rewritten in place gets another stamp. */
struct object_open_stamp {
	dev_t dev;
	ino_t inode;
	off_t size;
	struct timespec ctime;
};

struct object_open_file {
	struct elf_file *elf; /* the caller's */
	struct object_open_stamp stamp;
	bool is_deleted; /* " (deleted)" at the end of the mapping's path is not of the name */
};

/* Opens the file that process `pid` has mapped there. 0; -ENOENT (found nowhere), -ESTALE (only
 * files that are not the mapped one), -EACCES (not ours to open), -ENOEXEC (it is not an ELF
 * file that can be read), -ENOMEM, -EMFILE, -EIO. */
int object_open(const char *proc_root, pid_t pid, const struct object_mapping *m,
		struct object_open_file *ret_file);

/* Has the mapped file still the stamp that it had when it was opened? Does not open it. 1: yes;
 * 0: no, or another file is mapped there; -ENOENT: nothing can be said. */
int object_open_is_unchanged(const char *proc_root, pid_t pid, const struct object_mapping *m,
			     const struct object_open_stamp *stamp);

/* Does a path end as the kernel writes those of unlinked files? (So can a real name.) */
bool object_open_is_deleted(const char *path);

/* Is it memory without a file, however the kernel or perf names it? */
bool object_open_is_anonymous(const char *path);

/* The kernel's vDSO, from our own process: the same for all. 0, -ENOENT (there is none), or what
 * elf_file_open_memory() says. */
int object_open_vdso(struct elf_file **ret_elf);

#endif
