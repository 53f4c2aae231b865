/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame_hdr, searched where it lies; see cfi_entry.h.
 *
 *   header   version 1, three encodings, pointer to .eh_frame, count
 *   table    count * { s32 start of code, s32 address of its entry }, both from the header's vaddr
 *   entry    u32 length, u32 distance back to its CIE, ...
 *
 * What is made of it is  CIE | entry , without what lies between in the file: the distance is
 * written anew. Whether the two make sense is cfi_check.c's to say, and whether the entry covers
 * the address, its caller's: a table that lies leads to nothing worse than the whole section.
 */
#include "walk/cfi_entry.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADERS	1024
#define MAX_ENTRY_BYTES (256 * 1024)
#define PCREL_SDATA4	0x1b
#define UDATA4		0x03
#define DATAREL_SDATA4	0x3b

struct header {
	uint8_t version, eh_frame_encoding, count_encoding, table_encoding;
	int32_t eh_frame;
	uint32_t count;
};

struct row {
	int32_t start, entry; /* from the header's vaddr */
};

static bool read_all(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	return elf_file_read(file, offset, buf, len) == (int64_t)len;
}

static bool find_header(const struct elf_file *file, uint64_t *ret_vaddr)
{
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;

	if (!read_all(file, 0, &ehdr, sizeof(ehdr)) || ehdr.e_phentsize != sizeof(phdr))
		return false;
	for (size_t i = 0; i < ehdr.e_phnum && i < MAX_HEADERS; i++) {
		if (!read_all(file, ehdr.e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return false;
		if (phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		*ret_vaddr = phdr.p_vaddr;
		return true;
	}
	return false;
}

/* The vaddr of the entry of the last row that starts at `vaddr` or before. */
static bool search(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_entry)
{
	struct row row, found = {0};
	uint64_t base, offset;
	uint32_t low = 0, high;
	struct header h;

	if (!find_header(file, &base) || !elf_file_vaddr_to_offset(file, base, &offset) ||
	    !read_all(file, offset, &h, sizeof(h)) || h.version != 1 ||
	    h.eh_frame_encoding != PCREL_SDATA4 || h.count_encoding != UDATA4 ||
	    h.table_encoding != DATAREL_SDATA4)
		return false;
	high = h.count;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (!read_all(file, offset + sizeof(h) + (uint64_t)mid * sizeof(row), &row,
			      sizeof(row)))
			return false;
		if (base + (uint64_t)(int64_t)row.start <= vaddr) {
			found = row;
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	*ret_entry = base + (uint64_t)(int64_t)found.entry;
	return low > 0;
}

/* How long the entry or CIE at an offset is, with its length before it. 0: nothing of sense. */
static size_t entry_bytes(const struct elf_file *file, uint64_t offset)
{
	uint32_t len;

	if (!read_all(file, offset, &len, sizeof(len)) || len < 8 || len > MAX_ENTRY_BYTES)
		return 0;
	return len + sizeof(len);
}

/* Where the CIE of the entry at `offset` begins. */
static bool find_cie(const struct elf_file *file, uint64_t offset, uint64_t *ret_offset)
{
	uint32_t distance;

	if (!read_all(file, offset + 4, &distance, sizeof(distance)) || !distance ||
	    distance > offset + 4)
		return false;
	*ret_offset = offset + 4 - distance;
	return true;
}

int cfi_entry_read(const struct elf_file *file, uint64_t vaddr, struct cfi_section *ret_eh_frame)
{
	uint64_t entry, offset, cie;
	size_t cie_len, len;
	uint32_t distance;
	uint8_t *data;

	if (!search(file, vaddr, &entry) || !elf_file_vaddr_to_offset(file, entry, &offset) ||
	    !find_cie(file, offset, &cie))
		return -ENODATA;
	cie_len = entry_bytes(file, cie);
	len = entry_bytes(file, offset);
	if (!cie_len || !len || entry < cie_len)
		return -ENODATA;
	data = malloc(cie_len + len);
	if (!data)
		return -ENOMEM;
	if (!read_all(file, cie, data, cie_len) || !read_all(file, offset, data + cie_len, len)) {
		free(data);
		return -ENODATA;
	}
	distance = (uint32_t)cie_len + 4;
	memcpy(data + cie_len + 4, &distance, sizeof(distance));
	*ret_eh_frame = (struct cfi_section){data, cie_len + len, entry - cie_len};
	return 0;
}
