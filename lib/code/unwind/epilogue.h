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

#include <stdint.h>

#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

/* Searches the rows of call frame information for such epilogues, and lays rules above them.
 * Returns 0 or -ENOMEM. */
int epilogue_lay(const struct elf_file *elf, struct recipe_table *table, struct recipe_rows *rows);

/* Returns the distance of the CFA from the stack pointer at a file offset, if it lies in such an
 * epilogue; -1: it does not. `rule` is that of the offset, and `start` the file offset of its
 * function. */
int32_t epilogue_cfa(const struct elf_file *elf, uint64_t start, uint64_t offset,
		     const struct stackd_rule *rule);

#endif
