/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions of an allocator in a file: malloc() and its relatives, and, if the same file
 * has them, operator new and delete (those of the C++ library call malloc(), and need no probes).
 *
 * Functions of C get uretprobes, which cost less, if the kernel's are safe: no exception passes
 * through these functions. The returns of others are found by decoding their code, as those of
 * regions are. A function that ends with a jump to code of the same file returns from there, so the
 * returns of that code count, too; when another caller comes through them, its stack pointer
 * differs from the open call's (bpf/malloc.bpf.h). calloc() may end with a jump to memset(), which
 * is in another file or chosen at run time; it has the block then.
 */
#ifndef REGIONS_ALLOC_FUNCTIONS_H
#define REGIONS_ALLOC_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/elf_file.h"

struct alloc_functions {
	VEC(uint64_t) entries; /* offsets in the file */
	VEC(uint64_t) cookies; /* of the entries: STACKD_ALLOC_... */
	VEC(uint64_t) returns; /* offsets, each once */
	VEC(uint64_t) return_cookies;
	VEC(uint64_t) uretprobes; /* offsets of the entries whose returns are not in `returns` */
	size_t n_left_out;	  /* functions whose code could not be decoded */
	bool has_malloc;	  /* the file has a malloc(), even if the rest is empty */
};

/* Finds them; those of C with uretprobes, if these are wanted. Leaves *ret_functions empty for a
 * file without both malloc() and free(), by these or an allocator's own names (mi_malloc()), or one
 * in which either cannot be decoded. 0 or -ENOMEM; the caller frees in any case. */
int alloc_functions_find(const struct elf_file *file, bool wants_uretprobes,
			 struct alloc_functions *ret_functions);
void alloc_functions_free(struct alloc_functions *functions);

#endif
