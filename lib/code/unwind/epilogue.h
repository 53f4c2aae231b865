/* SPDX-License-Identifier: MIT */
/*
 * Epilogues that call frame information leaves out. Old compilers, and authors of assembly,
 * describe how a function's frame grows, but not how it is released:
 *
 *   save a register         CFA = stack pointer + 16
 *   make room               CFA = stack pointer + 64
 *   ...
 *   release the room        from here on, the stack pointer + 64 is in the caller's frame,
 *   restore the register    where any stale return address may be
 *   return
 *
 * So the instructions before each return, or jump to another function, are compared with the rule:
 * if they release exactly the frame that the rule states, and the rule is the same behind them, it
 * is wrong there.
 */
#ifndef UNWIND_EPILOGUE_H
#define UNWIND_EPILOGUE_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

/* Searches the rows of call frame information for such epilogues, and lays rules above them.
 * Returns 0 or -ENOMEM. */
int epilogue_lay(const struct elf_file *elf, struct recipe_table *table, struct recipe_rows *rows);

/* Returns whether a rule is one of those that old compilers leave as they are in epilogues. */
bool epilogue_may_be_left_out(const struct stackd_rule *rule);

/* Returns the distance of the CFA from the stack pointer at a file offset, if it lies in such an
 * epilogue; -1: it does not. `rule` is that of the offset, and of the code from `start` to `end`
 * (file offsets) around it: before that, what instructions release was of another frame. */
int32_t epilogue_cfa(const struct elf_file *elf, uint64_t start, uint64_t end, uint64_t offset,
		     const struct stackd_rule *rule);

#endif
