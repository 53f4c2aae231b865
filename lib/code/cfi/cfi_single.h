/* SPDX-License-Identifier: MIT */
/*
 * One entry of a file's call frame information, found by the linker's search table.
 *
 * Before a file's rules are loaded into the kernel half, the daemon walks the samples in that file
 * itself. They are few, and to read and sort all of a large library's .eh_frame for them would cost
 * a hundred times more than reading single entries.
 */
#ifndef CFI_CFI_SINGLE_H
#define CFI_CFI_SINGLE_H

#include "cfi/cfi_section.h"

/* Makes a section in the format of .eh_frame from two entries: the FDE to which .eh_frame_hdr leads
 * for `vaddr`, and the FDE's CIE. Their contents are not checked; each is at its own vaddr. Returns
 * 0; -ENODATA: there is no .eh_frame_hdr, or it does not lead to an entry (the whole section may
 * still have one); -ENOMEM. The caller releases *ret_sections, which is unchanged on failure, with
 * cfi_section_release(). */
int cfi_single_read(const struct elf_file *file, uint64_t vaddr, struct cfi_sections *ret_sections);

#endif
