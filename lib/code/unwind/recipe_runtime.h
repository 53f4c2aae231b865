/* SPDX-License-Identifier: MIT */
/*
 * Lays the rules of a runtime's table, as Go's, into a file's recipes (runtime/runtime.h): below
 * those of call frame information. Only the rules of functions that end a path or switch stacks lie
 * above them: if a program has call frame information for these, it leads into another stack's
 * words.
 */
#ifndef UNWIND_RECIPE_RUNTIME_H
#define UNWIND_RECIPE_RUNTIME_H

#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

/* Merges the rules of a runtime's table into `rows`, which have those of call frame information; a
 * file without such a table changes nothing. Numbers are those of table->rules; refused rules are
 * counted in table->stats. Returns 0, -ENOMEM, or what elf_file_read() says. */
int recipe_runtime_lay(const struct elf_file *file, struct recipe_table *table,
		       struct recipe_rows *rows);

#endif
