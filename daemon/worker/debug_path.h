/* SPDX-License-Identifier: MIT */
/* Decides which files a worker may have as an object's debug files, since stackd opens them with
 * its own rights. */
#ifndef WORKER_DEBUG_PATH_H
#define WORKER_DEBUG_PATH_H

/* Opens a debug file of the object at `object_path`, which must be a regular file below
 * /usr/lib/debug; or beside the object or in .debug/ there, or with a name as split DWARF and dwz
 * have it (.dwo, .dwp, .dwz, .sup, .debug, or in a folder .dwz), readable by everybody, and an ELF
 * file by its first bytes. Returns a descriptor, which the caller owns, or -errno; -EPERM: the file
 * is none of these. */
int debug_path_open(const char *path, const char *object_path);

#endif
