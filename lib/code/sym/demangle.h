/* SPDX-License-Identifier: MIT */
/*
 * Readable names of C++, Rust, D and Ada symbols (libiberty's demanglers, with limits on hostile
 * names). Swift's names are shown as they are: libiberty does not know them.
 */
#ifndef SYM_DEMANGLE_H
#define SYM_DEMANGLE_H

#define DEMANGLE_MOST_BYTES 4096 /* of a readable name, about: what is longer is shortened */

/* The readable form of a linkage name, malloc()ed; NULL if `name` is not mangled (or for lack of
 * memory): show it as it is. A name that was shortened ends in " [shortened 0123abcd]", a hash of
 * the linkage name, so that two of them stay two. */
char *demangle(const char *name);

/* As demangle(), of a symbol that is known to be Ada's: GNAT's encoding cannot be told from names
 * of C, so that demangle() reads only those of Ada's own library and of main programs. */
char *demangle_ada(const char *name);

#endif
