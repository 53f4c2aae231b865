/* SPDX-License-Identifier: MIT */
/*
 * One entry of a file's call frame information, found by the linker's search table.
 *
 * The daemon itself walks few samples of a file, those that come before its table is loaded. For
 * their rules, reading and sorting all of .eh_frame of a large library would cost a hundred times
 * what they need.
 */
#ifndef CFI_CFI_SINGLE_H
#define CFI_CFI_SINGLE_H

#include "cfi/cfi_section.h"

/* Makes a section in the form of .eh_frame of the entry that the search table has for `vaddr` and
 * of its CIE, nothing of them checked; the entry stands at its own vaddr. Returns 0; -ENODATA:
 * there is no such table, or none that leads to an entry: the whole section may have one; -ENOMEM.
 * The caller releases *ret_sections, which is untouched on failure, with cfi_section_release(). */
int cfi_single_read(const struct elf_file *file, uint64_t vaddr, struct cfi_sections *ret_sections);

#endif
