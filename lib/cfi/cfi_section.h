/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a file's call frame information: .eh_frame, .debug_frame and, in files without
 * section headers, what PT_GNU_EH_FRAME leads to. Only bounded reads through elf_file_read():
 * libelf's handle of the file, which is not thread-safe, stays untouched.
 */
#ifndef CFI_CFI_SECTION_H
#define CFI_CFI_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Far above what real files hold (20 MiB in the largest browsers). */
#define CFI_SECTION_MAX_BYTES ((uint64_t)256 * 1024 * 1024)

struct cfi_section {
	uint8_t *data; /* owned; NULL: there is none */
	size_t len;
	uint64_t vaddr; /* 0 for .debug_frame, which is not loaded */
};

/* Reads both sections. What is missing, or lies about its place or size, stays empty. 0 or
 * -ENOMEM. Release both with cfi_section_free(). */
int cfi_section_read(const struct elf_file *file, struct cfi_section *ret_eh_frame,
		     struct cfi_section *ret_debug_frame);

/* Whether the second could be there, without reading it. */
bool cfi_section_may_have_debug(const struct elf_file *file);

void cfi_section_free(struct cfi_section *section); /* empties it; NULL is fine */

#endif
