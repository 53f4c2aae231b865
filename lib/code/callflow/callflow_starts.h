/* SPDX-License-Identifier: MIT */
/*
 * Where the functions of a file begin, by the linker's search table (eh_frame_hdr.h), for a caller
 * that must not wait for a file system and has many files: 4 bytes for each CALLFLOW_STARTS_ROWS
 * rows are kept, and a look-up reads the rows between two of them.
 *
 * The table is untrusted: a start that it gives may be none, so the caller may only use it to leave
 * out a check of code that the file's owner has no reason to hide.
 */
#ifndef CALLFLOW_CALLFLOW_STARTS_H
#define CALLFLOW_CALLFLOW_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/elf_file.h"

#define CALLFLOW_STARTS_ROWS	 16
#define CALLFLOW_STARTS_MAX_ROWS (1u << 18) /* libLLVM has 95,000; files with more have none */
#define CALLFLOW_STARTS_CODE	 4096
#define CALLFLOW_STARTS_READS	 64 /* most reads of one call, 4 KiB each */

struct callflow_starts {   /* zeroed is one that nothing was read of */
	VEC(int32_t) kept; /* start of each CALLFLOW_STARTS_ROWS-th row, from the table's vaddr */
	uint64_t vaddr;	   /* of the table; 0: not read yet */
	uint64_t rows_offset;
	uint32_t count; /* of rows; 0: not read yet, or there is no table */
	bool is_none;	/* the file has no table that can be used */
};

void callflow_starts_fini(struct callflow_starts *starts); /* leaves it zeroed */

/* Gives the vaddr at which the function begins that has the code at `vaddr`, or that is before it.
 * `file` is the same in all calls. Returns 0; -ENODATA: the table has none; -EAGAIN: it is not in
 * memory, or too large for one call: a later call may succeed; -ENOMEM. */
int callflow_starts_find(struct callflow_starts *starts, const struct elf_file *file,
			 uint64_t vaddr, uint64_t *ret_start);

/* Returns whether a function, of any code of which `vaddr` is the address, seems to have a return,
 * or a jump to another function, behind an instruction that takes its frame away, as most functions
 * have. false: it does not within its first CALLFLOW_STARTS_CODE bytes, or these are not in
 * memory. */
bool callflow_starts_may_return(struct callflow_starts *starts, const struct elf_file *file,
				uint64_t vaddr);

#endif
