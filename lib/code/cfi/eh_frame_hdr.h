/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame_hdr: the linker's search table of a file's call frame information (LSB core, "The
 * .eh_frame_hdr section"): a row for each entry of .eh_frame, sorted by the start of the entry's
 * code.
 *
 * The table is as untrusted as the rest of the file: it may be cut short, unsorted, or lead
 * anywhere. In any case a look-up takes at most 23 steps, and finds a row or none. The caller has
 * to check whether the row leads to an entry of .eh_frame, and whether that entry covers the
 * address.
 */
#ifndef CFI_EH_FRAME_HDR_H
#define CFI_EH_FRAME_HDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct eh_frame_hdr;

struct eh_frame_hdr_row {
	uint64_t start; /* vaddr of the code */
	uint64_t entry; /* vaddr of its entry in .eh_frame */
};

/* Finds the table of `file`, which is borrowed, and reads its header; rows are read from the file
 * when they are queried. Returns 0; -ENODATA: the file has no complete table in the form that all
 * linkers write; -ENOMEM. The caller frees *ret_hdr, which is unchanged on failure. */
int eh_frame_hdr_new(const struct elf_file *file, struct eh_frame_hdr **ret_hdr);
void eh_frame_hdr_free(struct eh_frame_hdr *hdr); /* NULL is fine */

/* Reads all rows at once, 8 bytes each, for callers that query many. Returns 0; -ENODATA: the file
 * has become shorter; -ENOMEM. On failure, rows are still read one by one. */
int eh_frame_hdr_load(struct eh_frame_hdr *hdr);

#define EH_FRAME_HDR_BYTES 12 /* of the header, which the rows follow, 8 bytes each */

/* Reads the header of a table at a file offset without waiting, and gives the number of its rows.
 * Returns 0; -ENODATA: it is not in the form that all linkers write, or has no rows; -EAGAIN: it is
 * not in memory. */
int eh_frame_hdr_read_now(const struct elf_file *file, uint64_t offset, uint32_t *ret_count);

/* Gives what eh_frame_hdr_code_bytes() returns, without waiting: the bytes of code that the entry
 * at a file offset covers, whose vaddr is `entry` and whose code begins at `start`. Returns 0;
 * -ENODATA: none; -EAGAIN: it is not in memory. */
int eh_frame_hdr_entry_now(const struct elf_file *file, uint64_t offset, uint64_t entry,
			   uint64_t start, uint32_t *ret_bytes);

/* Returns the number of rows. This function and the next two also accept NULL, a table without
 * rows. */
size_t eh_frame_hdr_count(const struct eh_frame_hdr *hdr);

/* Gives row i. Returns false if there is none, or it cannot be read. */
bool eh_frame_hdr_row(const struct eh_frame_hdr *hdr, size_t i, struct eh_frame_hdr_row *ret_row);

/* Returns the number of rows that start at `vaddr` or before, the last of which is the row for
 * `vaddr`. In an unsorted table, returns some n such that row n - 1 starts at `vaddr` or before,
 * and row n after it. Returns 0 also if a row cannot be read. */
size_t eh_frame_hdr_rank(const struct eh_frame_hdr *hdr, uint64_t vaddr);

/* Reads from the row's entry in .eh_frame how many bytes of code it covers, without reading its
 * CIE. It assumes the encoding that all linkers use (relative to the field, in 32 bits), and checks
 * that the start decoded in this way is the row's. Returns 0 if it is not, or if the entry covers
 * no bytes. */
uint32_t eh_frame_hdr_code_bytes(const struct eh_frame_hdr *hdr,
				 const struct eh_frame_hdr_row *row);

#endif
