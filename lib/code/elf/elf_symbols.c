/* SPDX-License-Identifier: MIT */
/* Goes through the symbols of a file; see elf_symbols.h. */
#include "elf/elf_symbols.h"

#define MAX_SYMBOLS (1u << 20)

static void read_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, elf_symbols_take *take,
		       void *arg)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 1; data && i < n && i < MAX_SYMBOLS; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && name[0])
			take(arg, name, &symbol);
	}
}

void elf_symbols_each(const struct elf_file *file, uint32_t type, elf_symbols_take *take, void *arg)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while (elf && (section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			read_table(elf, section, &header, take, arg);
	}
}
