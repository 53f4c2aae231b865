/* SPDX-License-Identifier: MIT */
/*
 * Finds a file's call frame information; see cfi_section.h.
 *
 * .eh_frame is found by its section header, or, in a file without section headers, through
 * PT_GNU_EH_FRAME, which every unwinder in the process itself uses (LSB core, "The .eh_frame_hdr
 * section"). Then it is read up to the end of its PT_LOAD, and its terminator ends it. .debug_frame
 * needs a section header; it may be compressed (Go's linker compresses it, and writes no .eh_frame
 * at all).
 *
 * Section headers are read one by one: a file has some forty sections, and a file that claims more
 * of them costs no memory.
 */
#include "cfi/cfi_section.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define MAX_SECTIONS 65536
#define NAME_BYTES   16	  /* more than the names that are searched for have */
#define PCREL_SDATA4 0x1b /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */

/* Missing in the elf.h of Debian 12. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* The headers of the two sections; a section that was not found has sh_type SHT_NULL. */
struct headers {
	Elf64_Shdr eh_frame, debug_frame;
	bool lie; /* some headers, or names, are claimed to be outside of the file */
};

/* --- finding ------------------------------------------------------------------------------- */

static bool read_header(const struct elf_file *file, const Elf64_Ehdr *ehdr, uint64_t i,
			Elf64_Shdr *ret_shdr)
{
	uint64_t offset;

	return !__builtin_add_overflow(ehdr->e_shoff, i * sizeof(*ret_shdr), &offset) &&
	       elf_file_read_whole(file, offset, ret_shdr, sizeof(*ret_shdr));
}

/* Gives the number of sections, and the header of the section with their names. Numbers that do not
 * fit into the file header are in section 0 (gABI, "Extended Section Header"). Returns false if
 * they cannot be read. */
static bool read_shape(const struct elf_file *file, const Elf64_Ehdr *ehdr, uint64_t *ret_count,
		       Elf64_Shdr *ret_names)
{
	uint64_t names = ehdr->e_shstrndx;
	Elf64_Shdr first;

	if (ehdr->e_shentsize != sizeof(first) || !read_header(file, ehdr, 0, &first))
		return false;
	*ret_count = ehdr->e_shnum ? ehdr->e_shnum : first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (!*ret_count || *ret_count > MAX_SECTIONS || names >= *ret_count)
		return false;
	*ret_names = (Elf64_Shdr){.sh_type = SHT_NULL};
	return names == SHN_UNDEF || read_header(file, ehdr, names, ret_names);
}

/* Reads the start of a section's name, and ends it with a zero. Returns false if it is not within
 * the section of names. */
static bool read_name(const struct elf_file *file, const Elf64_Shdr *names, uint32_t at,
		      char ret_name[NAME_BYTES])
{
	uint64_t left = at < names->sh_size ? names->sh_size - at : 0, offset;
	size_t len = left < NAME_BYTES ? left : NAME_BYTES;

	if (names->sh_type != SHT_STRTAB || !len ||
	    __builtin_add_overflow(names->sh_offset, at, &offset) ||
	    !elf_file_read_whole(file, offset, ret_name, len))
		return false;
	if (len < NAME_BYTES)
		return memchr(ret_name, 0, len);
	ret_name[NAME_BYTES - 1] = 0;
	return true;
}

static void take_header(const Elf64_Shdr *shdr, const char *name, struct headers *headers)
{
	Elf64_Shdr *to = !strcmp(name, ".eh_frame")	 ? &headers->eh_frame
			 : !strcmp(name, ".debug_frame") ? &headers->debug_frame
							 : NULL;

	if (to && to->sh_type == SHT_NULL && shdr->sh_type != SHT_NOBITS)
		*to = *shdr;
}

static struct headers find_headers(const struct elf_file *file)
{
	struct headers headers = {.lie = true};
	char name[NAME_BYTES];
	Elf64_Shdr names, shdr;
	Elf64_Ehdr ehdr;
	uint64_t count;

	if (!elf_file_read_whole(file, 0, &ehdr, sizeof(ehdr)))
		return headers;
	if (!ehdr.e_shoff || !read_shape(file, &ehdr, &count, &names)) {
		headers.lie = ehdr.e_shoff;
		return headers;
	}
	headers.lie = false;
	for (uint64_t i = 1; i < count; i++) {
		if (!read_header(file, &ehdr, i, &shdr))
			headers.lie = true;
		else if (read_name(file, &names, shdr.sh_name, name))
			take_header(&shdr, name, &headers);
		else if (names.sh_type != SHT_NULL)
			headers.lie = true;
	}
	return headers;
}

/* Finds .eh_frame without a section header, only in the form that all linkers write: the pointer to
 * it is relative to itself, in 32 bits. Returns false if there is none. */
