/* SPDX-License-Identifier: MIT */
/*
 * The loader and the libraries that a program or library names (PT_INTERP, DT_NEEDED), searched in
 * the order of ld.so(8): in the file's own search path, in the loader's cache, in the default
 * folders. LD_LIBRARY_PATH belongs to the environment of a run, not to the file: callers that know
 * it pass its folders.
 *
 * The file is not trusted: an inconsistent table ends the list, and the length of names is bounded.
 * The named files are only searched, never run.
 */
#ifndef ELF_ELF_LIBRARIES_H
#define ELF_ELF_LIBRARIES_H

#include <limits.h>

#include "elf/elf_file.h"

#define ELF_LIBRARIES_CACHE "/etc/ld.so.cache"

/* Calls `each` with the name and the path of the loader and of every library that `file` names, in
 * its order; the path is NULL if the file was not found. Both strings live until `each` returns. A
 * nonzero result of `each` stops the calls and is returned. `path` is that of the file itself, for
 * "$ORIGIN"; `cache` that of the loader's cache, which need not exist; `folders` those of
 * LD_LIBRARY_PATH, NULL: none. Returns 0 (a static file names nothing) or -ENOMEM. */
int elf_libraries_each(const struct elf_file *file, const char *path, const char *cache,
		       const char *folders,
		       int (*each)(void *arg, const char *name, const char *found), void *arg);

/* Finds the file that the loader opens if `file` calls dlopen() with a name. Returns 0; -ENOENT; or
 * -ENOMEM. */
int elf_libraries_find(const struct elf_file *file, const char *path, const char *cache,
		       const char *folders, const char *name, char ret_path[PATH_MAX]);

#endif
