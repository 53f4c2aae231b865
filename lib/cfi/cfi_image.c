/* SPDX-License-Identifier: MIT */
/*
 * The image that libdw gets; see cfi_image.h.
 *
 *   ELF header | .eh_frame, .debug_frame | search table | names | section headers
 *
 * Both kinds of entry can stand in one section since .debug_frame's were rewritten to .eh_frame's
 * form (cfi_check.c) and hold absolute addresses. The table is .eh_frame_hdr's, with 8-byte
 * absolute addresses: it holds what the linker's 4-byte form cannot, and needs no case for it.
 *
 * Where entries overlap, .eh_frame wins over .debug_frame, and of two that start at one address
 * the first in the section wins.
 */
#include "cfi/cfi_image.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/cfi_check.h"
#include "cfi/cfi_single.h"
#include "cfi/cfi_section.h"

#define EH_PE_UDATA8	 0x04
#define TABLE_HEAD_BYTES 20
#define TABLE_ROW_BYTES	 16
#define DEBUG_ONLY_VADDR 0x1000 /* of the image's section, where the file has no .eh_frame */

struct range {
	uint64_t start, end; /* vaddr */
};

struct cfi_image {
	uint8_t *bytes; /* owned; the ELF image */
	Elf *elf;	/* owned */
	Dwarf_CFI *cfi; /* owned */
	struct range *ranges;
	size_t count;
};

struct layout {
	uint64_t vaddr; /* of the frame section */
	size_t frames_at, frames_len, table_at, table_len, names_at, headers_at, size;
};

static const char section_names[] = "\0.eh_frame_hdr\0.eh_frame\0.shstrtab";
enum { NAME_TABLE = 1, NAME_FRAMES = 15, NAME_NAMES = 25 };

static size_t align8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static struct layout plan(const struct cfi_section *eh, const struct cfi_section *debug,
			  size_t count)
{
	struct layout l = {.vaddr = eh->data ? eh->vaddr : DEBUG_ONLY_VADDR};

	l.frames_at = sizeof(Elf64_Ehdr);
	l.frames_len = align8(eh->len) + debug->len;
	l.table_at = align8(l.frames_at + l.frames_len);
	l.table_len = TABLE_HEAD_BYTES + count * TABLE_ROW_BYTES;
	l.names_at = align8(l.table_at + l.table_len);
	l.headers_at = align8(l.names_at + sizeof(section_names));
	l.size = l.headers_at + 4 * sizeof(Elf64_Shdr);
	return l;
}

static void write_headers(uint8_t *bytes, const struct layout *l)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *shdr = (Elf64_Shdr *)(bytes + l->headers_at);

	memcpy(ehdr->e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	ehdr->e_type = ET_DYN;
	ehdr->e_machine = EM_X86_64;
	ehdr->e_version = EV_CURRENT;
	ehdr->e_ehsize = sizeof(*ehdr);
	ehdr->e_shoff = l->headers_at;
	ehdr->e_shentsize = sizeof(*shdr);
	ehdr->e_shnum = 4;
	ehdr->e_shstrndx = 3;
	shdr[1] = (Elf64_Shdr){.sh_name = NAME_TABLE, .sh_type = SHT_PROGBITS, .sh_addralign = 1};
	shdr[1].sh_addr = l->vaddr;
	shdr[1].sh_offset = l->table_at;
	shdr[1].sh_size = l->table_len;
	shdr[2] = (Elf64_Shdr){.sh_name = NAME_FRAMES, .sh_type = SHT_PROGBITS, .sh_addralign = 1};
	shdr[2].sh_addr = l->vaddr;
	shdr[2].sh_offset = l->frames_at;
	shdr[2].sh_size = l->frames_len;
	shdr[3] = (Elf64_Shdr){.sh_name = NAME_NAMES, .sh_type = SHT_STRTAB, .sh_addralign = 1};
	shdr[3].sh_offset = l->names_at;
	shdr[3].sh_size = sizeof(section_names);
	memcpy(bytes + l->names_at, section_names, sizeof(section_names));
}

static void write_table(uint8_t *table, const struct layout *l, const struct cfi_fde_list *list)
{
	static const uint8_t head[4] = {1, EH_PE_UDATA8, EH_PE_UDATA8, EH_PE_UDATA8};
	uint64_t count = list->count;

	memcpy(table, head, sizeof(head));
	memcpy(table + 4, &l->vaddr, 8);
	memcpy(table + 12, &count, 8);
	table += TABLE_HEAD_BYTES;
	for (size_t i = 0; i < count; i++, table += TABLE_ROW_BYTES) {
		uint64_t entry = l->vaddr + list->items[i].at;

		memcpy(table, &list->items[i].start, 8);
		memcpy(table + 8, &entry, 8);
	}
}

/* --- which entries ------------------------------------------------------------------------- */

