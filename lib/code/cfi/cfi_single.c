/* SPDX-License-Identifier: MIT */
/*
 * Reads an entry and its CIE from their offsets in the file; see cfi_single.h.
 *
 *   entry    u32 length, u32 distance back to its CIE, ...
 *
 * The section that is made of them is CIE | entry , without the bytes that are between them in the
 * file, so the distance is replaced. cfi_entry.c checks whether the two are valid, and the caller
 * whether the entry covers the address. So if .eh_frame_hdr is wrong, no more happens than that the
 * whole section has to be read.
 */
#include "cfi/cfi_single.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/eh_frame_hdr.h"

#define MAX_ENTRY_BYTES (256 * 1024)

/* Gives the vaddr of the entry to which the last row leads that starts at `vaddr` or before.
 * Returns 0, -ENODATA or -ENOMEM. */
static int search(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_entry)
{
	struct eh_frame_hdr *hdr;
	struct eh_frame_hdr_row row;
	int err = eh_frame_hdr_new(file, &hdr);
	size_t rank;

	if (err)
		return err;
	rank = eh_frame_hdr_rank(hdr, vaddr);
	if (rank && eh_frame_hdr_row(hdr, rank - 1, &row))
		*ret_entry = row.entry;
	else
		err = -ENODATA;
	eh_frame_hdr_free(hdr);
	return err;
}

/* Returns the size of the entry or CIE at an offset, with its length field; 0: there is none of a
 * possible size. */
static size_t entry_bytes(const struct elf_file *file, uint64_t offset)
{
	uint32_t len;

	if (!elf_file_read_whole(file, offset, &len, sizeof(len)) || len < 8 ||
	    len > MAX_ENTRY_BYTES)
		return 0;
	return len + sizeof(len);
}

/* Gives the offset of the CIE of the entry at `offset`. Returns false if there can be none. */
static bool find_cie(const struct elf_file *file, uint64_t offset, uint64_t *ret_offset)
{
	uint32_t distance;

	if (!elf_file_read_whole(file, offset + 4, &distance, sizeof(distance)) || !distance ||
	    distance > offset + 4)
		return false;
	*ret_offset = offset + 4 - distance;
	return true;
}

int cfi_single_read(const struct elf_file *file, uint64_t vaddr, struct cfi_sections *ret_sections)
{
	uint64_t entry, offset, cie;
	size_t cie_len, len;
	uint32_t distance;
	uint8_t *data;
	int err = search(file, vaddr, &entry);

	if (err)
		return err;
	if (!elf_file_vaddr_to_offset(file, entry, &offset) || !find_cie(file, offset, &cie))
		return -ENODATA;
	cie_len = entry_bytes(file, cie);
	len = entry_bytes(file, offset);
	if (!cie_len || !len || entry < cie_len)
		return -ENODATA;
	data = malloc(cie_len + len);
	if (!data)
		return -ENOMEM;
	if (!elf_file_read_whole(file, cie, data, cie_len) ||
	    !elf_file_read_whole(file, offset, data + cie_len, len)) {
		free(data);
		return -ENODATA;
	}
	distance = (uint32_t)cie_len + 4;
	memcpy(data + cie_len + 4, &distance, sizeof(distance));
	*ret_sections = (struct cfi_sections){
		.items[0] = {data, cie_len + len, entry - cie_len, .is_eh_frame = true},
		.bytes[0] = data,
		.count = 1,
	};
	return 0;
}
