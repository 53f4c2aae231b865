/* SPDX-License-Identifier: MIT */
/*
 * Recognises return addresses that no call has pushed. A program that makes a stack for a coroutine
 * puts an address where the first function on it expects its return address: that of abort(), of a
 * function that ends the coroutine, or any other. An unwinder takes it for a caller: it looks up
 * the rule of the byte before it, which belongs to whatever function ends there, and takes
 * unrelated words for further frames.
 *
 *   words of an earlier use     │ "callers" of another time
 *   address of ended()          │ no call is before ended(): the byte below is of another function
 *   ─ frame of the first function ─
 *
 * So such an address is not a frame, and the walk ends there. There are two exceptions: the C
 * library's code to which signal handlers return (sigreturn.h), and code that leaves its stack or
 * ends the process, and so begins a stack (stack_start.h).
 */
#ifndef UNWIND_PLANTED_RETURN_H
#define UNWIND_PLANTED_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define PLANTED_RETURN_BEFORE 7	 /* bytes of code before the address */
#define PLANTED_RETURN_BYTES  31 /* the bytes before the address and from it on */

/* Returns whether a return address was not put on the stack by a call. `code` has the
 * PLANTED_RETURN_BYTES bytes around the address, `offset` is its file offset in `elf`. A direct
 * call before it counts only if it leads to code of the same file, since other bytes may look like
 * a call. */
bool planted_return_is(const uint8_t *code, const struct elf_file *elf, uint64_t offset);

/* Returns whether a function may begin at such an address, because it is aligned, or sets up a
 * frame. */
bool planted_return_may_begin(const uint8_t *code, uint64_t offset);

/* Returns whether the PLANTED_RETURN_BEFORE bytes before it end in a call, by the same test as
 * planted_return_is(). */
bool planted_return_is_called(const uint8_t *code, const struct elf_file *elf, uint64_t offset);

#endif
