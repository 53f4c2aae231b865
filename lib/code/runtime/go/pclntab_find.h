/* SPDX-License-Identifier: MIT */
/* Finds the .gopclntab of a file, and its version; see pclntab.h. */
#ifndef GO_PCLNTAB_FIND_H
#define GO_PCLNTAB_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

enum pclntab_version {
	PCLNTAB_GO_1_2,
	PCLNTAB_GO_1_16,
	PCLNTAB_GO_1_18,
	PCLNTAB_GO_1_20,
};

struct pclntab_extent {
	uint64_t offset, size; /* bytes of the file; more than the table has if it was found by its
				* magic number */
	uint64_t text;	       /* vaddr to which entry offsets are relative since Go 1.18 */
};

/* Finds the version by the first 8 bytes: a magic number, two zeroes, 1 (the least size of an
 * instruction) and 8 (the size of a pointer). Returns false if they do not begin a table for this
 * processor. */
bool pclntab_find_version(const uint8_t *bytes, size_t size, enum pclntab_version *ret_version);

/* Finds the table of a file, in time linear in the file's size. Returns 0, -ENOENT (there is none),
 * -EINVAL (the table is outside of the file, or larger than PCLNTAB_MAX_BYTES), or an error of
 * elf_file_read(). */
int pclntab_find_in(const struct elf_file *file, struct pclntab_extent *ret_extent);

#endif
