/* SPDX-License-Identifier: MIT */
/* Names the PLT stubs through which a file calls functions of other files: "malloc@plt". */
#ifndef SYM_PLT_H
#define SYM_PLT_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct plt;
struct symtab;

/* Finds the stubs of a file. With `slots`, also finds the words from which stubs load their
 * targets, each as if it were a stub, since code that is compiled without stubs (-fno-plt) jumps
 * through these words. `symtab`, which gives the names of the file's own indirect functions, and
 * `file` are borrowed for the call. Returns 0 or -ENOMEM; broken tables count as empty. */
int plt_new(const struct elf_file *file, const struct symtab *symtab, bool slots,
	    struct plt **ret_plt);
void plt_free(struct plt *plt);

/* Finds the stub at `vaddr`; its name is valid as long as `plt`. Returns false if there is none. */
bool plt_find(const struct plt *plt, uint64_t vaddr, const char **ret_name, uint64_t *ret_start);

#endif
