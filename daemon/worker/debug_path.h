/* SPDX-License-Identifier: MIT */
/* Which files a worker may have as debug files of an object: stackd opens them with its rights. */
#ifndef WORKER_DEBUG_PATH_H
#define WORKER_DEBUG_PATH_H

/* Opens a debug file of the object at `object_path`. It is a regular file, below /usr/lib/debug; or
 * beside the object or in .debug/ there, or of a name as split DWARF and dwz have it (.dwo, .dwp,
 * .dwz, .sup, .debug, or in a folder .dwz), can be read by everybody, and begins as an ELF file.
 * Returns a descriptor, which the caller owns, or -errno; -EPERM: it is none of those. */
int debug_path_open(const char *path, const char *object_path);

#endif
