/* SPDX-License-Identifier: MIT */
/*
 * Finds the .gopclntab of a file by the section's name, which `strip` and Go's linker keep. Other
 * linkers may put the table into another section, and a file may have no section headers. Then the
 * table is found by its magic number, at a multiple of 16 in the program headers without code.
 *
 * In position-independent files, the text's address in the table is set by a relocation, whose
 * addend is searched in .rela.dyn. Newer linkers may write no address at all (Go 1.26). Then the
 * start of the section .text is used, which is right for files of Go's own linker.
 */
#include "runtime/go/pclntab_find.h"

#include <errno.h>
#include <string.h>

#include "arch/target.h"
#include "runtime/go/pclntab.h"

#define HEADER_BYTES 72
#define TEXT_AT	     24 /* offset of the text's address in the header, since Go 1.18 */
#define BLOCK_BYTES  4096
#define ALIGN	     16

bool pclntab_find_version(const uint8_t *bytes, size_t size, enum pclntab_version *ret_version)
{
	static const uint8_t magics[] = {
		[PCLNTAB_GO_1_2] = 0xfb,
		[PCLNTAB_GO_1_16] = 0xfa,
		[PCLNTAB_GO_1_18] = 0xf0,
		[PCLNTAB_GO_1_20] = 0xf1,
	};

	if (size < 32 || memcmp(bytes + 1, "\xff\xff\xff\0\0\1\x8", 7))
		return false;
	for (size_t i = 0; i < sizeof(magics); i++) {
		if (bytes[0] == magics[i]) {
			*ret_version = (enum pclntab_version)i;
			return true;
		}
	}
	return false;
}

/* --- by section headers ---------------------------------------------------------------------- */

struct sections {
	Elf64_Shdr table, text, rela; /* sh_type SHT_NULL: it was not found */
	bool is_go;		      /* the file has a section that only Go programs have */
};

static bool read_header(const struct elf_file *file, const Elf64_Ehdr *ehdr, uint64_t i,
			Elf64_Shdr *ret_shdr)
{
	uint64_t offset;

	return !__builtin_add_overflow(ehdr->e_shoff, i * sizeof(*ret_shdr), &offset) &&
	       elf_file_read_whole(file, offset, ret_shdr, sizeof(*ret_shdr));
}

static void take_section(const Elf64_Shdr *shdr, const char *name, struct sections *sections)
{
	if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab"))
		sections->table = *shdr;
	else if (!strcmp(name, ".go.buildinfo") || !strcmp(name, ".note.go.buildid"))
		sections->is_go = true;
	else if (!strcmp(name, ".text"))
		sections->text = *shdr;
	else if (!strcmp(name, ".rela") || !strcmp(name, ".rela.dyn"))
		sections->rela = *shdr;
}

static void find_sections(const struct elf_file *file, struct sections *ret_sections)
{
	Elf64_Shdr names, shdr;
	Elf64_Ehdr ehdr;

	memset(ret_sections, 0, sizeof(*ret_sections));
	if (!elf_file_read_whole(file, 0, &ehdr, sizeof(ehdr)) || !ehdr.e_shoff ||
	    ehdr.e_shentsize != sizeof(shdr) || !read_header(file, &ehdr, ehdr.e_shstrndx, &names))
		return;
	for (unsigned i = 1; i < ehdr.e_shnum; i++) {
		char name[24] = "";
		uint64_t at;

		if (!read_header(file, &ehdr, i, &shdr))
			return;
		if (shdr.sh_type == SHT_NOBITS || shdr.sh_name >= names.sh_size ||
		    __builtin_add_overflow(names.sh_offset, shdr.sh_name, &at) ||
		    elf_file_read(file, at, name, sizeof(name) - 1) <= 0)
			continue;
		take_section(&shdr, name, ret_sections);
	}
}

/* --- by the magic number --------------------------------------------------------------------- */

/* Returns whether a whole header can begin here, since data can have the magic number alone, of
 * seven bytes, by chance. */
