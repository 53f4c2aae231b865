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

/* `elf` is the file with the skeletons; `source` opens the .dwo and .dwp files; `path`, which may
 * be NULL, is that of the program. All are borrowed. Returns 0 or -ENOMEM. */
int split_dwarf_new(Elf *elf, const struct debug_source *source, const char *path,
		    struct split_dwarf **ret_split);
void split_dwarf_free(struct split_dwarf *split); /* call it after its units were freed; NULL is
						   * fine */

/* Opens the unit that a skeleton refers to; `skeleton` is the root of the skeleton's tree. Accepts
 * the unit only if it has the skeleton's id. Returns 0, and the caller frees *ret_unit; -ENOENT: it
 * was not found, and split_dwarf_missing() gives its name; -ENOMEM. */
int split_dwarf_open(struct split_dwarf *split, Dwarf_Die *skeleton, struct split_unit **ret_unit);
void split_unit_free(struct split_unit *unit); /* NULL is fine */

/* Appends the name (as the compiler wrote it) of the .dwo file whose unit was not found, and a
 * remark. Returns false if all units were found. */
bool split_dwarf_missing(const struct split_dwarf *split, struct buf *text);

/* Returns the root of the unit's tree. Use split_unit_ranges() for the ranges of its DIEs, not
 * libdw: the base of their addresses is in the skeleton. */
Dwarf_Die *split_unit_die(struct split_unit *unit);

/* Returns whether the unit has a table of file names of its own. If not, the skeleton's is used. */
bool split_unit_has_files(const struct split_unit *unit);

/* Returns the approximate number of bytes of memory that the unit takes. */
size_t split_unit_bytes(const struct split_unit *unit);

/* Calls `each` with the address ranges of a DIE of the unit. If `each` returns a value other than
 * 0, the calls stop and it is returned; else 0, also if there are no ranges or they are damaged. */
int split_unit_ranges(struct split_unit *unit, Dwarf_Die *die,
		      int (*each)(void *arg, uint64_t start, uint64_t end), void *arg);

#endif
