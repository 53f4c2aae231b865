/* SPDX-License-Identifier: MIT */
/* Reads the functions and variables of symbol tables; see function_symbols.h. */
#include "sym/function_symbols.h"

#include <gelf.h>
#include <libelf.h>

#define MAX_SYMBOLS (4 * 1024 * 1024)

struct listing {
	int (*each)(void *arg, const struct function_symbol *symbol);
	void *arg;
	bool variables; /* lists variables rather than functions */
};

static bool is_listed(const struct listing *l, unsigned type)
{
	return l->variables ? type == STT_OBJECT : type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* `source` is the file to which the local symbols from here on belong. */
static int list_symbol(const struct listing *l, Elf *elf, const GElf_Sym *sym, size_t strtab,
		       const char *source)
{
	unsigned type = GELF_ST_TYPE(sym->st_info), binding = GELF_ST_BIND(sym->st_info);
	struct function_symbol symbol = {
		.vaddr = sym->st_value,
		.size = sym->st_size,
		.source = binding == STB_LOCAL ? source : NULL,
		.is_weak = binding == STB_WEAK,
		.is_resolver = type == STT_GNU_IFUNC,
	};

	if (!is_listed(l, type) || sym->st_shndx == SHN_UNDEF)
		return 0;
	symbol.name = elf_strptr(elf, strtab, sym->st_name);
	return symbol.name && *symbol.name ? l->each(l->arg, &symbol) : 0;
}

static int list_table(const struct listing *l, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n =
		data && data->d_buf ? data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT) : 0;
	const char *source = NULL;
	int err = 0;

	for (size_t i = 1; !err && i < n && i < MAX_SYMBOLS; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			continue;
		if (GELF_ST_TYPE(sym.st_info) == STT_FILE)
			source = elf_strptr(elf, shdr->sh_link, sym.st_name);
		err = list_symbol(l, elf, &sym, shdr->sh_link, source);
	}
	return err;
}

static int list_file(const struct listing *l, const struct elf_file *file)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *scn = NULL;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) &&
		    (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM))
			err = list_table(l, elf, scn, &shdr);
	}
	return err;
}

int function_symbols_each(const struct elf_file *file, const struct elf_file *debug,
			  int (*each)(void *arg, const struct function_symbol *symbol), void *arg)
{
	const struct listing l = {.each = each, .arg = arg};
	int err = list_file(&l, file);

	return !err && debug ? list_file(&l, debug) : err;
}

int variable_symbols_each(const struct elf_file *file, const struct elf_file *debug,
			  int (*each)(void *arg, const struct function_symbol *symbol), void *arg)
{
	const struct listing l = {.each = each, .arg = arg, .variables = true};
	int err = list_file(&l, file);

	return !err && debug ? list_file(&l, debug) : err;
}
