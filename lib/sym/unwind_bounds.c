/* SPDX-License-Identifier: MIT */
/*
 * Bounds of functions from the index of unwind entries; see unwind_bounds.h.
 *
 *   entry    u32 length, u32 CIE, s32 start of code from here, u32 bytes of code, ...
 *
 * An entry's own encoding stands in its CIE, which is not read: an entry whose start, taken as if
 * encoded like that, is the index's start is encoded like that. libdw is not asked, since it would
 * execute the entries of a file that may lie.
 */
#include "sym/unwind_bounds.h"

#include <errno.h>
#include <stdlib.h>

#include "elf/eh_frame_hdr.h"

struct unwind_bounds {
	const struct elf_file *file; /* borrowed */
	struct eh_frame_hdr *hdr;    /* owned; NULL: the file has none */
};

/* 0 or -ENOMEM. */
static int load(struct unwind_bounds *b)
{
	int r = eh_frame_hdr_new(b->file, &b->hdr);

	if (!r)
		r = eh_frame_hdr_load(b->hdr);
	if (r == -ENODATA) {
		eh_frame_hdr_free(b->hdr);
		b->hdr = NULL;
		return 0;
	}
	return r;
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
	eh_frame_hdr_free(bounds->hdr);
	free(bounds);
}

size_t unwind_bounds_count(const struct unwind_bounds *bounds)
{
	return eh_frame_hdr_count(bounds->hdr);
}

bool unwind_bounds_at(const struct unwind_bounds *bounds, size_t entry, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t bytes;
	} e;
	struct eh_frame_hdr_row row;
	uint64_t offset, end;

	if (!eh_frame_hdr_row(bounds->hdr, entry, &row) ||
	    !elf_file_vaddr_to_offset(bounds->file, row.entry, &offset) ||
	    elf_file_read(bounds->file, offset, &e, sizeof(e)) != sizeof(e))
		return false;
	if (e.length < 12 || row.entry + 8 + (uint64_t)(int64_t)e.start != row.start)
		return false;
	end = row.start + e.bytes;
	if (end <= row.start)
		return false;
	*ret_start = row.start;
	*ret_end = end;
	return true;
}

uint64_t unwind_bounds_start(const struct unwind_bounds *bounds, uint64_t vaddr)
{
	size_t rank = eh_frame_hdr_rank(bounds->hdr, vaddr);
	uint64_t start, end;

	if (!rank || !unwind_bounds_at(bounds, rank - 1, &start, &end) || end <= vaddr)
		return 0;
	return start;
}

uint64_t unwind_bounds_end(const struct unwind_bounds *bounds, uint64_t vaddr)
{
	size_t rank = eh_frame_hdr_rank(bounds->hdr, vaddr);
	struct eh_frame_hdr_row next;
	uint64_t start, end;

	if (rank && unwind_bounds_at(bounds, rank - 1, &start, &end) && end > vaddr)
		return end;
	return eh_frame_hdr_row(bounds->hdr, rank, &next) ? next.start : UINT64_MAX;
}
