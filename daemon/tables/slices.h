/* SPDX-License-Identifier: MIT */
/* Numbers of slices of files, by which records name short frames (stackd_abi.h). */
#ifndef TABLES_SLICES_H
#define TABLES_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

struct slices {		/* zeroed is empty */
	uint32_t count; /* number of entries. The recorder's thread also reads it, but only after it
			 * has read a record with the slice's number */
	struct slices_entry {
		uint32_t file;
		uint64_t offset;
	} items[STACKD_SLICE_COUNT];
};

/* Numbers the slices of a file, unless they have numbers already, which stay valid when the file's
 * table is evicted. */
void slices_give(struct slices *slices, struct stackd_file *file, uint32_t number,
		 uint32_t first_chunk, size_t n_chunks);

/* Gives the file number and the offset of a slice; false: no such slice. */
bool slices_find(const struct slices *slices, uint32_t slice, uint32_t *ret_file,
		 uint64_t *ret_offset);

#endif
