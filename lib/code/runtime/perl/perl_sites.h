/* SPDX-License-Identifier: MIT */
/* Finds from where a file calls Perl's loop over operations: enum stackd_perl_site. */
#ifndef PERL_PERL_SITES_H
#define PERL_PERL_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Finds the calls of the loop that is at a vaddr. The interpreter's state has the address of the
 * loop at offset `loop`, and that of the last place to which exceptions jump at `handlers`. Returns
 * false if they are not known: there are too many, the file has more code than any build of Perl,
 * or none is of a program. */
bool perl_sites_find(const struct elf_file *file, uint64_t vaddr, uint16_t loop, uint16_t handlers,
		     struct stackd_perl *perl);

#endif
