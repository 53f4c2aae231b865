/* SPDX-License-Identifier: MIT */
/* Readable names of C++ and Rust symbols (libiberty's demangler, with limits on hostile names). */
#ifndef SYM_DEMANGLE_H
#define SYM_DEMANGLE_H

/* The readable form of a linkage name, malloc()ed; NULL if `name` is not mangled (or for lack of
 * memory): show it as it is. */
char *demangle(const char *name);

#endif
