/* SPDX-License-Identifier: MIT */
/*
 * Which other files a program or library runs with, and where the loader finds them: what it names
 * itself (PT_INTERP, DT_NEEDED), looked up as ld.so(8) says: in the file's own search path, in the
 * loader's cache, in the usual folders. LD_LIBRARY_PATH is left out: it is of whoever ran the
 * program, and not of the file.
 *
 * The file is not trusted: a table that lies ends the list, and names are bounded. What it names is
 * only looked for, never run.
 */
#ifndef ELF_ELF_LIBRARIES_H
#define ELF_ELF_LIBRARIES_H

#include "elf/elf_file.h"

#define ELF_LIBRARIES_CACHE "/etc/ld.so.cache"

/* Calls `each` with the name and the path of the loader and of every library that `file` names, in
 * its order; the path is NULL where there is none. Both live until `each` returns; what it returns
 * other than 0 stops and is passed on. `path`: of the file itself, for "$ORIGIN". `cache`: the
 * loader's; it need not exist. 0 (a static file names nothing), or -ENOMEM. */
int elf_libraries_each(const struct elf_file *file, const char *path, const char *cache,
		       int (*each)(void *arg, const char *name, const char *found), void *arg);

#endif
