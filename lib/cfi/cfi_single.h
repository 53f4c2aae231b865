/* SPDX-License-Identifier: MIT */
/*
 * One entry of a file's call frame information, found by the linker's index.
 *
 * The daemon itself walks few samples of a file, those that come before its table is loaded. For
 * their rules, reading, checking and sorting all of .eh_frame of a large library would cost a
 * hundred times what they need.
 */
#ifndef CFI_CFI_SINGLE_H
#define CFI_CFI_SINGLE_H

#include <stdint.h>

#include "cfi/cfi_section.h"

/* Makes a section of the entry that the linker's index has for `vaddr` and of what it builds on
 * (its CIE), nothing of it checked; the entry stands at its own address. 0; -ENODATA: there is no
 * such index, or none that leads to an entry: the whole section may have one; -ENOMEM. */
int cfi_entry_read(const struct elf_file *file, uint64_t vaddr, struct cfi_section *ret_eh_frame);

#endif
