/* SPDX-License-Identifier: MIT */
/*
 * The names of libraries that a program may load while it runs: the strings in its read-only data
 * that look like one ("libplugin.so", "libz.so.1"), since dlopen() is mostly called with a literal.
 *
 * Not every such string is loaded, and a name that is put together at run time is none of them.
 */
#ifndef ELF_LIBRARY_NAMES_H
#define ELF_LIBRARY_NAMES_H

#include "elf/elf_file.h"

/* Calls `each` for each such name in a file, without a folder before it; some may come twice. The
 * string lives until `each` returns, whose nonzero result stops the calls and is returned. Else 0,
 * also where the file cannot be read, or -ENOMEM. */
int library_names_each(const struct elf_file *file, int (*each)(void *arg, const char *name),
		       void *arg);

#endif
