/* SPDX-License-Identifier: MIT */
/*
 * Merges the rules of a runtime's table (Go's) into a file's recipes (runtime/runtime.h), below
 * those of call frame information. Only the rules of functions that end a path or switch stacks are
 * merged above them, since call frame information for these functions leads into another stack's
 * words.
 */
#ifndef UNWIND_RECIPE_RUNTIME_H
#define UNWIND_RECIPE_RUNTIME_H

#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

/* Merges the rules of a runtime's table into `rows`, which have those of call frame information. If
 * the file has no such table, changes nothing. The new rows have numbers of table->rules; refused
 * rules are counted in table->stats. Returns 0, -ENOMEM, or an error of elf_file_read(). */
int recipe_runtime_lay(const struct elf_file *file, struct recipe_table *table,
		       struct recipe_rows *rows);

/* Marks the rules of the functions that run bytecode, if the file has an interpreter: in all rows
 * of these functions, the kind REG becomes STACKD_CFA_EVAL or _EVAL_REGS, or STACKD_CFA_COPIED if
 * the daemon reads which functions the frames run. Sets table->interpreter. Returns 0 or -ENOMEM.
 */
int recipe_runtime_mark(const struct elf_file *file, struct recipe_table *table,
			struct recipe_rows *rows);

#endif
