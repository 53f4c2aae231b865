/* SPDX-License-Identifier: MIT */
/* Where the C runtime's _init and _fini begin, by what the loader knows of them. */
#ifndef ELF_ELF_INIT_H
#define ELF_ELF_INIT_H

#include "elf/elf_file.h"

/* Whether `vaddr` is one of the first `bytes` bytes of _init or _fini: those that the dynamic
 * section names (DT_INIT, DT_FINI), or in a static file, the beginnings of the sections .init and
 * .fini. *ret_vaddr is where it begins then. */
bool elf_init_find(const struct elf_file *file, uint64_t vaddr, uint64_t bytes,
		   uint64_t *ret_vaddr);

#endif
