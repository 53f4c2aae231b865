/* SPDX-License-Identifier: MIT */
/* Where a file has its .gopclntab, and of which version that is; see pclntab.h. */
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
	uint64_t offset, size; /* bytes of the file; more than the table where only its magic number
				* gave it away */
	uint64_t text;	       /* vaddr that entries count from since Go 1.18 */
};

/* Tells the version by the first 8 bytes: magic number, two zeroes, 1 for the least size of an
 * instruction and 8 for that of a pointer. false: no table for this processor begins so. */
bool pclntab_find_version(const uint8_t *bytes, size_t size, enum pclntab_version *ret_version);

/* Finds the table of a file, in time linear in the file. Returns 0, -ENOENT (there is none),
 * -EINVAL (it lies outside the file, or is larger than PCLNTAB_MAX_BYTES), or what elf_file_read()
 * says. */
int pclntab_find_in(const struct elf_file *file, struct pclntab_extent *ret_extent);

#endif
