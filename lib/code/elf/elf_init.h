/* SPDX-License-Identifier: MIT */
/* Finds the C runtime's functions _init and _fini where the dynamic loader finds them. */
#ifndef ELF_ELF_INIT_H
#define ELF_ELF_INIT_H

#include "elf/elf_file.h"

/* Returns whether `vaddr` is among the first `bytes` bytes of _init or _fini; then *ret_vaddr is
 * the start of that function. Their addresses are in the dynamic section (DT_INIT, DT_FINI); in a
 * static file, they begin the sections .init and .fini. */
bool elf_init_find(const struct elf_file *file, uint64_t vaddr, uint64_t bytes,
		   uint64_t *ret_vaddr);

#endif
