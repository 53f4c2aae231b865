/* SPDX-License-Identifier: MIT */
/* Finds the code of a mark's location in a file: the functions of a name, or the statements of a
 * line. */
#ifndef REGIONS_MARK_FIND_H
#define REGIONS_MARK_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "daemon/regions/mark_spec.h"
#include "elf/elf_file.h"
#include "runtime/runtime.h"
#include "sym/debug_file.h"

struct mark_code {
	VEC(uint64_t) vaddrs;
	uint32_t next_line; /* the first later line that has code; 0: there is none, or the line
			     * itself has code */
	bool has_file;	    /* the line tables have the source file */
	const struct runtime *runtime; /* the runtime of the file, if it is a program of one (Go);
					* NULL: none */
};

/* Searches a file, which is read only during the call, and its debug file. Returns 0 or -ENOMEM;
 * the caller empties *ret_code in any case with mark_code_free(). */
int mark_find(const struct mark_place *place, const struct elf_file *file, const char *path,
	      const struct debug_source *source, struct mark_code *ret_code);
void mark_code_free(struct mark_code *code);

#endif
