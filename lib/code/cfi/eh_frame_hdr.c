/* SPDX-License-Identifier: MIT */
/*
 * The linker's search table of call frame information; see eh_frame_hdr.h.
 *
 *   header   version 1, three encodings, pointer to .eh_frame, count
 *   rows     count * { s32 start of code, s32 address of its entry }, both from the header's vaddr
 *   entry    u32 length, u32 CIE, s32 start of code from here, u32 bytes of code, ...
 *
 * The format allows for other encodings. But all linkers write these, and a table with others
 * counts as none: .eh_frame has the same information, and only takes longer to search.
 *
 * A count is accepted only if the file has that many rows: the last byte is read before memory is
 * allocated.
 */
#include "cfi/eh_frame_hdr.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_ROWS       (4 * 1024 * 1024) /* libLLVM has 95,000 */
#define PCREL_SDATA4   0x1b
#define UDATA4	       0x03
#define DATAREL_SDATA4 0x3b

struct header {
	uint8_t version, eh_frame_encoding, count_encoding, table_encoding;
	int32_t eh_frame;
	uint32_t count;
};

_Static_assert(sizeof(struct header) == EH_FRAME_HDR_BYTES, "the rows follow the header");

struct row {
	int32_t start, entry; /* both are relative to the header's vaddr */
};

struct eh_frame_hdr {
	const struct elf_file *file; /* borrowed */
	uint64_t vaddr;		     /* of the header */
	uint64_t offset;	     /* of the first row */
	size_t count;
	struct row *rows; /* owned; NULL: rows are read one by one */
};

static bool header_is_usual(const struct header *h)
{
	return h->version == 1 && h->eh_frame_encoding == PCREL_SDATA4 &&
	       h->count_encoding == UDATA4 && h->table_encoding == DATAREL_SDATA4;
}

int eh_frame_hdr_read_now(const struct elf_file *file, uint64_t offset, uint32_t *ret_count)
{
	struct header h;

	if (!elf_file_read_now(file, offset, &h, sizeof(h)))
		return -EAGAIN;
	if (!header_is_usual(&h) || !h.count)
		return -ENODATA;
	*ret_count = h.count;
	return 0;
}

/* Finds the table, without reading its rows. Returns false if there is no usable table. */
static bool find(const struct elf_file *file, struct eh_frame_hdr *ret_hdr)
{
	struct eh_frame_hdr hdr = {.file = file};
	struct header h;

	if (!elf_file_header_vaddr(file, PT_GNU_EH_FRAME, &hdr.vaddr) ||
	    !elf_file_vaddr_to_offset(file, hdr.vaddr, &hdr.offset) ||
	    !elf_file_read_whole(file, hdr.offset, &h, sizeof(h)) || !header_is_usual(&h) ||
	    !h.count || h.count > MAX_ROWS)
		return false;
	hdr.count = h.count;
	hdr.offset += sizeof(h);
	if (!elf_file_read_whole(file, hdr.offset + hdr.count * sizeof(struct row) - 1,
				 &(uint8_t){0}, 1))
		return false;
	*ret_hdr = hdr;
	return true;
}

int eh_frame_hdr_new(const struct elf_file *file, struct eh_frame_hdr **ret_hdr)
{
	struct eh_frame_hdr found, *hdr;

	if (elf_file_is_32bit(file) || !find(file, &found))
		return -ENODATA;
	hdr = malloc(sizeof(*hdr));
	if (!hdr)
		return -ENOMEM;
	*hdr = found;
	*ret_hdr = hdr;
	return 0;
}

void eh_frame_hdr_free(struct eh_frame_hdr *hdr)
{
	if (!hdr)
		return;
	free(hdr->rows);
	free(hdr);
}

int eh_frame_hdr_load(struct eh_frame_hdr *hdr)
{
	struct row *rows;

	if (hdr->rows)
		return 0;
	rows = malloc(hdr->count * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	if (!elf_file_read_whole(hdr->file, hdr->offset, rows, hdr->count * sizeof(*rows))) {
		free(rows);
		return -ENODATA;
	}
	hdr->rows = rows;
	return 0;
}

size_t eh_frame_hdr_count(const struct eh_frame_hdr *hdr)
{
	return hdr ? hdr->count : 0;
}

bool eh_frame_hdr_row(const struct eh_frame_hdr *hdr, size_t i, struct eh_frame_hdr_row *ret_row)
{
	struct row row;

	if (i >= eh_frame_hdr_count(hdr))
		return false;
	if (hdr->rows)
		row = hdr->rows[i];
	else if (!elf_file_read_whole(hdr->file, hdr->offset + i * sizeof(row), &row, sizeof(row)))
		return false;
	ret_row->start = hdr->vaddr + (uint64_t)(int64_t)row.start;
	ret_row->entry = hdr->vaddr + (uint64_t)(int64_t)row.entry;
	return true;
}

size_t eh_frame_hdr_rank(const struct eh_frame_hdr *hdr, uint64_t vaddr)
{
	size_t low = 0, high = eh_frame_hdr_count(hdr);

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		struct eh_frame_hdr_row row;

		if (!eh_frame_hdr_row(hdr, mid, &row))
			return 0;
		if (row.start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct entry {
	uint32_t length, cie;
	int32_t start;
	uint32_t bytes;
};

static uint32_t bytes_of(const struct entry *e, uint64_t entry, uint64_t start)
{
	if (e->length < 12 || entry + 8 + (uint64_t)(int64_t)e->start != start)
		return 0;
	return start + e->bytes > start ? e->bytes : 0;
}

uint32_t eh_frame_hdr_code_bytes(const struct eh_frame_hdr *hdr, const struct eh_frame_hdr_row *row)
{
	struct entry e;
	uint64_t offset;

	if (!elf_file_vaddr_to_offset(hdr->file, row->entry, &offset) ||
	    !elf_file_read_whole(hdr->file, offset, &e, sizeof(e)))
		return 0;
	return bytes_of(&e, row->entry, row->start);
}

int eh_frame_hdr_entry_now(const struct elf_file *file, uint64_t offset, uint64_t entry,
			   uint64_t start, uint32_t *ret_bytes)
{
	struct entry e;

	if (!elf_file_read_now(file, offset, &e, sizeof(e)))
		return -EAGAIN;
	*ret_bytes = bytes_of(&e, entry, start);
	return *ret_bytes ? 0 : -ENODATA;
}
