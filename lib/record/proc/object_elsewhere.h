/* SPDX-License-Identifier: MIT */
/*
 * Finds files of another machine, or files that are no longer where they were mapped: below a
 * folder with the same layout (perf's --symfs), and in perf's cache of files by build-id, which
 * `perf record` fills and `perf archive` packs.
 */
#ifndef PROC_OBJECT_ELSEWHERE_H
#define PROC_OBJECT_ELSEWHERE_H

#include "proc/object_open.h"

struct object_elsewhere;

/* Opens both folders now; either may be NULL, and a `cache` that does not exist counts as NULL.
 * Returns 0, -ENOMEM, or the -errno of opening `root`. */
int object_elsewhere_new(const char *root, const char *cache,
			 struct object_elsewhere **ret_elsewhere);
void object_elsewhere_free(struct object_elsewhere *elsewhere);

/* Opens the mapped file. A file is accepted if it has the mapping's build-id; below `root` also if
 * the mapping has no build-id, since the user has vouched for that folder. `elsewhere` may be NULL.
 * Returns 0; -ENOENT; -ESTALE: only another file was found; or an error of elf_file_open(). */
int object_elsewhere_open(const struct object_elsewhere *elsewhere, const struct object_mapping *m,
			  struct object_open_file *ret_file);

#endif
