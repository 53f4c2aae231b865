/* SPDX-License-Identifier: MIT */
/*
 * Finds one exported symbol of a shared library as the dynamic linker does: by the hash table of
 * its dynamic section (DT_GNU_HASH). It takes a dozen small reads, and libelf is not used, so the
 * daemon may call it for files that others have written.
 */
#ifndef ELF_ELF_EXPORT_H
#define ELF_ELF_EXPORT_H

#include <stdint.h>

#include "elf/elf_file.h"

/* Gives the value (vaddr) of a symbol that the file exports. Returns 0 or -ENOENT. */
int elf_export_find(const struct elf_file *file, const char *name, uint64_t *ret_vaddr);

#endif
