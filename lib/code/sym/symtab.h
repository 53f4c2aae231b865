/* SPDX-License-Identifier: MIT */
/* The symbol tables of an object and of its debug file, combined: finds functions by address. */
#ifndef SYM_SYMTAB_H
#define SYM_SYMTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct symtab;

/* Reads the tables. `debug` is the separate debug file, or NULL. Both files are borrowed, since
 * names point into them. Returns 0 or -ENOMEM; broken tables count as empty. */
int symtab_new(const struct elf_file *file, const struct elf_file *debug,
	       struct symtab **ret_symtab);
void symtab_free(struct symtab *symtab);

/* Finds the function that covers `vaddr`: its name and its start. Returns false if there is
 * none. */
bool symtab_find(const struct symtab *symtab, uint64_t vaddr, const char **ret_name,
		 uint64_t *ret_start);

#endif
