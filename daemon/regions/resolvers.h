/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions that an indirect function (STT_GNU_IFUNC: memcpy() of libc.so.6, what
 * target_clones makes) may stand for. Its symbol is that of a resolver, which the loader calls once
 * to have the address of one of them, by what the processor can do.
 *
 * The resolver's code takes their addresses. All of them get probes, since the one that is called
 * is known only in the process; the others are never passed through.
 */
#ifndef REGIONS_RESOLVERS_H
#define REGIONS_RESOLVERS_H

#include "daemon/regions/exits.h"
#include "elf/elf_file.h"

/* Calls `each` for every function whose address the code of a resolver takes; the bounds are those
 * of its unwind entry. A nonzero result of `each` stops the calls and is returned; else 0 or
 * -ENOMEM. */
int resolvers_each(const struct elf_file *file, const struct code_part *resolver,
		   int (*each)(void *arg, const struct code_part *function), void *arg);

#endif
