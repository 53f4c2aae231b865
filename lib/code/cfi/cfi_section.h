/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a file's call frame information: .eh_frame and .debug_frame, found, read and
 * decompressed.
 *
 * Only bounded reads by elf_file_read() touch the file. This does not use libelf's handle, which is
 * not thread-safe, and maps nothing (if a mapped file is truncated, SIGBUS kills the reader).
 */
#ifndef CFI_CFI_SECTION_H
#define CFI_CFI_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi_refusal.h"
#include "elf/elf_file.h"

/* The limit of a section, decompressed: libLLVM-14 has 5 MiB, the largest browsers 20. Offsets in a
 * section fit into 31 bits. */
#define CFI_SECTION_MAX_BYTES (UINT64_C(128) << 20)

/* A section's bytes, borrowed from the code that has read or made them. */
struct cfi_section {
	const uint8_t *data; /* may be NULL if size is 0 */
	size_t size;	     /* bytes; at most CFI_SECTION_MAX_BYTES */
	uint64_t vaddr;	     /* address to which it is linked: pcrel pointers are relative to it */
	bool is_eh_frame;    /* the format is that of .eh_frame, else that of .debug_frame */
};

/* The sections of a file, .eh_frame before .debug_frame. */
struct cfi_sections {
	struct cfi_section items[2];
	uint8_t *bytes[2];		     /* owned: the bytes of items[], by index */
	size_t count;			     /* of sections that could be read */
	uint64_t refused[CFI_REFUSED_COUNT]; /* for each reason, how many sections could not be
					      * read because of it */
};

/* Reads both sections of a file, which is borrowed for the call. Leaves out a section that does not
 * exist, or whose header gives an impossible offset or size; `refused` counts the latter. Returns
 * 0, -ENOMEM, or an error of elf_file_read(), with *ret_sections unchanged. The caller releases
 * *ret_sections with cfi_section_release(). */
int cfi_section_read(const struct elf_file *file, struct cfi_sections *ret_sections);

/* Frees the bytes of the sections, and empties them; zeroed ones are fine. */
void cfi_section_release(struct cfi_sections *sections);

/* Returns whether the file has a .debug_frame. Reads only the section headers. */
bool cfi_section_has_debug_frame(const struct elf_file *file);

#endif
