/* SPDX-License-Identifier: MIT */
/*
 * The names of libraries that a program may load while it runs, found as strings in its read-only
 * data that look like such a name ("libplugin.so", "libz.so.1"), since dlopen() is mostly called
 * with a literal. Not every such string is loaded, and names that a program composes at run time
 * are not found.
 */
#ifndef ELF_LIBRARY_NAMES_H
#define ELF_LIBRARY_NAMES_H

#include "elf/elf_file.h"

/* Calls `each` for each such name in a file, without a folder before it; names may be repeated. The
 * string is valid until `each` returns. A nonzero result of `each` stops the calls and is returned.
 * Else returns 0, also if the file cannot be read, or -ENOMEM. */
int library_names_each(const struct elf_file *file, int (*each)(void *arg, const char *name),
		       void *arg);

#endif