static int compare_fdes(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at; /* .debug_frame's stand behind */
}

/* Sorts, and drops what libdw's search could not tell apart. */
static void choose(struct cfi_fde_list *list)
{
	size_t kept = 0;
	uint64_t eh_end = 0; /* how far .eh_frame's entries have covered */

	qsort(list->items, list->count, sizeof(*list->items), compare_fdes);
	for (size_t i = 0; i < list->count; i++) {
		const struct cfi_fde *fde = &list->items[i];

		if (kept && list->items[kept - 1].start == fde->start)
			continue;
		if (fde->is_debug && fde->start < eh_end)
			continue;
		if (!fde->is_debug && fde->end > eh_end)
			eh_end = fde->end;
		list->items[kept++] = *fde;
	}
	list->count = kept;
}

static int check_sections(struct cfi_section *eh, struct cfi_section *debug,
			  struct cfi_fde_list *list)
{
	int r = 0;

	if (eh->data)
		r = cfi_check_section(eh->data, eh->len, eh->vaddr, false, 0, list);
	if (!r && debug->data)
		r = cfi_check_section(debug->data, debug->len, 0, true, align8(eh->len), list);
	if (!r && !list->count)
		r = -ENODATA;
	if (!r)
		choose(list);
	return r;
}

/* --- the image ----------------------------------------------------------------------------- */

static int fill(struct cfi_image *image, const struct cfi_section *eh,
		const struct cfi_section *debug, const struct cfi_fde_list *list)
{
	struct layout l = plan(eh, debug, list->count);

	image->count = list->count;
	image->ranges = malloc(list->count * sizeof(*image->ranges));
	image->bytes = calloc(1, l.size);
	if (!image->ranges || !image->bytes)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		image->ranges[i] = (struct range){list->items[i].start, list->items[i].end};
	if (eh->data)
		memcpy(image->bytes + l.frames_at, eh->data, eh->len);
	if (debug->data)
		memcpy(image->bytes + l.frames_at + align8(eh->len), debug->data, debug->len);
	write_table(image->bytes + l.table_at, &l, list);
	write_headers(image->bytes, &l);
	elf_version(EV_CURRENT);
	image->elf = elf_memory((char *)image->bytes, l.size);
	image->cfi = image->elf ? dwarf_getcfi_elf(image->elf) : NULL;
	return image->cfi ? 0 : -EIO;
}

/* An image of what is good of both sections, which are released. */
static int make(struct cfi_section *eh, struct cfi_section *debug, struct cfi_image **ret_image)
{
	struct cfi_fde_list list = {0};
	struct cfi_image *image = calloc(1, sizeof(*image));
	int r = image ? check_sections(eh, debug, &list) : -ENOMEM;

	if (!r)
		r = fill(image, eh, debug, &list);
	cfi_fde_list_free(&list);
	cfi_section_free(eh);
	cfi_section_free(debug);
	if (r)
		cfi_image_free(image);
	else
		*ret_image = image;
	return r;
}

int cfi_image_new(const struct elf_file *file, struct cfi_image **ret_image)
{
	struct cfi_section eh, debug;
	int r = cfi_section_read(file, &eh, &debug);

	return r ? r : make(&eh, &debug, ret_image);
}

int cfi_image_new_at(const struct elf_file *file, uint64_t vaddr, struct cfi_image **ret_image)
{
	struct cfi_section eh, debug = {0};
	struct cfi_image *image;
	uint64_t start, end;
	int r = cfi_entry_read(file, vaddr, &eh);

	if (!r)
		r = make(&eh, &debug, &image);
	if (r)
		return r;
	if (!cfi_image_find(image, vaddr, &start, &end) && cfi_section_may_have_debug(file)) {
		cfi_image_free(image);
		return -ENODATA;
	}
	*ret_image = image;
	return 0;
}

void cfi_image_free(struct cfi_image *image)
{
	if (!image)
		return;
	dwarf_cfi_end(image->cfi);
	elf_end(image->elf);
	free(image->bytes);
	free(image->ranges);
	free(image);
}

bool cfi_image_find(const struct cfi_image *image, uint64_t vaddr, uint64_t *ret_start,
		    uint64_t *ret_end)
{
	size_t low = 0, high = image->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (image->ranges[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || vaddr >= image->ranges[low - 1].end)
		return false;
	*ret_start = image->ranges[low - 1].start;
	*ret_end = image->ranges[low - 1].end;
	return true;
}

Dwarf_CFI *cfi_image_libdw(const struct cfi_image *image)
{
	return image->cfi;
}

size_t cfi_image_count(const struct cfi_image *image)
{
	return image->count;
}

void cfi_image_range(const struct cfi_image *image, size_t i, uint64_t *ret_start,
		     uint64_t *ret_end)
{
	*ret_start = image->ranges[i].start;
	*ret_end = image->ranges[i].end;
}
