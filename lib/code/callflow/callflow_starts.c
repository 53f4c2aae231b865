/* SPDX-License-Identifier: MIT */
/*
 * Reads the table piece by piece, a page at most at a time, since elf_file_read_now() reads no more
 * from some file systems; see callflow_starts.h.
 */
#include "callflow/callflow_starts.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/code_form.h"
#include "cfi/eh_frame_hdr.h"

#define PIECE 512 /* rows that are read at once: 4 KiB */

struct row {
	int32_t start, entry; /* from the table's vaddr */
};

_Static_assert(PIECE % CALLFLOW_STARTS_ROWS == 0, "a piece begins with a row that is kept");

void callflow_starts_fini(struct callflow_starts *starts)
{
	free(starts->kept.items);
	*starts = (struct callflow_starts){0};
}

/* Finds the table. 0, -EAGAIN or -ENODATA. */
static int read_header(struct callflow_starts *starts, const struct elf_file *file)
{
	uint64_t vaddr, offset;
	uint32_t count;
	int err = -ENODATA;

	if (elf_file_header_vaddr(file, PT_GNU_EH_FRAME, &vaddr) &&
	    elf_file_vaddr_to_offset(file, vaddr, &offset))
		err = eh_frame_hdr_read_now(file, offset, &count);
	if (!err && count > CALLFLOW_STARTS_MAX_ROWS)
		err = -ENODATA;
	if (err)
		return err;
	starts->vaddr = vaddr;
	starts->rows_offset = offset + EH_FRAME_HDR_BYTES;
	starts->count = count;
	return 0;
}

/* Keeps one row of CALLFLOW_STARTS_ROWS of the next pieces. 0, -EAGAIN or -ENOMEM. */
static int read_rows(struct callflow_starts *starts, const struct elf_file *file)
{
	struct row rows[PIECE];

	for (int i = 0; i < CALLFLOW_STARTS_READS; i++) {
		const uint32_t at = (uint32_t)starts->kept.count * CALLFLOW_STARTS_ROWS;
		const uint32_t left = at < starts->count ? starts->count - at : 0;
		const uint32_t n = left < PIECE ? left : PIECE;

		if (!n)
			return 0;
		if (VEC_RESERVE(&starts->kept, PIECE / CALLFLOW_STARTS_ROWS))
			return -ENOMEM;
		if (!elf_file_read_now(file, starts->rows_offset + at * sizeof(*rows), rows,
				       n * sizeof(*rows)))
			return -EAGAIN;
		for (uint32_t r = 0; r < n; r += CALLFLOW_STARTS_ROWS)
			starts->kept.items[starts->kept.count++] = rows[r].start;
	}
	return -EAGAIN;
}

static bool is_read(const struct callflow_starts *starts)
{
	return starts->count &&
	       (uint64_t)starts->kept.count * CALLFLOW_STARTS_ROWS >= starts->count;
}

/* Returns how many rows that were kept start at `at` or before. */
static size_t rank(const struct callflow_starts *starts, int64_t at)
{
	size_t low = 0, high = starts->kept.count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (starts->kept.items[mid] <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Finds the row for a vaddr. As callflow_starts_find(). */
static int find_row(struct callflow_starts *starts, const struct elf_file *file, uint64_t vaddr,
		    struct row *ret_row)
{
	struct row rows[CALLFLOW_STARTS_ROWS];
	size_t first, n, i = 1;
	int64_t at;
	int err = starts->is_none ? -ENODATA : 0;

	if (!err && !starts->count)
		err = read_header(starts, file);
	if (!err && !is_read(starts))
		err = read_rows(starts, file);
	starts->is_none = err == -ENODATA;
	if (err)
		return err;
	at = (int64_t)(vaddr - starts->vaddr);
	first = rank(starts, at);
	if (!first)
		return -ENODATA;
	first = (first - 1) * CALLFLOW_STARTS_ROWS;
	n = starts->count - first < CALLFLOW_STARTS_ROWS ? starts->count - first
							 : CALLFLOW_STARTS_ROWS;
	if (!elf_file_read_now(file, starts->rows_offset + first * sizeof(*rows), rows,
			       n * sizeof(*rows)))
		return -EAGAIN;
	while (i < n && rows[i].start <= at)
		i++;
	*ret_row = rows[i - 1];
	return 0;
}

static uint64_t vaddr_at(const struct callflow_starts *starts, int32_t distance)
{
	return starts->vaddr + (uint64_t)(int64_t)distance;
}

int callflow_starts_find(struct callflow_starts *starts, const struct elf_file *file,
			 uint64_t vaddr, uint64_t *ret_start)
{
	struct row row;
	int err = find_row(starts, file, vaddr, &row);

	if (!err)
		*ret_start = vaddr_at(starts, row.start);
	return err;
}

bool callflow_starts_may_return(struct callflow_starts *starts, const struct elf_file *file,
				uint64_t vaddr)
{
	uint8_t code[CALLFLOW_STARTS_CODE];
	uint64_t offset;
	struct row row;
	uint32_t size;

	if (find_row(starts, file, vaddr, &row) ||
	    !elf_file_vaddr_to_offset(file, vaddr_at(starts, row.entry), &offset) ||
	    eh_frame_hdr_entry_now(file, offset, vaddr_at(starts, row.entry),
				   vaddr_at(starts, row.start), &size) ||
	    !elf_file_vaddr_to_offset(file, vaddr_at(starts, row.start), &offset))
		return false;
	if (size > sizeof(code))
		size = sizeof(code);
	return elf_file_read_now(file, offset, code, size) &&
	       code_form_last_release(code, size, false);
}
