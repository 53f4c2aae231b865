/* SPDX-License-Identifier: MIT */
/* Reads the dynamic section, or the names of sections; see elf_init.h. */
#include "elf/elf_init.h"

#include <gelf.h>
#include <string.h>

#define MAX_ROWS 4096 /* limit of the rows of the dynamic section */

static bool is_within(uint64_t vaddr, uint64_t start, uint64_t bytes, uint64_t *ret_vaddr)
{
	if (vaddr < start || vaddr - start >= bytes)
		return false;
	*ret_vaddr = start;
	return true;
}

static bool find_in_dynamic(const struct elf_file *file, uint64_t offset, uint64_t vaddr,
			    uint64_t bytes, uint64_t *ret_vaddr)
{
	Elf64_Dyn row;

	for (size_t i = 0; i < MAX_ROWS; i++) {
		if (!elf_file_read_whole(file, offset + i * sizeof(row), &row, sizeof(row)) ||
		    row.d_tag == DT_NULL)
			break;
		if ((row.d_tag == DT_INIT || row.d_tag == DT_FINI) &&
		    is_within(vaddr, row.d_un.d_ptr, bytes, ret_vaddr))
			return true;
	}
	return false;
}

static bool find_in_sections(const struct elf_file *file, uint64_t vaddr, uint64_t bytes,
			     uint64_t *ret_vaddr)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && (!strcmp(name, ".init") || !strcmp(name, ".fini")) &&
		    is_within(vaddr, header.sh_addr, bytes, ret_vaddr))
			return true;
	}
	return false;
}

bool elf_init_find(const struct elf_file *file, uint64_t vaddr, uint64_t bytes, uint64_t *ret_vaddr)
{
	uint64_t dynamic, offset;

	if (elf_file_is_32bit(file) || !elf_file_header_vaddr(file, PT_DYNAMIC, &dynamic))
		return find_in_sections(file, vaddr, bytes, ret_vaddr);
	return elf_file_vaddr_to_offset(file, dynamic, &offset) &&
	       find_in_dynamic(file, offset, vaddr, bytes, ret_vaddr);
}
