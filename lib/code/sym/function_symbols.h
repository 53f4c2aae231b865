/* SPDX-License-Identifier: MIT */
/* Lists the functions, or the variables, in a file's symbol tables. */
#ifndef SYM_FUNCTION_SYMBOLS_H
#define SYM_FUNCTION_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct function_symbol {
	const char *name; /* linkage name; valid as long as the files */
	uint64_t vaddr;
	uint64_t size;	    /* 0: not known */
	const char *source; /* of a local function: the name of its source file, without folders;
			     * NULL: not known */
	bool is_weak;
	bool is_resolver; /* an indirect function (STT_GNU_IFUNC): its code returns the address
			   * of the function */
};

/* Calls `each` for every function that is defined in .symtab or .dynsym of `file` or of its debug
 * file, which may be NULL; a function that is in several tables is listed several times. If `each`
 * returns a value other than 0, the calls stop and it is returned; else 0. Broken tables count as
 * empty. */
int function_symbols_each(const struct elf_file *file, const struct elf_file *debug,
			  int (*each)(void *arg, const struct function_symbol *symbol), void *arg);

/* Like function_symbols_each(), for every variable that is not thread-local. */
int variable_symbols_each(const struct elf_file *file, const struct elf_file *debug,
			  int (*each)(void *arg, const struct function_symbol *symbol), void *arg);

#endif
