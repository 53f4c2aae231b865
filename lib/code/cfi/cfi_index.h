/* SPDX-License-Identifier: MIT */
/*
 * A file's call frame information by address: the entry that covers an address, and the row of the
 * call frame table that its instructions make there.
 *
 * .eh_frame and .debug_frame are indexed together. If entries overlap, .eh_frame wins over
 * .debug_frame; of two entries with the same start, the first one in the section wins.
 *
 * Whatever the file contains, an index takes time and memory in proportion to its sections, and a
 * row at most CFI_INDEX_MAX_PROGRAM_BYTES of instructions.
 */
#ifndef CFI_CFI_INDEX_H
#define CFI_CFI_INDEX_H

#include "cfi/cfi_section.h"
#include "cfi/cfi_state.h"

/* Limit of an entry's instructions; longer entries are left out. No library or program of Debian
 * has nearly as many. */
#define CFI_INDEX_MAX_PROGRAM_BYTES (256 * 1024)
#define CFI_INDEX_MAX_FDES	    (1u << 22) /* libLLVM has 95,000 */

struct cfi_index;

/* A row of the call frame table. */
struct cfi_row {
	uint64_t start, end; /* vaddr: the code of which it tells */
	struct cfi_state state;
	enum cfi_refusal refused; /* CFI_ACCEPTED; else why the state is not valid */
	bool is_signal_frame;
	const struct cfi_section *section; /* borrowed from the index; the offsets of expressions
					    * in `state` are in this section */
};

/* Reads and indexes a file's CFI; `file` is not needed afterwards. Returns 0; -ENODATA: the file
 * has no valid CFI; -ENOMEM; or an error of elf_file_read(). The caller frees *ret_index, which is
 * unchanged on failure. */
int cfi_index_new(const struct elf_file *file, struct cfi_index **ret_index);

/* Indexes sections that were read before. Takes over their memory, also on failure, so *sections is
 * empty afterwards. Returns as cfi_index_new(). */
int cfi_index_of_sections(struct cfi_sections *sections, struct cfi_index **ret_index);

/* Indexes a single entry, at the cost of that entry alone: the entry to which .eh_frame_hdr leads
 * for `vaddr`. From `vaddr` to the entry's end, the index gives the same rows as an index of the
 * whole file. Returns 0 or an error of cfi_index_new(); -ENODATA: .eh_frame_hdr has no such
 * entry. */
int cfi_index_new_at(const struct elf_file *file, uint64_t vaddr, struct cfi_index **ret_index);

void cfi_index_free(struct cfi_index *index); /* NULL is fine */

/* Finds the range (vaddr) of the entry that covers `vaddr`; false: there is none. */
bool cfi_index_find(const struct cfi_index *index, uint64_t vaddr, uint64_t *ret_start,
		    uint64_t *ret_end);

/* Runs the call frame instructions of the entry that covers `vaddr`, up to the row for `vaddr`.
 * Returns false, with *ret_row unchanged, if no entry covers it. */
bool cfi_index_row(const struct cfi_index *index, uint64_t vaddr, struct cfi_row *ret_row);

/* Gives all rows of the entry that covers `vaddr` to take(), in order, until that returns false. */
void cfi_index_rows(const struct cfi_index *index, uint64_t vaddr,
		    bool (*take)(void *arg, const struct cfi_row *row), void *arg);

/* Returns the number of entries. */
size_t cfi_index_count(const struct cfi_index *index);

/* Gives the range (vaddr) of entry i, in order of their starts; i must be below the count. */
void cfi_index_range(const struct cfi_index *index, size_t i, uint64_t *ret_start,
		     uint64_t *ret_end);

#endif
