/* SPDX-License-Identifier: MIT */
/*
 * Names of locations, whatever kind of object they lie in: ELF files and the vDSO through
 * lib/sym's symbolizer, JIT code through its process's map file, the kernel through kallsyms.
 * For the archive's thread alone.
 */
#ifndef NAMES_H
#define NAMES_H

#include "proc/object.h"
#include "store/store.h"
#include "sym/kallsyms.h"

struct names;

int names_new(struct names **ret_names); /* 0 or -ENOMEM */
void names_free(struct names *names);

void names_set_kallsyms(struct names *names, const struct kallsyms *ksyms);

/* Calls `each` with every line of a location (see struct store_line; strings are lent for the
 * call). No call: nothing is known. 0, -ENOMEM, or what `each` said. */
int names_resolve(struct names *names, const struct object *object,
		  const struct store_location *location,
		  int (*each)(void *arg, const struct store_line *line), void *arg);

/* JIT code that had no name at first may get one later: locations to ask for again at the end. */
bool names_is_final(const struct object *object);

#endif
