/* SPDX-License-Identifier: MIT */
/*
 * Recognises return addresses that no call has pushed. A program that makes a stack for a coroutine
 * puts an address where the first function on it expects its return address: that of abort(), of a
 * function that ends the coroutine, or any other. An unwinder takes it for a caller: it looks up
 * the rule one byte below, which belongs to whatever function ends there, and takes unrelated words
 * for further frames.
 *
 *   words of an earlier use     │ "callers" of another time
 *   address of ended()          │ no call is before ended(): the byte below is of another function
 *   ─ frame of the first function ─
 *
 * So such an address is not a frame, and the stack's words behind it are unknown. There are two
 * exceptions: the C library's code to which signal handlers return (sigreturn.h), and code that
 * leaves its stack or ends the process, and so begins a stack (stack_start.h).
 */
#ifndef UNWIND_PLANTED_RETURN_H
#define UNWIND_PLANTED_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define PLANTED_RETURN_BEFORE 7	 /* bytes of code before the address */
#define PLANTED_RETURN_BYTES  31 /* those, and the bytes behind it */

/* Returns whether no call has put a return address on the stack. `code` is the PLANTED_RETURN_BYTES
 * bytes around it, `offset` its file offset in `elf`. A direct call counts only if it leads to code
 * of the same file: other bytes may look like one. */
bool planted_return_is(const uint8_t *code, const struct elf_file *elf, uint64_t offset);

/* Returns whether a function may begin at such an address: it is aligned, or sets up a frame. */
bool planted_return_may_begin(const uint8_t *code, uint64_t offset);

/* Returns whether the PLANTED_RETURN_BEFORE bytes before it end in a call, as planted_return_is()
 * decides it. */
bool planted_return_is_called(const uint8_t *code, const struct elf_file *elf, uint64_t offset);

#endif
