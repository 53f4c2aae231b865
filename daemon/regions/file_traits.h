/* SPDX-License-Identifier: MIT */
/* Finds out whether a file is a program, a library or the dynamic linker, and whether it starts
 * other programs. */
#ifndef REGIONS_FILE_TRAITS_H
#define REGIONS_FILE_TRAITS_H

#include <stdbool.h>

#include "elf/elf_file.h"

struct file_traits {
	bool is_program; /* it is executed, rather than loaded by a program */
	/* It is glibc's dynamic linker, which defines memcpy(), strlen() and others for itself
	 * alone. musl has one file for the C library and the linker, which is a library here. */
	bool is_linker;
	/* It calls exec(), posix_spawn(), system() or popen(); also true for a static program
	 * without symbols, which may do so. False for the C library, which defines these. */
	bool starts_others;
};

/* Decides by the headers and symbol tables; a broken file has no traits. */
struct file_traits file_traits_of(const struct elf_file *file);

#endif