static bool is_header(const uint8_t *bytes, uint64_t room)
{
	enum pclntab_version version;
	uint64_t word;

	if (!pclntab_find_version(bytes, HEADER_BYTES, &version))
		return false;
	memcpy(&word, bytes + 8, 8);
	if (word > PCLNTAB_MAX_FUNCTIONS || word > room / 8)
		return false;
	for (unsigned i = 0; version != PCLNTAB_GO_1_2 && i < 5; i++) {
		memcpy(&word, bytes + (version >= PCLNTAB_GO_1_18 ? 32 : 24) + 8 * i, 8);
		if (word >= room)
			return false;
	}
	return true;
}

static bool scan(const struct elf_file *file, const Elf64_Phdr *p, struct pclntab_extent *extent)
{
	uint8_t block[BLOCK_BYTES + HEADER_BYTES];

	for (uint64_t at = 0; at + HEADER_BYTES < p->p_filesz; at += BLOCK_BYTES) {
		int64_t n = elf_file_read(file, p->p_offset + at, block, sizeof(block));

		for (int64_t i = 0; i < BLOCK_BYTES && i + HEADER_BYTES <= n; i += ALIGN) {
			uint64_t from = at + (uint64_t)i;

			if (from >= p->p_filesz || !is_header(block + i, p->p_filesz - from))
				continue;
			extent->offset = p->p_offset + from;
			extent->size = p->p_filesz - from;
			return true;
		}
		if (n <= 0)
			return false;
	}
	return false;
}

static bool find_by_magic(const struct elf_file *file, struct pclntab_extent *extent)
{
	size_t count;
	const Elf64_Phdr *p = elf_file_program_headers(file, &count);

	for (size_t i = 0; i < count; i++) {
		if (p[i].p_type == PT_LOAD && !(p[i].p_flags & PF_X) && scan(file, &p[i], extent))
			return true;
	}
	return false;
}

/* --- the text -------------------------------------------------------------------------------- */

/* Returns the addend of the relocation of the word at a vaddr; 0: none. */
static uint64_t relocated(const struct elf_file *file, const Elf64_Shdr *rela, uint64_t vaddr)
{
	Elf64_Rela block[128];

	for (uint64_t at = 0; at < rela->sh_size; at += sizeof(block)) {
		int64_t n =
			rela->sh_offset > INT64_MAX - at
				? 0
				: elf_file_read(file, rela->sh_offset + at, block, sizeof(block));

		for (int64_t i = 0; i < n / (int64_t)sizeof(*block); i++) {
			if (block[i].r_offset == vaddr &&
			    target_relocation(ELF64_R_TYPE(block[i].r_info)) ==
				    TARGET_RELOCATION_RELATIVE)
				return (uint64_t)block[i].r_addend;
		}
		if (n < (int64_t)sizeof(block))
			break;
	}
	return 0;
}

static bool is_code(const struct elf_file *file, uint64_t vaddr)
{
	size_t count;
	const Elf64_Phdr *p = elf_file_program_headers(file, &count);

	for (size_t i = 0; i < count; i++) {
		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X && vaddr >= p[i].p_vaddr &&
		    vaddr - p[i].p_vaddr < p[i].p_filesz)
			return true;
	}
	return false;
}

static uint64_t find_text(const struct elf_file *file, const struct sections *sections,
			  uint64_t offset)
{
	uint64_t text = 0, vaddr;

	if (elf_file_is_position_independent(file) &&
	    elf_file_offset_to_vaddr(file, offset + TEXT_AT, &vaddr))
		text = relocated(file, &sections->rela, vaddr);
	if (text)
		return text;
	if (elf_file_read_whole(file, offset + TEXT_AT, &text, sizeof(text)) && is_code(file, text))
		return text;
	return sections->text.sh_addr;
}

int pclntab_find_in(const struct elf_file *file, struct pclntab_extent *ret_extent)
{
	struct pclntab_extent extent = {0};
	struct sections sections;

	find_sections(file, &sections);
	if (sections.table.sh_type != SHT_NULL) {
		extent.offset = sections.table.sh_offset;
		extent.size = sections.table.sh_size;
	} else if ((sections.text.sh_type != SHT_NULL && !sections.is_go) ||
		   !find_by_magic(file, &extent)) {
		return -ENOENT;
	}
	if (extent.size < 32 || extent.size > PCLNTAB_MAX_BYTES || extent.offset > INT64_MAX)
		return -EINVAL;
	extent.text = find_text(file, &sections, extent.offset);
	*ret_extent = extent;
	return 0;
}
