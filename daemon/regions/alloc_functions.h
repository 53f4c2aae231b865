/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions of an allocator in a file: malloc() and its relatives, and, if the same file
 * has them, operator new and delete (the operators of the C++ library call malloc(), so they need
 * no probes).
 *
 * C functions get uretprobes, which cost less, if the kernel's uretprobes are safe (probe.h): no
 * exception passes through these functions. The returns of C++ functions are found by decoding
 * their code, as is done for regions. If a function ends with a jump to code of the same file, it
 * returns from that code, so the returns of that code get probes, too. If the call of another
 * function ends there, its stack pointer differs from that of the allocator's call, by which the
 * kernel half recognises it (bpf/malloc.bpf.h). calloc() may end with a jump to memset(), which is
 * in another file or chosen at run time: the jump then counts as the return, since the block is
 * allocated by then.
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
	VEC(uint64_t) cookies; /* for each of `entries`: STACKD_ALLOC_... */
	VEC(uint64_t) returns; /* offsets, each once */
	VEC(uint64_t) return_cookies;
	VEC(uint64_t) uretprobes; /* offsets of functions whose returns get a uretprobe */
	size_t n_left_out;	  /* functions whose code could not be decoded */
	bool has_malloc;	  /* the file has a malloc(), even if no function can be probed */
};

/* Finds an allocator's functions. `wants_uretprobes`: C functions get uretprobes. Leaves
 * *ret_functions empty (except has_malloc) if the file does not have both malloc() and free(), by
 * these or an allocator's own names (mi_malloc()), or if malloc() cannot be decoded. 0 or -ENOMEM;
 * the caller calls alloc_functions_free() in any case. */
int alloc_functions_find(const struct elf_file *file, bool wants_uretprobes,
			 struct alloc_functions *ret_functions);
void alloc_functions_free(struct alloc_functions *functions);

#endif
