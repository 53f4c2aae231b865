/* SPDX-License-Identifier: MIT */
/*
 * Finds bounds of functions by the search table of unwind entries (cfi/eh_frame_hdr.h); see
 * unwind_bounds.h.
 *
 * Many consecutive queries concern few functions, so sizes that were read are kept.
 */
#include "sym/unwind_bounds.h"

#include <errno.h>
#include <stdlib.h>

#include "cfi/eh_frame_hdr.h"

struct unwind_bounds {
	struct eh_frame_hdr *hdr; /* owned; NULL: the file has none */
	uint32_t *sizes;	  /* sizes of code, by entry; 0: not read, or invalid. Owned */
};

/* 0 or -ENOMEM. */
static int load(struct unwind_bounds *b, const struct elf_file *file)
{
	int err = eh_frame_hdr_new(file, &b->hdr);

	if (!err)
		err = eh_frame_hdr_load(b->hdr);
	if (err == -ENODATA) {
		eh_frame_hdr_free(b->hdr);
		b->hdr = NULL;
		return 0;
	}
	if (!err)
		b->sizes = calloc(eh_frame_hdr_count(b->hdr), sizeof(*b->sizes));
	return err || b->sizes ? err : -ENOMEM;
}

int unwind_bounds_new(const struct elf_file *file, struct unwind_bounds **ret_bounds)
{
	struct unwind_bounds *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	err = load(b, file);
	if (err) {
		unwind_bounds_free(b);
		return err;
	}
	*ret_bounds = b;
	return 0;
}

void unwind_bounds_free(struct unwind_bounds *bounds)
{
	if (!bounds)
		return;
	eh_frame_hdr_free(bounds->hdr);
	free(bounds->sizes);
	free(bounds);
}

size_t unwind_bounds_count(const struct unwind_bounds *bounds)
{
	return eh_frame_hdr_count(bounds->hdr);
}

bool unwind_bounds_at(const struct unwind_bounds *bounds, size_t entry, uint64_t *ret_start,
		      uint64_t *ret_end)
{
	struct eh_frame_hdr_row row;

	if (!eh_frame_hdr_row(bounds->hdr, entry, &row))
		return false;
	if (!bounds->sizes[entry])
		bounds->sizes[entry] = eh_frame_hdr_code_bytes(bounds->hdr, &row);
	if (!bounds->sizes[entry])
		return false;
	*ret_start = row.start;
	*ret_end = row.start + bounds->sizes[entry];
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
