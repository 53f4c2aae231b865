/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions that an indirect function (STT_GNU_IFUNC: memcpy() of libc.so.6, or one of
 * target_clones) may resolve to. Its symbol is the address of a resolver: code that the loader
 * calls once, and that returns the address of one of these functions, by the processor's features.
 *
 * The resolver's code takes the addresses of these functions. All of them get probes, since the
 * choice is made at run time; probes on the others are never hit.
 */
#ifndef REGIONS_IFUNC_RESOLVERS_H
#define REGIONS_IFUNC_RESOLVERS_H

#include "daemon/regions/function_exits.h"
#include "elf/elf_file.h"

/* Calls `each` for every function whose address the code of a resolver takes, with the bounds of
 * its unwind entry. A nonzero result of `each` stops the calls and is returned; else 0 or -ENOMEM.
 */
int ifunc_resolvers_each(const struct elf_file *file, const struct code_part *resolver,
			 int (*each)(void *arg, const struct code_part *function), void *arg);

#endif
