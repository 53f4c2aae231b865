/* SPDX-License-Identifier: MIT */
/*
 * Lays Go's rules (go/go_rules.h) into a file's recipes: below those of call frame information.
 * Only the rules of functions that end a path or switch stacks lie above them: if a Go program has
 * call frame information for these, it leads into another stack's words.
 */
#ifndef UNWIND_RECIPE_GO_H
#define UNWIND_RECIPE_GO_H

#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

/* Merges the rules of a file's Go table into `rows`, which have those of call frame information; a
 * file without a Go table changes nothing. Numbers are those of table->rules; refused rules are
 * counted in table->stats. Returns 0, -ENOMEM, or what elf_file_read() says. */
int recipe_go_lay(const struct elf_file *file, struct recipe_table *table,
		  struct recipe_rows *rows);

#endif
