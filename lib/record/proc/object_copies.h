/* SPDX-License-Identifier: MIT */
/*
 * Files with the same content as an object's: a library that was installed again, or is in another
 * container's layer. All of them are one object (object.h), and to read it one of the files is
 * enough. But a probe is set in one file, so code that sets probes has to know all files.
 *
 * A file is identified by device and inode. It is opened when a process maps it, through
 * /proc/PID/map_files (which needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN). If the process has
 * unmapped the file by then, it is found only if the object itself is later read from it because
 * the object's first file was replaced.
 */
#ifndef PROC_OBJECT_COPIES_H
#define PROC_OBJECT_COPIES_H

#include "proc/object.h"

struct object_copies;

struct object_copy {
	const struct object *object; /* the object whose content the file has */
	struct elf_file *elf;	     /* owned by the copies */
	char *path;		     /* as the process saw it */
};

/* Returns 0 or -ENOMEM. */
int object_copies_new(struct object_copies **ret_copies);
void object_copies_free(struct object_copies *copies); /* NULL is fine */

/* Process `pid` has mapped `object`, which has an elf, at `m`: keeps the mapped file, unless it is
 * the object's own file or is known. Returns 0 or -ENOMEM. A file that cannot be opened is left
 * out, which is no error. */
int object_copies_see(struct object_copies *copies, const char *proc_root, pid_t pid,
		      const struct object_mapping *m, const struct elf_opener *opener,
		      const struct object *object);

/* Return the number of copies, and one of them, which lives as long as `copies`. `copies` may be
 * NULL: there are none. */
size_t object_copies_count(const struct object_copies *copies);
const struct object_copy *object_copies_at(const struct object_copies *copies, size_t index);

#endif
