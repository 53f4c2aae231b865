/* SPDX-License-Identifier: MIT */
/*
 * The suffixes that compilers add to the names of a function's clones: with constant arguments
 * (.constprop), with fewer arguments (.isra), the rest of a function whose beginning is inlined in
 * its callers (.part), renamed for link-time optimisation (.lto_priv, .llvm), or code that is
 * hardly run (.cold).
 */
#ifndef SYM_CLONE_NAME_H
#define SYM_CLONE_NAME_H

#include <stddef.h>

/* Returns the length of a name without such suffixes: of a linkage name ("work.isra.0"), or of a
 * readable name ("ns::work(int) [clone .isra.0]"). */
size_t clone_name_base(const char *name);

#endif
