/* SPDX-License-Identifier: MIT */
/*
 * Goes through the symbols of a file, by libelf. For a few that a file exports, elf_export.h is
 * cheaper.
 */
#ifndef ELF_ELF_SYMBOLS_H
#define ELF_ELF_SYMBOLS_H

#include <gelf.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Called with each symbol; the name is borrowed for the call. */
typedef void elf_symbols_take(void *arg, const char *name, const GElf_Sym *symbol);

/* Calls `take` with all defined symbols that have names, of the file's tables of one type:
 * SHT_DYNSYM or SHT_SYMTAB. Of each table it looks at a million symbols at most. */
void elf_symbols_each(const struct elf_file *file, uint32_t type, elf_symbols_take *take,
		      void *arg);

#endif
