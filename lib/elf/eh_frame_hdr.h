/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame_hdr: the linker's index of a file's call frame information (LSB core, "The
 * .eh_frame_hdr section"): a row for each entry of .eh_frame, sorted by where the entry's code
 * starts.
 *
 * Who made the file wrote the index too. It may be cut, unsorted, or lead anywhere: whatever it
 * says, a look-up takes 23 steps at most, and finds a row or none. Whether the entry of a row is
 * one, and covers an address, is for its reader to check.
 */
#ifndef ELF_EH_FRAME_HDR_H
#define ELF_EH_FRAME_HDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct eh_frame_hdr;

struct eh_frame_hdr_row {
	uint64_t start; /* vaddr of the code */
	uint64_t entry; /* vaddr of what .eh_frame says of it */
};

/* Finds the index of `file`, which is borrowed, and reads its header; rows are read as they are
 * asked for. 0; -ENODATA: there is none, or none that is whole and as all linkers write it;
 * -ENOMEM. */
int eh_frame_hdr_new(const struct elf_file *file, struct eh_frame_hdr **ret_hdr);
void eh_frame_hdr_free(struct eh_frame_hdr *hdr); /* NULL is fine */

/* Reads all rows at once, 8 bytes each, for who asks often. 0; -ENODATA: the file has become
 * shorter; -ENOMEM. Without success, rows are read one by one as before. */
int eh_frame_hdr_load(struct eh_frame_hdr *hdr);

/* The index of a file that has none is NULL to these three: no rows. */
size_t eh_frame_hdr_count(const struct eh_frame_hdr *hdr);

/* The i-th row. false: there is none, or it cannot be read. */
bool eh_frame_hdr_row(const struct eh_frame_hdr *hdr, size_t i, struct eh_frame_hdr_row *ret_row);

/* How many rows start at `vaddr` or before: the row before that number is the one for `vaddr`.
 * Of an unsorted index, a number n so that row n - 1 starts at `vaddr` or before, and row n after
 * it. 0 also where a row cannot be read. */
size_t eh_frame_hdr_rank(const struct eh_frame_hdr *hdr, uint64_t vaddr);

#endif
