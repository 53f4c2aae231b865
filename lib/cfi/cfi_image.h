/* SPDX-License-Identifier: MIT */
/*
 * A file's call frame information, checked, indexed, and open in libdw.
 *
 * libdw is not given the file but an ELF image made here: the checked bytes of .eh_frame and of
 * .debug_frame behind one another, and a search table of the entries that passed. So libdw finds
 * every entry by binary search, finds none that was not checked, and nobody can change the bytes
 * between the check and the use.
 */
#ifndef CFI_CFI_IMAGE_H
#define CFI_CFI_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct cfi_image;
struct Dwarf_CFI_s;

/* Reads a file's CFI; `file` is not needed afterwards. 0; -ENODATA: it has none that is good;
 * -ENOMEM; -EIO: libdw refused it. */
int cfi_image_new(const struct elf_file *file, struct cfi_image **ret_image);

/* The same of the one entry that begins at `vaddr` or next before it, as the linker's search table
 * has it, for the cost of that entry: for `vaddr` and what lies between it and the entry's end, it
 * answers what the whole does. -ENODATA: there is no telling so. */
int cfi_image_new_at(const struct elf_file *file, uint64_t vaddr, struct cfi_image **ret_image);
void cfi_image_free(struct cfi_image *image); /* NULL is fine */

/* The range of the entry that covers `vaddr`; false: none does. */
bool cfi_image_find(const struct cfi_image *image, uint64_t vaddr, uint64_t *ret_start,
		    uint64_t *ret_end);

struct Dwarf_CFI_s *cfi_image_libdw(const struct cfi_image *image); /* borrowed */

/* The n entries' ranges, in order of their starts, for whoever wants to see them all. */
size_t cfi_image_count(const struct cfi_image *image);
void cfi_image_range(const struct cfi_image *image, size_t i, uint64_t *ret_start,
		     uint64_t *ret_end);

#endif
