/* SPDX-License-Identifier: MIT */
/*
 * One entry of a file's call frame information, found by the linker's search table.
 *
 * The daemon itself walks few samples of a file: those that come before its table is loaded. To
 * read and sort all of a large library's .eh_frame for their rules would cost a hundred times more
 * than reading these entries.
 */
#ifndef CFI_CFI_SINGLE_H
#define CFI_CFI_SINGLE_H

#include "cfi/cfi_section.h"

/* Makes a section in the format of .eh_frame from the entry that the search table has for `vaddr`
 * and from its CIE, and checks nothing of them; the entry is at its own vaddr. Returns 0; -ENODATA:
 * there is no table, or it leads to no entry (the whole section may have one); -ENOMEM. The caller
 * releases *ret_sections, which is untouched on failure, with cfi_section_release(). */
int cfi_single_read(const struct elf_file *file, uint64_t vaddr, struct cfi_sections *ret_sections);

#endif
