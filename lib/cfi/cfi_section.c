/* SPDX-License-Identifier: MIT */
/*
 * Where a file keeps its call frame information; see cfi_section.h.
 *
 * Section headers are asked first, since they give the size. A file stripped of them still has
 * PT_GNU_EH_FRAME, whose header points to .eh_frame; its size is then unknown, and the rest of
 * the segment is taken, which is harmless: entries end at the first that makes no sense.
 *
 * .debug_frame matters for code without .eh_frame, above all Go's, which compresses it. libelf
 * decompresses it, in a file of our own making that holds nothing else: asked on the file's own
 * handle it would change the section for everyone who shares the handle.
 */
#include "cfi/cfi_section.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME_TABLE_BYTES (16 * 1024 * 1024)
#define EH_FRAME_HDR_BYTES   8
#define EH_PE_PCREL_SDATA4   0x1b

void cfi_section_free(struct cfi_section *section)
{
	if (!section)
		return;
	free(section->data);
	*section = (struct cfi_section){0};
}

/* Up to `len` bytes of the file, malloc()ed. 0, -ENODATA (none there, or too many), -ENOMEM. */
static int read_bytes(const struct elf_file *file, uint64_t offset, uint64_t len, uint64_t max,
		      uint8_t **ret_data, size_t *ret_len)
{
	uint8_t *data;
	int64_t n;

	if (!len || len > max)
		return -ENODATA;
	/* One byte at the end first: a lie about the size must not cost its memory. */
	if (elf_file_read(file, offset + len - 1, &(uint8_t){0}, 1) != 1)
		return -ENODATA;
	data = malloc(len);
	if (!data)
		return -ENOMEM;
	n = elf_file_read(file, offset, data, len);
	if (n != (int64_t)len) {
		free(data);
		return -ENODATA;
	}
	*ret_data = data;
	*ret_len = len;
	return 0;
}

static int take_section(const struct elf_file *file, const Elf64_Shdr *shdr,
			struct cfi_section *section)
{
	int r;

	if (section->data || shdr->sh_type == SHT_NOBITS)
		return 0;
	r = read_bytes(file, shdr->sh_offset, shdr->sh_size, CFI_SECTION_MAX_BYTES, &section->data,
		       &section->len);
	section->vaddr = shdr->sh_addr;
	return r == -ENOMEM ? r : 0;
}

/* --- compressed sections ------------------------------------------------------------------- */

/* The smallest ELF file around one compressed section: header, bytes, names, section headers. */
static uint8_t *wrap_compressed(const struct cfi_section *section, size_t *ret_size)
{
	static const char names[] = "\0.debug_frame";
	size_t data_at = sizeof(Elf64_Ehdr);
	size_t names_at = (data_at + section->len + 7) & ~(size_t)7;
	size_t headers_at = (names_at + sizeof(names) + 7) & ~(size_t)7;
	size_t size = headers_at + 3 * sizeof(Elf64_Shdr);
	uint8_t *image = calloc(1, size);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)image;
	Elf64_Shdr *shdr;

	if (!image)
		return NULL;
	memcpy(ehdr->e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	ehdr->e_type = ET_REL;
	ehdr->e_machine = EM_X86_64;
	ehdr->e_version = EV_CURRENT;
	ehdr->e_ehsize = sizeof(*ehdr);
	ehdr->e_shoff = headers_at;
	ehdr->e_shentsize = sizeof(*shdr);
	ehdr->e_shnum = 3;
	ehdr->e_shstrndx = 2;
	memcpy(image + data_at, section->data, section->len);
	memcpy(image + names_at, names, sizeof(names));
	shdr = (Elf64_Shdr *)(image + headers_at);
	shdr[1] = (Elf64_Shdr){.sh_name = 1,
			       .sh_type = SHT_PROGBITS,
			       .sh_flags = SHF_COMPRESSED,
			       .sh_offset = data_at,
			       .sh_size = section->len,
			       .sh_addralign = 1};
	shdr[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			       .sh_offset = names_at,
			       .sh_size = sizeof(names),
			       .sh_addralign = 1};
	*ret_size = size;
	return image;
}

static int decompress_wrapped(Elf *elf, struct cfi_section *section)
{
	Elf_Scn *scn = elf_getscn(elf, 1);
	Elf64_Chdr *header = scn ? elf64_getchdr(scn) : NULL;
	Elf_Data *data;
	uint8_t *bytes;

	if (!header || !header->ch_size || header->ch_size > CFI_SECTION_MAX_BYTES)
		return -ENODATA;
	if (elf_compress(scn, 0, 0) < 0)
		return -ENODATA;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return -ENODATA;
	bytes = malloc(data->d_size);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, data->d_buf, data->d_size);
	free(section->data);
	section->data = bytes;
	section->len = data->d_size;
	return 0;
}

/* 0, with the section empty if its content makes no sense, or -ENOMEM. */
static int decompress(struct cfi_section *section)
{
	size_t size;
	uint8_t *image = wrap_compressed(section, &size);
	Elf *elf;
	int r = -ENODATA;

	if (!image)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, size);
	if (elf)
		r = decompress_wrapped(elf, section);
	elf_end(elf);
	free(image);
	if (r == -ENODATA)
		cfi_section_free(section);
	return r == -ENOMEM ? r : 0;
}

/* --- by section headers -------------------------------------------------------------------- */

static bool name_is(const uint8_t *names, size_t len, uint32_t at, const char *name)
{
	size_t n = strlen(name) + 1;

	return at < len && n <= len - at && !memcmp(names + at, name, n);
}

