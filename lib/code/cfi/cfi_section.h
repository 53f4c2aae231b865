/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a file's call frame information: .eh_frame and .debug_frame, found, read and
 * decompressed.
 *
 * Only bounded reads through elf_file_read() touch the file: libelf's handle of it, which is not
 * thread-safe, is not used, and nothing is mapped (a file that is cut short under a mapping would
 * kill the reader).
 */
#ifndef CFI_CFI_SECTION_H
#define CFI_CFI_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi_refusal.h"
#include "elf/elf_file.h"

/* The limit of a section, decompressed: libLLVM-14 has 5 MiB, the largest browsers 20. Offsets in
 * a section fit 31 bits. */
#define CFI_SECTION_MAX_BYTES (UINT64_C(128) << 20)

/* A section's bytes, borrowed from whoever has read or made them. */
struct cfi_section {
	const uint8_t *data; /* may be NULL if size is 0 */
	size_t size;	     /* bytes; at most CFI_SECTION_MAX_BYTES */
	uint64_t vaddr;	     /* what the section is linked to: pcrel pointers count from it */
	bool is_eh_frame;    /* the format of .eh_frame, else that of .debug_frame */
};

/* The sections of a file, .eh_frame before .debug_frame. */
struct cfi_sections {
	struct cfi_section items[2];
	uint8_t *bytes[2];		     /* owned; those of items[], by index */
	size_t count;			     /* of those that could be read */
	uint64_t refused[CFI_REFUSED_COUNT]; /* how often a reason kept one from being read */
};

/* Reads both sections of a file, which is borrowed for the call. What is missing is left out, and
 * what lies about its place or size too, counted in `refused`. Returns 0, -ENOMEM, or what
 * elf_file_read() says, with *ret_sections untouched. The caller releases *ret_sections with
 * cfi_section_release(). */
int cfi_section_read(const struct elf_file *file, struct cfi_sections *ret_sections);

/* Frees the bytes of the sections, and empties them; zeroed ones are fine. */
void cfi_section_release(struct cfi_sections *sections);

/* Returns whether the file has a .debug_frame by its section headers, which costs no reading of it.
 */
bool cfi_section_has_debug_frame(const struct elf_file *file);

#endif
