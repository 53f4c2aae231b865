/* SPDX-License-Identifier: MIT */
/* Finds sections of ELF files by name, and decompresses those sections whose compression libelf may
 * not support. */
#ifndef ELF_ELF_SECTIONS_H
#define ELF_ELF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <libelf.h>

#include "elf/elf_file.h"

/* Returns the data of the first section with that name and bytes in the file, as libelf has read or
 * decompressed it; NULL: there is none. It is valid as long as the handle. */
Elf_Data *elf_sections_data(Elf *elf, const char *name);

/* Memory to which a handle of libelf refers. If zeroed, it has none. */
struct elf_sections_owned {
	uint8_t **bytes;
	size_t n, cap;
};

/* Frees the memory. It is inline so that a program that decompresses nothing does not link a
 * decompressor. */
static inline void elf_sections_free(struct elf_sections_owned *owned)
{
	for (size_t i = 0; i < owned->n; i++)
		free(owned->bytes[i]);
	free(owned->bytes);
	*owned = (struct elf_sections_owned){0};
}

/* Decompresses the file's DWARF sections that zstd has compressed, so that libelf gives their
 * contents; the file owns the memory. Returns 0 or -ENOMEM. */
int elf_file_expand(const struct elf_file *file);

/* Returns the size of a section after decompression. */
uint64_t elf_file_section_bytes(const struct elf_file *file, const Elf64_Shdr *section);

/* Opens the symbols that are packed into a file (.gnu_debugdata, "MiniDebugInfo") as a separate
 * file, which the caller frees. Returns 0; -ENOENT: the file has no usable packed symbols;
 * -ENOMEM. */
int elf_file_open_packed(const struct elf_file *file, struct elf_file **ret_file);

#endif
