/* SPDX-License-Identifier: MIT */
/* Looks up an address in DWARF: the function, the functions inlined there, and their lines. */
#ifndef SYM_ADDR2LINE_H
#define SYM_ADDR2LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/elf_file.h"
#include "sym/debug_file.h"

struct addr2line;

struct addr2line_frame {
	const char *function; /* linkage name, or name; NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;	      /* 0: not known */
	uint64_t start;	      /* vaddr of the enclosing function; 0 in inlined ones */
	bool is_inlined;
	bool is_ada; /* its compilation unit was written in Ada */
};

/* Opens the DWARF of `file`, an object or its separate debug file. `source` opens the other files
 * it needs: the dwz file (.gnu_debugaltlink), and .dwo and .dwp files. `path` is the object's path,
 * by which they are found if their names are relative; NULL: not known. All are borrowed. Returns
 * 0; -ENOENT: no usable DWARF, also if the dwz file is missing; -ENOMEM. */
int addr2line_new(const struct elf_file *file, const char *path, const struct debug_source *source,
		  struct addr2line **ret_names);
void addr2line_free(struct addr2line *names);

/* Appends the name of a file that was needed but not found: a dwz file, or a .dwo or .dwp file.
 * Returns false if all were found. */
bool addr2line_missing(const struct addr2line *names, struct buf *text);

/* Limits line tables to about this many bytes, besides those of the current compilation unit. Then
 * query in order of address, since a dropped table is read again. 0, the default: no limit. */
void addr2line_limit(struct addr2line *names, size_t line_bytes);

/* Finds the functions at `vaddr`, innermost first. Writes at most `max` and returns how many there
 * are (0: nothing is known), or -ENOMEM. Strings are valid as long as `names`; with a limit of line
 * tables, until the next query for another address. */
int addr2line_find(struct addr2line *names, uint64_t vaddr, struct addr2line_frame *ret_frames,
		   size_t max);

#endif