static bool find_by_program_headers(const struct elf_file *file, Elf64_Shdr *ret_shdr)
{
	size_t count, i = 0;
	const Elf64_Phdr *p = elf_file_program_headers(file, &count);
	struct {
		uint8_t version, encoding, others[2];
		int32_t pointer;
	} header;
	uint64_t vaddr;

	while (i < count && p[i].p_type != PT_GNU_EH_FRAME)
		i++;
	if (i == count || !elf_file_read_whole(file, p[i].p_offset, &header, sizeof(header)) ||
	    header.version != 1 || header.encoding != PCREL_SDATA4)
		return false;
	vaddr = p[i].p_vaddr + 4 + (uint64_t)(int64_t)header.pointer;
	for (i = 0; i < count; i++) {
		uint64_t skip = vaddr - p[i].p_vaddr;

		if (p[i].p_type != PT_LOAD || skip >= p[i].p_filesz)
			continue;
		*ret_shdr = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
					 .sh_addr = vaddr,
					 .sh_offset = p[i].p_offset + skip,
					 .sh_size = p[i].p_filesz - skip};
		return true;
	}
	return false;
}

/* --- reading ------------------------------------------------------------------------------- */

/* Copies bytes of the file, all or none. *ret_bytes, which the caller frees, is NULL if the file is
 * too short. Returns 0, -ENOMEM or an error of elf_file_read(). Reads the last byte first, so that
 * a false size does not cost that much memory. */
static int read_bytes(const struct elf_file *file, uint64_t offset, uint64_t size,
		      uint8_t **ret_bytes)
{
	uint8_t *bytes;
	int64_t n;

	*ret_bytes = NULL;
	if (size && !elf_file_read_whole(file, offset + size - 1, &(uint8_t){0}, 1))
		return 0;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return -ENOMEM;
	n = elf_file_read(file, offset, bytes, size);
	if (n >= 0 && (uint64_t)n == size) {
		*ret_bytes = bytes;
		return 0;
	}
	free(bytes);
	return n < 0 ? (int)n : 0;
}

static bool inflate_to(uint32_t type, const uint8_t *from, size_t len, uint8_t *to, size_t size)
{
	if (type == ELFCOMPRESS_ZLIB) {
		uLongf n = size;

		return uncompress(to, &n, from, len) == Z_OK && n == size;
	}
	return type == ELFCOMPRESS_ZSTD && ZSTD_decompress(to, size, from, len) == size;
}

/* Replaces `*bytes` by the decompressed bytes, and frees the old ones. If they are invalid, counts
 * that in `refused`, and sets `*bytes` to NULL. Returns 0 or -ENOMEM. */
static int decompress(uint8_t **bytes, uint64_t *size, uint64_t *refused)
{
	Elf64_Chdr header;
	uint8_t *from = *bytes, *to = NULL;
	enum cfi_refusal why = CFI_REFUSED_SECTION_READ;
	int err = 0;

	*bytes = NULL;
	if (*size >= sizeof(header)) {
		memcpy(&header, from, sizeof(header));
		if (header.ch_size > CFI_SECTION_MAX_BYTES) {
			why = CFI_REFUSED_SECTION_SIZE;
		} else {
			to = malloc(header.ch_size ? header.ch_size : 1);
			err = to ? 0 : -ENOMEM;
		}
	}
	if (to && inflate_to(header.ch_type, from + sizeof(header), *size - sizeof(header), to,
			     header.ch_size)) {
		*bytes = to;
		*size = header.ch_size;
	} else {
		free(to);
		refused[why]++;
	}
	free(from);
	return err;
}

static int add_section(const struct elf_file *file, const Elf64_Shdr *shdr, bool is_eh_frame,
		       struct cfi_sections *sections)
{
	uint64_t size = shdr->sh_size;
	uint8_t *bytes;
	int err;

	if (size > CFI_SECTION_MAX_BYTES) {
		sections->refused[CFI_REFUSED_SECTION_SIZE]++;
		return 0;
	}
	err = read_bytes(file, shdr->sh_offset, size, &bytes);
	if (err)
		return err;
	if (!bytes)
		sections->refused[CFI_REFUSED_SECTION_READ]++;
	else if (shdr->sh_flags & SHF_COMPRESSED)
		err = decompress(&bytes, &size, sections->refused);
	if (err || !bytes)
		return err;
	sections->bytes[sections->count] = bytes;
	sections->items[sections->count++] = (struct cfi_section){
		.data = bytes,
		.size = size,
		.vaddr = shdr->sh_addr,
		.is_eh_frame = is_eh_frame,
	};
	return 0;
}

int cfi_section_read(const struct elf_file *file, struct cfi_sections *ret_sections)
{
	struct headers headers;
	struct cfi_sections sections = {0};
	int err = 0;

	if (elf_file_is_32bit(file)) { /* their stacks are not walked */
		*ret_sections = sections;
		return 0;
	}
	headers = find_headers(file);
	sections.refused[CFI_REFUSED_SECTION_HEADERS] = headers.lie;
	if (headers.eh_frame.sh_type != SHT_NULL ||
	    find_by_program_headers(file, &headers.eh_frame))
		err = add_section(file, &headers.eh_frame, true, &sections);
	if (!err && headers.debug_frame.sh_type != SHT_NULL)
		err = add_section(file, &headers.debug_frame, false, &sections);
	if (err)
		cfi_section_release(&sections);
	else
		*ret_sections = sections;
	return err;
}

void cfi_section_release(struct cfi_sections *sections)
{
	free(sections->bytes[0]);
	free(sections->bytes[1]);
	*sections = (struct cfi_sections){0};
}

bool cfi_section_has_debug_frame(const struct elf_file *file)
{
	return find_headers(file).debug_frame.sh_type != SHT_NULL;
}
