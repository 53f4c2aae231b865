/* SPDX-License-Identifier: MIT */
/* Finds sections of ELF files by name, and expands those whose compression libelf may not know. */
#ifndef ELF_ELF_SECTIONS_H
#define ELF_ELF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <libelf.h>

#include "elf/elf_file.h"

/* Returns the data of the first section of that name that has bytes in the file, as libelf has read
 * or expanded it. NULL: there is none. It is valid as long as the handle. */
Elf_Data *elf_sections_data(Elf *elf, const char *name);

/* Memory to which a handle of libelf refers. A zeroed one has none. */
struct elf_sections_owned {
	uint8_t **bytes;
	size_t n, cap;
};

/* Inline, so that a program that expands nothing does not link a decompressor. */
static inline void elf_sections_free(struct elf_sections_owned *owned)
{
	for (size_t i = 0; i < owned->n; i++)
		free(owned->bytes[i]);
	free(owned->bytes);
	*owned = (struct elf_sections_owned){0};
}

/* Expands the DWARF sections of a file that zstd has compressed; the file owns the memory. 0 or
 * -ENOMEM. */
int elf_file_expand(const struct elf_file *file);

/* Returns the size of a section of a file after expansion. */
uint64_t elf_file_section_bytes(const struct elf_file *file, const Elf64_Shdr *section);

/* Opens the symbols that are packed into a file (.gnu_debugdata, "MiniDebugInfo"), as a separate
 * file. Returns 0, the caller frees it; -ENOENT: it has no usable ones; -ENOMEM. */
int elf_file_open_packed(const struct elf_file *file, struct elf_file **ret_file);

#endif
