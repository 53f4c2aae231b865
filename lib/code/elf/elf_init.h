/* SPDX-License-Identifier: MIT */
/* Finds the C runtime's _init and _fini as the loader does. */
#ifndef ELF_ELF_INIT_H
#define ELF_ELF_INIT_H

#include "elf/elf_file.h"

/* Returns whether `vaddr` is one of the first `bytes` bytes of _init or _fini. The dynamic section
 * has these (DT_INIT, DT_FINI); in a static file, they begin the sections .init and .fini.
 * *ret_vaddr is the start of that function. */
bool elf_init_find(const struct elf_file *file, uint64_t vaddr, uint64_t bytes,
		   uint64_t *ret_vaddr);

#endif
