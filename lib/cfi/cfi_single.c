/* SPDX-License-Identifier: MIT */
/*
 * An entry and its CIE, read where they lie; see cfi_entry.h.
 *
 *   entry    u32 length, u32 distance back to its CIE, ...
 *
 * What is made of it is  CIE | entry , without what lies between in the file: the distance is
 * written anew. Whether the two make sense is cfi_check.c's to say, and whether the entry covers
 * the address, its caller's: an index that lies leads to nothing worse than the whole section.
 */
#include "cfi/cfi_single.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/eh_frame_hdr.h"

#define MAX_ENTRY_BYTES (256 * 1024)

static bool read_all(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	return elf_file_read(file, offset, buf, len) == (int64_t)len;
}

/* The vaddr of the entry of the last row that starts at `vaddr` or before. 0, -ENODATA, -ENOMEM. */
static int search(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_entry)
{
	struct eh_frame_hdr *hdr;
	struct eh_frame_hdr_row row;
	int r = eh_frame_hdr_new(file, &hdr);
	size_t rank;

	if (r)
		return r;
	rank = eh_frame_hdr_rank(hdr, vaddr);
	if (rank && eh_frame_hdr_row(hdr, rank - 1, &row))
		*ret_entry = row.entry;
	else
		r = -ENODATA;
	eh_frame_hdr_free(hdr);
	return r;
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
	int r = search(file, vaddr, &entry);

	if (r)
		return r;
	if (!elf_file_vaddr_to_offset(file, entry, &offset) || !find_cie(file, offset, &cie))
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
