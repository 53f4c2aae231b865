/* SPDX-License-Identifier: MIT */
/*
 * Go's rules in a file's recipes (go/go_rules.h): below those of call frame information, but for
 * the functions that end a path or switch stacks, whose rules lie above them: their call frame
 * information, where a Go program has any, leads into another stack's words.
 */
#ifndef UNWIND_RECIPE_GO_H
#define UNWIND_RECIPE_GO_H

#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

/* Merges the rules of a file's Go table into `rows`, which call frame information came to; a file
 * without one changes nothing. Numbers are those of table->rules; what is refused is counted in
 * table->stats. Returns 0, -ENOMEM, or what elf_file_read() says. */
int recipe_go_lay(const struct elf_file *file, struct recipe_table *table,
		  struct recipe_rows *rows);

#endif
