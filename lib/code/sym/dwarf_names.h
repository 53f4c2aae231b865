/* SPDX-License-Identifier: MIT */
/* Looks an address up in DWARF: the function, the functions inlined there, and their lines. */
#ifndef SYM_DWARF_NAMES_H
#define SYM_DWARF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/elf_file.h"
#include "sym/debug_file.h"

struct dwarf_names;

struct dwarf_names_frame {
	const char *function; /* linkage name, else name; NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;	      /* 0: not known */
	uint64_t start;	      /* vaddr of the enclosing function; 0 in inlined ones */
	bool is_inlined;
	bool is_ada; /* its unit was written in Ada */
};

/* The DWARF of `file`. `source` is where shared debug files and split DWARF are looked for; `path`,
 * which may be NULL, is the program's. All are borrowed. 0; -ENOENT: there is none that can be
 * used; -ENOMEM. */
int dwarf_names_new(const struct elf_file *file, const char *path,
		    const struct debug_source *source, struct dwarf_names **ret_names);
void dwarf_names_free(struct dwarf_names *names);

/* Appends the name of a file that was needed for an answer and is not here: a shared debug file, or
 * one of split DWARF. false: all are here. */
bool dwarf_names_missing(const struct dwarf_names *names, struct buf *text);

/* Holds line tables in about so many bytes, and those of the unit at hand: it pays to ask in order
 * of address, since one that was put out is read anew. 0, as it is at first: no limit. */
void dwarf_names_limit(struct dwarf_names *names, size_t line_bytes);

/* The functions at `vaddr`, innermost first. Writes at most `max`, returns how many there are; 0
 * if nothing is known; or -ENOMEM. Strings live as long as `names`, or where line tables have a
 * limit, until it is asked about another address. */
int dwarf_names_find(struct dwarf_names *names, uint64_t vaddr,
		     struct dwarf_names_frame *ret_frames, size_t max);

#endif
