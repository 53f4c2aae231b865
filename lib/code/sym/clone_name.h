/* SPDX-License-Identifier: MIT */
/*
 * What compilers add to the names of a function's clones: with some arguments fixed (.constprop),
 * fewer of them (.isra), the rest of it where its beginning is inlined in callers (.part), for a
 * link (.lto_priv, .llvm), and parts that are hardly run (.cold).
 */
#ifndef SYM_CLONE_NAME_H
#define SYM_CLONE_NAME_H

#include <stddef.h>

/* Returns the length of a name without that: of a linkage name ("work.isra.0"), or of a readable
 * one
 * ("ns::work(int) [clone .isra.0]"). */
size_t clone_name_base(const char *name);

#endif
