/* SPDX-License-Identifier: MIT */
/*
 * Reads the sections of symbols and relocations with libelf; see function_starts.h.
 *
 * Files at a fixed address have no relocations for their pointers, so any word of their data that
 * is an address of code may be a pointer. Packed relocations (RELR; gABI, "Relative Relocation
 * Table") contain no values; the values are read from the relocated words.
 */
#include "analysis/function_starts.h"

#include <gelf.h>
#include <string.h>

#include "arch/target.h"

#define PIECE_BYTES 65536u
/* Limit for all sections together, since a hostile file may have many sections that overlap. */
#define MAX_SECTION_BYTES (UINT64_C(512) << 20)

#ifndef SHT_RELR
#define SHT_RELR 19
#endif

/* Returns whether a symbol is gcc's name for a part of a function, to which code jumps in the
 * middle of a frame. */
static bool is_part(const char *name)
{
	return name && strstr(name, ".cold");
}

/* Returns whether a function is entered as calls do, with a return address on top of the stack,
 * whatever its code looks like. */
static bool is_called(const char *name)
{
	static const char builtin[] = "Builtins_";

	return name && !strncmp(name, builtin, sizeof(builtin) - 1);
}

static int add_pointer(struct function_starts *starts, uint64_t vaddr)
{
	if (VEC_RESERVE(&starts->pointers, 1))
		return -ENOMEM;
	starts->pointers.items[starts->pointers.count++] = vaddr;
	return 0;
}

/* --- sections ------------------------------------------------------------------------------ */

static int read_symbols(Elf *elf, Elf_Data *data, const GElf_Shdr *header,
			struct function_starts *starts)
{
	GElf_Sym symbol;

	for (int i = 0;
	     starts->certain.count < FUNCTION_STARTS_MAX && gelf_getsym(data, i, &symbol); i++) {
		int type = GELF_ST_TYPE(symbol.st_info);
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
		    is_part(name))
			continue;
		if (VEC_RESERVE(&starts->certain, 1) ||
		    noreturn_add_function(&starts->noreturn, name, symbol.st_value))
			return -ENOMEM;
		starts->certain.items[starts->certain.count++] = symbol.st_value;
		if (is_called(name) && VEC_RESERVE(&starts->called, 1))
			return -ENOMEM;
		if (is_called(name))
			starts->called.items[starts->called.count++] = symbol.st_value;
	}
	return 0;
}

/* Returns the symbol table to which a section of relocations refers; NULL: none. */
static Elf_Data *symbols_of(Elf *elf, const GElf_Shdr *header, GElf_Shdr *ret_symbols)
{
	Elf_Scn *section = elf_getscn(elf, header->sh_link);

	if (!section || !gelf_getshdr(section, ret_symbols) ||
	    (ret_symbols->sh_type != SHT_DYNSYM && ret_symbols->sh_type != SHT_SYMTAB))
		return NULL;
	return elf_getdata(section, NULL);
}

/* Returns the vaddr of a function that the file itself defines; 0: it does not, or the function is
 * chosen at run time. */
static uint64_t own_function(const GElf_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol->st_info) != STT_FUNC)
		return 0;
	return symbol->st_value;
}

struct reading {
	const struct elf_file *file;
	Elf *elf;
	struct function_starts *starts;
	uint64_t bytes;		   /* of the sections so far */
	uint64_t slots, slots_end; /* vaddr of the global offset table, from which calls read
				    * addresses */
};

/* Adds the value that the loader writes into the word at `vaddr`: an address in the file. */
static int add_relative(struct reading *r, uint64_t vaddr, uint64_t value)
{
	int err = add_pointer(r->starts, value);

	if (err || vaddr < r->slots || vaddr >= r->slots_end)
		return err;
	return noreturn_add_slot(&r->starts->noreturn, NULL, vaddr, value);
}

static int read_relocations(struct reading *r, Elf_Data *data, const GElf_Shdr *header)
{
	struct function_starts *starts = r->starts;
	GElf_Shdr symbols_header;
	Elf_Data *symbols = symbols_of(r->elf, header, &symbols_header);
	GElf_Rela rela;
	GElf_Sym symbol;
	int err = 0;

	for (int i = 0;
	     !err && starts->pointers.count < FUNCTION_STARTS_MAX && gelf_getrela(data, i, &rela);
	     i++) {
		enum target_relocation kind = target_relocation((uint32_t)GELF_R_TYPE(rela.r_info));

		if (kind == TARGET_RELOCATION_RELATIVE || kind == TARGET_RELOCATION_IRELATIVE)
			err = add_relative(r, rela.r_offset, (uint64_t)rela.r_addend);
		else if (symbols &&
			 (kind == TARGET_RELOCATION_JUMP_SLOT ||
			  kind == TARGET_RELOCATION_GLOB_DAT) &&
			 gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &symbol))
			err = noreturn_add_slot(
				&starts->noreturn,
				elf_strptr(r->elf, symbols_header.sh_link, symbol.st_name),
				rela.r_offset, own_function(&symbol));
	}
	return err;
}

