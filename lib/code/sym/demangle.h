/* SPDX-License-Identifier: MIT */
/*
 * Readable names of C++, Rust, D and Ada symbols (libiberty's demanglers, with limits on hostile
 * names), and of OCaml's. Swift's names are shown as they are: libiberty does not know them.
 */
#ifndef SYM_DEMANGLE_H
#define SYM_DEMANGLE_H

#include <stdbool.h>

#define DEMANGLE_MOST_BYTES 4096 /* limit of a readable name, about; longer names are shortened */

/* Returns the readable form of a linkage name, malloc()ed. NULL: the name is not mangled, or memory
 * is short; then it is shown as it is. A shortened name ends in " [shortened 0123abcd]", where the
 * digits are a hash of the linkage name, so that two names that are shortened to the same text stay
 * different. The symbol of a named region (stackd_region.h) gives the region's name. */
char *demangle(const char *name);

/* Returns whether a linkage name is the symbol of a named region. */
bool is_region_name(const char *name);

/* Like demangle(), for a symbol that is known to be Ada's. GNAT's encoding looks like names of C,
 * so demangle() converts only names of Ada's own library and of main programs. */
char *demangle_ada(const char *name);

#endif
