/* SPDX-License-Identifier: MIT */
/*
 * Code at which the stacks of coroutines begin. A program that makes a stack puts an address where
 * the coroutine's first function expects its return address. No call has pushed that address:
 *
 *   glibc, makecontext()    __start_context, which leaves its own stack at once
 *   Boost.Context, PHP      "finish", after the jump to the coroutine's function: it calls _exit()
 *
 * Walks look up the rule of the byte before a return address. So the byte before such code gets the
 * rule END, if it is padding, or belongs to an instruction that is not a call.
 */
#ifndef UNWIND_STACK_START_H
#define UNWIND_STACK_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "unwind/recipe_table.h"

/* Bytes of a file that were read at once, for functions that are looked at in order. Zeroed is
 * empty; it belongs to one file. */
struct stack_start_bytes {
	uint64_t first;
	size_t len;
	uint8_t bytes[4096];
};

/* Returns whether the function from `start` to `end` (file offsets) begins by leaving its stack, so
 * that it has no caller. Functions of more than 64 bytes are ignored. */
bool stack_start_is_function(const struct elf_file *elf, struct stack_start_bytes *bytes,
			     uint32_t start, uint32_t end);

/* Returns whether a stack begins at a return address (file offset): no call is before it, and the
 * first jump or call behind it is a call that does not return. */
bool stack_start_is_code(const struct elf_file *elf, uint64_t offset);

/* Searches, where `rows` have no rule, for code that never returns, whose address is taken by the
 * code right before it, and that follows a jump or a return. Gives the byte before it the rule END.
 * Returns 0 or -ENOMEM. */
int stack_start_lay(const struct elf_file *elf, const struct recipe_load *loads, size_t load_count,
		    struct recipe_table *table, struct recipe_rows *rows);

#endif
