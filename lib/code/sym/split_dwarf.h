/* SPDX-License-Identifier: MIT */
/*
 * Split DWARF (-gsplit-dwarf, DWARF 5 and GNU's before it): a program has only the skeletons of its
 * units, and the rest is in .dwo files, or in one .dwp file beside the program.
 */
#ifndef SYM_SPLIT_DWARF_H
#define SYM_SPLIT_DWARF_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sym/debug_file.h"

struct split_dwarf;
struct split_unit;

/* `elf` has the skeletons; `source` opens files; `path`, which may be NULL, is the program's. All
 * three are borrowed. Returns 0 or -ENOMEM. */
int split_dwarf_new(Elf *elf, const struct debug_source *source, const char *path,
		    struct split_dwarf **ret_split);
void split_dwarf_free(struct split_dwarf *split); /* after its units; NULL is fine */

/* Opens the unit of a skeleton, whose root is given. Accepts it only if it has the skeleton's id.
 * Returns 0, the caller frees it; -ENOENT: it was not found, and split_dwarf_missing() names it;
 * -ENOMEM. */
int split_dwarf_open(struct split_dwarf *split, Dwarf_Die *skeleton, struct split_unit **ret_unit);
void split_unit_free(struct split_unit *unit); /* NULL is fine */

/* Appends the name of the file whose unit was not found, as the compiler has named it, and a remark
 * on it. false: all were found. */
bool split_dwarf_missing(const struct split_dwarf *split, struct buf *text);

/* Returns the root of its tree. Do not ask libdw for ranges below it, since the base of addresses
 * is in the skeleton. */
Dwarf_Die *split_unit_die(struct split_unit *unit);

/* Does it have a table of files' names of its own? Else the skeleton's is used. */
bool split_unit_has_files(const struct split_unit *unit);

/* Returns the bytes of memory that it takes, about. */
size_t split_unit_bytes(const struct split_unit *unit);

/* Calls `each` with the address ranges of one of its DIEs. A nonzero result of `each` stops the
 * calls, and is returned; else 0, also if there are no ranges or they are damaged. */
int split_unit_ranges(struct split_unit *unit, Dwarf_Die *die,
		      int (*each)(void *arg, uint64_t start, uint64_t end), void *arg);

#endif
