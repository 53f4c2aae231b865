/* SPDX-License-Identifier: MIT */
/* Reads the function starts that a file states: its symbols, and pointers in its data. Also finds
 * the functions that do not return, by their names. */
#ifndef ANALYSIS_FUNCTION_STARTS_H
#define ANALYSIS_FUNCTION_STARTS_H

#include "analysis/noreturn.h"
#include "base/vec.h"
#include "elf/elf_file.h"

#define FUNCTION_STARTS_MAX (1u << 22)
/* Bytes of data that are searched for pointers without relocations. */
#define FUNCTION_STARTS_MAX_DATA (16u << 20)

struct function_starts {       /* zeroed is empty; the lists have vaddrs, in no order */
	VEC(uint64_t) certain; /* symbols of functions */
	VEC(uint64_t)
	called; /* those of `certain` to which calls lead, by their names: V8's builtins, which end
		 * in jumps to each other */
	VEC(uint64_t)
	pointers; /* addresses in the file's data: of functions, of other data, or
		   * of labels within functions */
	struct noreturn noreturn;
};

/* Reads a file's starts, at most FUNCTION_STARTS_MAX for each list. Returns 0 or -ENOMEM; the
 * caller frees *starts with function_starts_free() in either case. */
int function_starts_read(const struct elf_file *elf, struct function_starts *starts);

/* Frees the lists and empties them. */
void function_starts_free(struct function_starts *starts);

#endif
