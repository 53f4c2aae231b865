/* SPDX-License-Identifier: MIT */
/*
 * Bounds of functions from .eh_frame_hdr; see unwind_bounds.h.
 *
 *   header   version 1, three encodings, pointer to .eh_frame, count
 *   table    count * { s32 start of code, s32 address of its entry }, both from the header's vaddr
 *   entry    u32 length, u32 CIE, s32 start of code from here, u32 bytes of code, ...
 *
 * All linkers write just these encodings. An entry's own encoding stands in its CIE, which is not
 * read: an entry whose start, taken as if encoded like that, is the table's start is encoded like
 * that. libdw is not asked, since it would execute the entries of a file that may lie.
 */
#include "sym/unwind_bounds.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_ENTRIES    (4 * 1024 * 1024)
#define MAX_HEADERS    1024
#define PCREL_SDATA4   0x1b
#define UDATA4	       0x03
#define DATAREL_SDATA4 0x3b

struct header {
	uint8_t version, eh_frame_encoding, count_encoding, table_encoding;
	int32_t eh_frame;
	uint32_t count;
};

struct row {
	int32_t start, entry; /* from the header's vaddr */
};

struct unwind_bounds {
	const struct elf_file *file; /* borrowed */
	uint64_t vaddr;		     /* of the header */
	struct row *rows;	     /* owned */
	size_t n;
};

static bool find_header(const struct elf_file *file, uint64_t *ret_vaddr, uint64_t *ret_offset)
{
	Elf *elf = elf_file_libelf(file);
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n && i < MAX_HEADERS; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		*ret_vaddr = phdr.p_vaddr;
		return elf_file_vaddr_to_offset(file, phdr.p_vaddr, ret_offset);
	}
	return false;
}

static int load(struct unwind_bounds *b)
{
	struct header h;
	uint64_t offset;
	int64_t bytes;

	if (!find_header(b->file, &b->vaddr, &offset) ||
	    elf_file_read(b->file, offset, &h, sizeof(h)) != sizeof(h))
		return 0;
	if (h.version != 1 || h.eh_frame_encoding != PCREL_SDATA4 || h.count_encoding != UDATA4 ||
	    h.table_encoding != DATAREL_SDATA4 || !h.count || h.count > MAX_ENTRIES)
		return 0;
	b->rows = calloc(h.count, sizeof(*b->rows));
	if (!b->rows)
		return -ENOMEM;
	bytes = elf_file_read(b->file, offset + sizeof(h), b->rows, h.count * sizeof(*b->rows));
	b->n = bytes > 0 ? (size_t)bytes / sizeof(*b->rows) : 0;
	return 0;
}

int unwind_bounds_new(const struct elf_file *file, struct unwind_bounds **ret_bounds)
{
	struct unwind_bounds *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->file = file;
	r = load(b);
	if (r) {
		unwind_bounds_free(b);
		return r;
	}
	*ret_bounds = b;
	return 0;
}

void unwind_bounds_free(struct unwind_bounds *bounds)
{
	if (!bounds)
		return;
	free(bounds->rows);
	free(bounds);
}

static uint64_t row_start(const struct unwind_bounds *b, size_t i)
{
	return b->vaddr + (uint64_t)(int64_t)b->rows[i].start;
}

/* The end of a row's entry; 0 if the entry is not what it should be. */
static uint64_t entry_end(const struct unwind_bounds *b, size_t i)
{
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t bytes;
	} entry;
	uint64_t vaddr = b->vaddr + (uint64_t)(int64_t)b->rows[i].entry, offset;

	if (!elf_file_vaddr_to_offset(b->file, vaddr, &offset) ||
	    elf_file_read(b->file, offset, &entry, sizeof(entry)) != sizeof(entry))
		return 0;
	if (entry.length < 12 || vaddr + 8 + (uint64_t)(int64_t)entry.start != row_start(b, i))
		return 0;
	return row_start(b, i) + entry.bytes;
}

/* How many rows start at `vaddr` or before. */
static size_t rows_up_to(const struct unwind_bounds *b, uint64_t vaddr)
{
	size_t low = 0, high = b->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (row_start(b, mid) <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t unwind_bounds_start(const struct unwind_bounds *bounds, uint64_t vaddr)
{
	size_t row = rows_up_to(bounds, vaddr);

	return row && entry_end(bounds, row - 1) > vaddr ? row_start(bounds, row - 1) : 0;
}

uint64_t unwind_bounds_end(const struct unwind_bounds *bounds, uint64_t vaddr)
{
	size_t low = rows_up_to(bounds, vaddr);
	uint64_t end;

	end = low ? entry_end(bounds, low - 1) : 0;
	if (end > vaddr)
		return end;
	return low < bounds->n ? row_start(bounds, low) : UINT64_MAX;
}

size_t unwind_bounds_count(const struct unwind_bounds *bounds)
{
	return bounds->n;
}

bool unwind_bounds_at(const struct unwind_bounds *bounds, size_t entry, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	uint64_t end = entry < bounds->n ? entry_end(bounds, entry) : 0;

	if (!end || end <= row_start(bounds, entry))
		return false;
	*ret_start = row_start(bounds, entry);
	*ret_end = end;
	return true;
}
