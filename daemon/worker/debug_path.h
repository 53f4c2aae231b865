/* SPDX-License-Identifier: MIT */
/* Decides which files a worker may have as an object's debug files, since stackd opens them with
 * its own rights. */
#ifndef WORKER_DEBUG_PATH_H
#define WORKER_DEBUG_PATH_H

#include <sys/types.h>

#include "elf/elf_file.h"

/* Opens a debug file of the object at `object_path`, which must be a file that everybody or the
 * user `owner` may read (named_file_open_for()), and below /usr/lib/debug; or beside the object or
 * in .debug/ there, or with a name as split DWARF and dwz have it (.dwo, .dwp, .dwz, .sup, .debug,
 * or in a folder .dwz), and an ELF file by its first bytes. Returns a descriptor, which the caller
 * owns, or -errno; -EPERM: the file is none of these. */
int debug_path_open(const char *path, const char *object_path, uid_t owner);

/* Returns the user to whom an object belongs, for debug_path_open(); 0 where that is not sure,
 * since a program serves the file system and may name any user. NULL: 0. */
uid_t debug_path_owner(const struct elf_file *object);

#endif