static int take_named(const struct elf_file *file, const Elf64_Shdr *shdr, size_t n,
		      const uint8_t *names, size_t names_len, struct cfi_section *eh,
		      struct cfi_section *debug)
{
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		if (name_is(names, names_len, shdr[i].sh_name, ".eh_frame") && shdr[i].sh_addr)
			r = take_section(file, &shdr[i], eh);
		if (name_is(names, names_len, shdr[i].sh_name, ".debug_frame") && !debug->data) {
			r = take_section(file, &shdr[i], debug);
			debug->vaddr = 0;
			if (!r && debug->data && shdr[i].sh_flags & SHF_COMPRESSED)
				r = decompress(debug);
		}
	}
	return r;
}

struct headers {
	Elf64_Shdr *sections;
	size_t n;
	uint8_t *names;
	size_t names_len;
};

static void headers_free(struct headers *h)
{
	free(h->sections);
	free(h->names);
}

/* 0, -ENODATA, -ENOMEM. */
static int read_headers(const struct elf_file *file, const Elf64_Ehdr *ehdr,
			struct headers *ret_headers)
{
	struct headers h = {.n = ehdr->e_shnum};
	uint8_t *sections;
	size_t len;
	int r;

	if (ehdr->e_shentsize != sizeof(*h.sections) || ehdr->e_shstrndx >= ehdr->e_shnum)
		return -ENODATA;
	r = read_bytes(file, ehdr->e_shoff, (uint64_t)ehdr->e_shnum * sizeof(*h.sections),
		       UINT32_MAX, &sections, &len);
	if (r)
		return r;
	h.sections = (Elf64_Shdr *)sections;
	r = read_bytes(file, h.sections[ehdr->e_shstrndx].sh_offset,
		       h.sections[ehdr->e_shstrndx].sh_size, MAX_NAME_TABLE_BYTES, &h.names,
		       &h.names_len);
	if (r)
		headers_free(&h);
	else
		*ret_headers = h;
	return r;
}

static int by_section_headers(const struct elf_file *file, const Elf64_Ehdr *ehdr,
			      struct cfi_section *eh, struct cfi_section *debug)
{
	struct headers h;
	int r = read_headers(file, ehdr, &h);

	if (r)
		return r;
	r = take_named(file, h.sections, h.n, h.names, h.names_len, eh, debug);
	headers_free(&h);
	return r;
}

bool cfi_section_may_have_debug(const struct elf_file *file)
{
	bool found = false;
	struct headers h;
	Elf64_Ehdr ehdr;
	int r;

	if (elf_file_read(file, 0, &ehdr, sizeof(ehdr)) != sizeof(ehdr))
		return false;
	r = read_headers(file, &ehdr, &h);
	if (r)
		return r == -ENOMEM;
	for (size_t i = 0; i < h.n && !found; i++)
		found = name_is(h.names, h.names_len, h.sections[i].sh_name, ".debug_frame");
	headers_free(&h);
	return found;
}

/* --- by program headers -------------------------------------------------------------------- */

static int take_rest_of_segment(const struct elf_file *file, const Elf64_Phdr *load, uint64_t vaddr,
				struct cfi_section *eh)
{
	uint64_t skip = vaddr - load->p_vaddr;
	int r = read_bytes(file, load->p_offset + skip, load->p_filesz - skip,
			   CFI_SECTION_MAX_BYTES, &eh->data, &eh->len);

	eh->vaddr = vaddr;
	return r == -ENOMEM ? r : 0;
}

static int by_program_headers(const struct elf_file *file, const Elf64_Ehdr *ehdr,
			      struct cfi_section *eh)
{
	uint64_t vaddr = 0;
	Elf64_Phdr phdr;

	for (size_t i = 0; i < ehdr->e_phnum; i++) {
		uint8_t hdr[EH_FRAME_HDR_BYTES];
		int32_t distance;

		if (elf_file_read(file, ehdr->e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)) !=
		    sizeof(phdr))
			return 0;
		if (phdr.p_type != PT_GNU_EH_FRAME ||
		    elf_file_read(file, phdr.p_offset, hdr, sizeof(hdr)) != sizeof(hdr) ||
		    hdr[0] != 1 || hdr[1] != EH_PE_PCREL_SDATA4)
			continue;
		memcpy(&distance, hdr + 4, 4);
		vaddr = phdr.p_vaddr + 4 + (uint64_t)(int64_t)distance;
	}
	for (size_t i = 0; vaddr && i < ehdr->e_phnum; i++) {
		if (elf_file_read(file, ehdr->e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)) !=
		    sizeof(phdr))
			return 0;
		if (phdr.p_type == PT_LOAD && vaddr >= phdr.p_vaddr &&
		    vaddr - phdr.p_vaddr < phdr.p_filesz)
			return take_rest_of_segment(file, &phdr, vaddr, eh);
	}
	return 0;
}

int cfi_section_read(const struct elf_file *file, struct cfi_section *ret_eh_frame,
		     struct cfi_section *ret_debug_frame)
{
	struct cfi_section eh = {0}, debug = {0};
	Elf64_Ehdr ehdr;
	int r = 0;

	if (elf_file_read(file, 0, &ehdr, sizeof(ehdr)) == sizeof(ehdr)) {
		r = by_section_headers(file, &ehdr, &eh, &debug);
		if (r != -ENOMEM && !eh.data)
			r = by_program_headers(file, &ehdr, &eh);
	}
	if (r == -ENOMEM) {
		cfi_section_free(&eh);
		cfi_section_free(&debug);
		return r;
	}
	*ret_eh_frame = eh;
	*ret_debug_frame = debug;
	return 0;
}
