/* SPDX-License-Identifier: MIT */
/* Bounds of functions, from the file's index of unwind entries (.eh_frame_hdr). */
#ifndef SYM_UNWIND_BOUNDS_H
#define SYM_UNWIND_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct unwind_bounds;

/* Reads the index. `file` is borrowed. Returns 0 or -ENOMEM; for a file without a usable index, no
 * bounds are known. */
int unwind_bounds_new(const struct elf_file *file, struct unwind_bounds **ret_bounds);
void unwind_bounds_free(struct unwind_bounds *bounds);

/* Returns the first vaddr that cannot belong to the function at `vaddr`: the end of the entry that
 * covers it, else the start of the next entry; UINT64_MAX: not known. */
uint64_t unwind_bounds_end(const struct unwind_bounds *bounds, uint64_t vaddr);

/* Returns the start of the entry that covers `vaddr`, which is the function's start, whatever its
 * name; 0 if none covers it. */
uint64_t unwind_bounds_start(const struct unwind_bounds *bounds, uint64_t vaddr);

/* Return the number of entries, and the start and end of an entry by its number. unwind_bounds_at()
 * returns false if there is no such entry, or it is inconsistent. */
size_t unwind_bounds_count(const struct unwind_bounds *bounds);
bool unwind_bounds_at(const struct unwind_bounds *bounds, size_t entry, uint64_t *ret_start,
		      uint64_t *ret_end);

#endif
