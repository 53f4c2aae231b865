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

/* Calls `each` for the loader and then for every library that `file` names, in the file's order,
 * with its name and the path at which it was found (NULL: not found). Both strings live until
 * `each` returns. `path` is that of the file itself, for "$ORIGIN"; `cache` is the path of the
 * loader's cache, which need not exist; `folders` are those of LD_LIBRARY_PATH, or NULL. If `each`
 * returns a value other than 0, the calls stop and it is returned. Else returns 0 (a static file
 * names nothing) or -ENOMEM. */
int elf_libraries_each(const struct elf_file *file, const char *path, const char *cache,
		       const char *folders,
		       int (*each)(void *arg, const char *name, const char *found), void *arg);

/* Finds the file that the loader opens if `file` calls dlopen() with `name`. The parameters are
 * those of elf_libraries_each(). Returns 0; -ENOENT; or -ENOMEM. */
int elf_libraries_find(const struct elf_file *file, const char *path, const char *cache,
		       const char *folders, const char *name, char ret_path[PATH_MAX]);

#endif
