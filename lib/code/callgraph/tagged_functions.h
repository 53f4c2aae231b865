/* SPDX-License-Identifier: MIT */
/*
 * The functions of a file that keep a tag (the hash of the call path, in a variable of the thread),
 * and their ids: finds the link of a tag's chain from an address in the code.
 *
 * A file that was compiled with the plugin lists these functions in .btloc. A file that was
 * compiled with -finstrument-functions has no list. If it calls that option's hooks, all its
 * functions count, except the function at its entry point.
 */
#ifndef CALLGRAPH_TAGGED_FUNCTIONS_H
#define CALLGRAPH_TAGGED_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct tagged_functions;

/* Reads the file's list, or searches it for the runtime's symbols. `file` is borrowed until
 * tagged_functions_free(), and must be used by this thread only. Returns 0; -ENODATA: no function
 * keeps a tag; -EBADMSG: .btloc is damaged; -EIO; -ENOMEM. */
int tagged_functions_new(const struct elf_file *file, struct tagged_functions **ret_functions);
void tagged_functions_free(struct tagged_functions *functions); /* accepts NULL */

/* A contiguous part of the code of a function that keeps a tag. */
struct tagged_code {
	uint64_t id;	     /* the function's */
	uint64_t start, end; /* vaddrs of the part */
	uint64_t entry;	     /* vaddr of the function */
	bool is_root;	     /* the function begins a chain */
};

/* Finds the code that contains a vaddr. Reads the file's symbols at the first call that needs them.
 * Returns false if the vaddr is in no function that keeps a tag. */
bool tagged_functions_find(struct tagged_functions *functions, uint64_t vaddr,
			   struct tagged_code *ret_code);

/* Returns whether a vaddr is in the hooks of -finstrument-functions, which change the tag. */
bool tagged_functions_is_runtime(struct tagged_functions *functions, uint64_t vaddr);

/* Returns whether `vaddr`, in a function that keeps a tag, is at an instruction where the thread's
 * tag is not this function's: the function has not set it yet (at its entry, a landing pad or the
 * second return of setjmp()), or has restored its caller's. This is found from the instructions
 * that follow. */
bool tagged_functions_is_window(struct tagged_functions *functions, uint64_t vaddr);

/* Returns the number that stands for the file in function ids of -finstrument-functions: the file
 * id or, without a build-id, a hash of the program headers, which the runtime can read in memory.
 * Never 0. */
uint64_t tagged_functions_file_id(const struct elf_file *file);

/* Finds the vaddr of the word that contains the tag variable's offset from the thread pointer, by
 * the file's note (docs/TAGS.md). Returns false if the file has no such note. */
bool tagged_functions_note(const struct elf_file *file, uint64_t *ret_vaddr);

#endif
