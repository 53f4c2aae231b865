/* SPDX-License-Identifier: MIT */
/*
 * Opens the file behind a mapping: finds it, and proves that it is the mapped one. Keeps no state:
 * object.c keeps the opened files.
 */
#ifndef PROC_OBJECT_OPEN_H
#define PROC_OBJECT_OPEN_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "proc/object.h"

/* Identifies a file and its state: a file that is rewritten in place gets another stamp. */
struct object_open_stamp {
	dev_t dev;
	ino_t inode;
	off_t size;
	struct timespec ctime;
	int64_t mtime_ns; /* of its last write, by the file; not a part of its identity */
};

/* Returns whether two stamps are of the same file in the same state. */
bool object_open_is_same_stamp(const struct object_open_stamp *a,
			       const struct object_open_stamp *b);

/* Returns whether the file was certainly written to after this time (nanoseconds of CLOCK_REALTIME;
 * 0: not known), so that it may have had another content then. */
bool object_open_is_written_since(const struct object_open_stamp *stamp, uint64_t time_ns);

struct object_open_file {
	struct elf_file *elf; /* owned by the caller */
	struct object_open_stamp stamp;
	bool is_exact;	 /* found by the mapping itself, not by its name */
	bool is_deleted; /* the mapping's path ends with the kernel's " (deleted)" */
};

/* Opens the file that process `pid` has mapped, by `opener`. Returns 0; -ENOENT: no file was found;
 * -ESTALE: only files that are not the mapped one, or have been written to while they were read;
 * -EACCES: not allowed; -ENOEXEC: it is no ELF
 * file that can be read; -ENOMEM, -EMFILE or -EIO. */
int object_open(const char *proc_root, pid_t pid, const struct object_mapping *m,
		const struct elf_opener *opener, struct object_open_file *ret_file);

/* Gives the stamp of the mapping's own file (/proc/PID/map_files) without opening it. Returns 0;
 * -ENOENT: the mapping is gone, or this process may not look at it. */
int object_open_look(const char *proc_root, pid_t pid, const struct object_mapping *m,
		     struct object_open_stamp *ret_stamp);

/* Checks whether the mapped file still has the stamp that it had when it was opened, without
 * opening it. Returns 1 (it has), 0 (it has changed, or another file is mapped there), or -ENOENT
 * (unknown).
 */
int object_open_is_unchanged(const char *proc_root, pid_t pid, const struct object_mapping *m,
			     const struct object_open_stamp *stamp);

/* Returns whether a path ends in " (deleted)", as the kernel marks unlinked files. A real name can
 * end so too. */
bool object_open_is_deleted(const char *path);

/* Returns whether a path is a name that the kernel or perf gives to memory without a file. */
bool object_open_is_anonymous(const char *path);

/* Reads the kernel's vDSO from this process; it is the same in all. The caller frees *ret_elf.
 * Returns 0, -ENOENT (there is none), or an error of elf_file_open_memory(). */
int object_open_vdso(struct elf_file **ret_elf);

/* Does the same if this process's vDSO is the one that is mapped at `m`. All 64-bit processes of a
 * machine have the same vDSO. `is_foreign`: the mapping is from another machine, so its build-id
 * must be that of the vDSO. Errors as above; -ESTALE: another vDSO is mapped. */
int object_open_mapped_vdso(const struct object_mapping *m, bool is_foreign,
			    struct elf_file **ret_elf);

#endif
