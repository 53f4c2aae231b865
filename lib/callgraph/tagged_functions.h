/* SPDX-License-Identifier: MIT */
/*
 * Which functions of a file keep a tag, and which id each of them chains: from a place in the code
 * to a link of the chain.
 *
 * With the plugin the file's .btloc says so. Files that were compiled with -finstrument-functions
 * have no list: all functions count that are in a file which calls the runtime, but for the one at
 * its entry point.
 */
#ifndef CALLGRAPH_TAGGED_FUNCTIONS_H
#define CALLGRAPH_TAGGED_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct tagged_functions;

/* `file` is borrowed, and used by this thread alone. 0; -ENODATA: nothing in it keeps a tag;
 * -EBADMSG: its .btloc does not add up; -ENOMEM. */
int tagged_functions_new(const struct elf_file *file, struct tagged_functions **ret_functions);
void tagged_functions_free(struct tagged_functions *functions);

struct tag_place {
	uint64_t id;	     /* of its function */
	uint64_t start, end; /* vaddrs of the part of its code that the place is in */
	uint64_t entry;	     /* vaddr where the function starts */
	bool is_root;	     /* its chain begins with it */
};

/* The function that holds the code at a vaddr. false: it keeps no tag. */
bool tagged_functions_find(struct tagged_functions *functions, uint64_t vaddr,
			   struct tag_place *ret_place);

/* Is the code at a vaddr that of the runtime of -finstrument-functions, which changes the tag? */
bool tagged_functions_is_runtime(struct tagged_functions *functions, uint64_t vaddr);

/* Is the code at `vaddr`, in a function that keeps a tag, where the tag is not the function's own:
 * before it has been set (at the entry, or where control comes back from deeper down), or after it
 * has been given back? Tells by the instructions from there on. */
bool tagged_functions_is_window(struct tagged_functions *functions, uint64_t vaddr);

/* What stands for the file in ids of functions of -finstrument-functions: the file id, or, without
 * a build-id, a hash of what the runtime has in memory of the file: its program headers. Never 0.
 */
uint64_t tagged_functions_file_id(const struct elf_file *file);

/* The vaddr of the word that holds the variable's distance from the thread pointer, by the file's
 * note (docs/TAGS.md). false: there is no note. */
bool tagged_functions_note(const struct elf_file *file, uint64_t *ret_vaddr);

#endif
