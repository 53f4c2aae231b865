/* SPDX-License-Identifier: MIT */
/* Reads dynamic sections and symbol tables; see file_traits.h. */
#include "daemon/regions/file_traits.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

#define MAX_SYMBOLS (4 * 1024 * 1024)

/* Facts about a file, from its headers and tables. */
struct traits {
	bool has_dynamic, has_name, is_pie, has_loader, is_linker;
	bool has_symbols, calls, defines; /* has_symbols: there is a symbol table; calls, defines:
					   * it calls, or defines, functions that start programs */
};

static bool is_starter(const char *name)
{
	static const char *const names[] = {
		"execl",   "execlp",  "execle", "execv",  "execve",	 "execveat",	"execvp",
		"execvpe", "fexecve", "popen",	"system", "posix_spawn", "posix_spawnp"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* Returns whether a library's name is that of glibc's dynamic linker: ld-linux.so.2 or one like it,
 * ld64.so.2, ld.so.1. */
static bool is_linker_name(const char *name)
{
	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld64.so", 7) ||
	       !strncmp(name, "ld.so", 5);
}

static void read_dynamic(Elf *elf, Elf_Data *data, size_t strtab, struct traits *t)
{
	GElf_Dyn dyn;

	t->has_dynamic = true;
	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag == DT_SONAME) {
			const char *name = elf_strptr(elf, strtab, dyn.d_un.d_val);

			t->has_name = true;
			t->is_linker = name && is_linker_name(name);
		}
		t->is_pie |= dyn.d_tag == DT_FLAGS_1 && dyn.d_un.d_val & DF_1_PIE;
	}
}

static void read_symbols(Elf *elf, Elf_Data *data, size_t strtab, struct traits *t)
{
	GElf_Sym sym;

	t->has_symbols = true;
	for (int i = 1; data && i < MAX_SYMBOLS && gelf_getsym(data, i, &sym); i++) {
		const char *name = elf_strptr(elf, strtab, sym.st_name);

		if (!name || !is_starter(name))
			continue;
		if (sym.st_shndx == SHN_UNDEF)
			t->calls = true;
		else
			t->defines = true;
	}
}

static void read_sections(Elf *elf, struct traits *t)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_DYNAMIC)
			read_dynamic(elf, elf_getdata(scn, NULL), shdr.sh_link, t);
		else if (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM)
			read_symbols(elf, elf_getdata(scn, NULL), shdr.sh_link, t);
	}
}

struct file_traits file_traits_of(const struct elf_file *file)
{
	Elf *elf = elf_file_libelf(file);
	struct traits t = {0};
	struct file_traits traits = {0};
	size_t n = 0;

	if (!elf || elf_getphdrnum(elf, &n))
		return traits;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, (int)i, &phdr))
			t.has_loader |= phdr.p_type == PT_INTERP;
	}
	read_sections(elf, &t);
	/* A position independent program names a loader and has no DT_SONAME; libc.so.6 has
	 * both. */
	traits.is_program = !elf_file_is_position_independent(file) || t.is_pie ||
			    (t.has_loader && !t.has_name);
	traits.is_linker = !traits.is_program && t.is_linker;
	traits.starts_others =
		t.calls || (traits.is_program && !t.has_loader && (t.defines || !t.has_symbols));
	return traits;
}
