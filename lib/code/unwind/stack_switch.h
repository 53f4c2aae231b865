/* SPDX-License-Identifier: MIT */
/*
 * Code that loads the stack pointer from a structure in memory, as swapcontext() does. After the
 * load it is on another stack. glibc's call frame information computes the CFA from the stack
 * pointer there, as if the stack were the same. The word at the new stack pointer can be anything,
 * often 0 or a stale return address, until the code has pushed the address to which it returns.
 */
#ifndef UNWIND_STACK_SWITCH_H
#define UNWIND_STACK_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

/* Returns whether the code right before a file offset, from `start` on and without a jump or call
 * in between, has loaded the stack pointer in this way. Where call frame information has a new
 * entry behind the load, as in setcontext(), it tells of the new stack. */
bool stack_switch_precedes(const struct elf_file *elf, uint64_t start, uint64_t offset);

/* Like stack_switch_precedes(), for all instructions that may change to another stack, including
 * moves between registers. Some of these instructions restore the stack pointer of the same stack.
 */
bool stack_switch_may_precede(const struct elf_file *elf, uint64_t start, uint64_t offset);

/* Returns whether the code right before a file offset, without a jump or call in between, has
 * written a register to the word that is `above` bytes above the stack pointer at the offset. If
 * that was the return address, the next return is a jump to what was written, as in retpolines. */
bool stack_switch_target_precedes(const struct elf_file *elf, uint64_t offset, int64_t above);

/* Returns whether the code right before a file offset has set up a frame with a frame pointer, and
 * has not changed that since; calls may be in between, but no jump. */
bool stack_switch_frame_precedes(const struct elf_file *elf, uint64_t offset);

/* Replaces rules after such loads, up to the next jump, call or return, by STACKD_CFA_SWITCH, if
 * they compute the CFA from the stack pointer. Rules of a runtime's table stay, since they are made
 * for the new stack (recipe_runtime.h). Returns 0 or -ENOMEM. */
int stack_switch_lay(const struct elf_file *elf, const struct recipe_load *loads, size_t load_count,
		     struct recipe_table *table, struct recipe_rows *rows);

#endif
