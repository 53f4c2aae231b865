/* SPDX-License-Identifier: MIT */
/*
 * One entry of a file's call frame information, found by the linker's search table.
 *
 * The daemon itself walks only few samples of a file: those that come before its table is loaded.
 * To read and sort all of a large library's .eh_frame for them would cost a hundred times more than
 * reading single entries.
 */
#ifndef CFI_CFI_SINGLE_H
#define CFI_CFI_SINGLE_H

#include "cfi/cfi_section.h"

/* Makes a section in the format of .eh_frame from the search table's entry for `vaddr` and from its
 * CIE, without checking them; the entry is at its own vaddr. Returns 0; -ENODATA: there is no
 * table, or it does not lead to an entry (the whole section may have one); -ENOMEM. The caller
 * releases *ret_sections, which is untouched on failure, with cfi_section_release(). */
int cfi_single_read(const struct elf_file *file, uint64_t vaddr, struct cfi_sections *ret_sections);

#endif