/* Adds the value of the relocated word at `vaddr`, as the file has it. */
static int add_word(struct reading *r, uint64_t vaddr)
{
	uint64_t offset, word;

	if (!elf_file_vaddr_to_offset(r->file, vaddr, &offset) ||
	    !elf_file_read_whole(r->file, offset, &word, sizeof(word)))
		return 0;
	return add_relative(r, vaddr, word);
}

/* Reads packed relocations. An even word is the address of a relocated word. The bits of an odd
 * word, except the lowest, say which of the next 63 words are relocated. */
static int read_packed(struct reading *r, const Elf_Data *data)
{
	const uint64_t *words = data->d_buf;
	uint64_t next = 0;
	int err = 0;

	for (size_t i = 0; i < data->d_size / sizeof(*words) && !err; i++) {
		uint64_t bits = words[i];

		if (r->starts->pointers.count >= FUNCTION_STARTS_MAX)
			break;
		if (!(bits & 1)) {
			err = add_word(r, bits);
			next = bits + 8;
			continue;
		}
		for (uint64_t left = bits >> 1; left && !err; left &= left - 1)
			err = add_word(r, next + 8 * (uint64_t)__builtin_ctzll(left));
		next += 63 * 8;
	}
	return err;
}

static int read_section(struct reading *r, Elf_Scn *section)
{
	GElf_Shdr header;
	Elf_Data *data;

	if (!gelf_getshdr(section, &header))
		return 0;
	if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM &&
	    header.sh_type != SHT_RELR &&
	    (header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC)))
		return 0;
	if (header.sh_size > MAX_SECTION_BYTES - r->bytes)
		return 0;
	r->bytes += header.sh_size;
	data = elf_getdata(section, NULL);
	if (!data)
		return 0;
	if (header.sh_type == SHT_RELR)
		return data->d_buf ? read_packed(r, data) : 0;
	if (header.sh_type == SHT_RELA)
		return read_relocations(r, data, &header);
	return read_symbols(r->elf, data, &header, r->starts);
}

/* Finds the global offset table. */
static void find_slots(struct reading *r)
{
	Elf_Scn *section = NULL;
	size_t names;
	GElf_Shdr header;

	if (elf_getshdrstrndx(r->elf, &names))
		return;
	while ((section = elf_nextscn(r->elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(r->elf, names, header.sh_name)
					   : NULL;

		if (!name || strcmp(name, ".got") != 0)
			continue;
		r->slots = header.sh_addr;
		r->slots_end = header.sh_addr + header.sh_size;
		return;
	}
}

/* --- words of data ------------------------------------------------------------------------- */

static bool is_code(const Elf64_Phdr *headers, size_t count, uint64_t vaddr)
{
	for (size_t i = 0; i < count; i++) {
		if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X &&
		    vaddr >= headers[i].p_vaddr && vaddr - headers[i].p_vaddr < headers[i].p_filesz)
			return true;
	}
	return false;
}

static int read_words(const struct elf_file *file, const Elf64_Phdr *data,
		      const Elf64_Phdr *headers, size_t count, struct function_starts *starts)
{
	static const uint64_t max = FUNCTION_STARTS_MAX_DATA;
	uint64_t end = data->p_filesz < max ? data->p_filesz : max;
	uint64_t words[PIECE_BYTES / 8];
	int err = 0;

	for (uint64_t at = -data->p_vaddr & 7; at < end && !err; at += sizeof(words)) {
		int64_t got = elf_file_read(file, data->p_offset + at, words,
					    end - at < sizeof(words) ? end - at : sizeof(words));

		for (int64_t k = 0; k < got / 8 && !err; k++) {
			if (starts->pointers.count < FUNCTION_STARTS_MAX &&
			    is_code(headers, count, words[k]))
				err = add_pointer(starts, words[k]);
		}
	}
	return err;
}

static int read_data(const struct elf_file *file, struct function_starts *starts)
{
	size_t count;
	const Elf64_Phdr *p = elf_file_program_headers(file, &count);
	int err = 0, loads = 0;

	for (size_t i = 0; i < count && !err && loads < 16; i++) {
		if (p[i].p_type != PT_LOAD || p[i].p_flags & PF_X)
			continue;
		loads++;
		err = read_words(file, &p[i], p, count < 64 ? count : 64, starts);
	}
	return err;
}

int function_starts_read(const struct elf_file *file, struct function_starts *starts)
{
	struct reading r = {
		.file = file,
		.elf = elf_file_libelf(file),
		.starts = starts,
	};
	Elf_Scn *section = NULL;
	int err = 0;

	if (r.elf)
		find_slots(&r);
	while (!err && r.elf && (section = elf_nextscn(r.elf, section)))
		err = read_section(&r, section);
	if (!err && !elf_file_is_position_independent(file))
		err = read_data(file, starts);
	return err ? err : noreturn_finish(&starts->noreturn);
}

void function_starts_free(struct function_starts *starts)
{
	noreturn_fini(&starts->noreturn);
	free(starts->certain.items);
	free(starts->called.items);
	free(starts->pointers.items);
	memset(starts, 0, sizeof(*starts));
}
