/* SPDX-License-Identifier: MIT */
/*
 * Return addresses that no call has made. A program that makes a stack of its own, for a coroutine,
 * puts an address where the first function on it finds its return address: of abort(), of a
 * function of its own that ends the coroutine, or any. Unwinders take it for a caller: they look
 * the rule up one byte below, in whatever function ends there, and go on with words that nobody has
 * put there as frames.
 *
 *   words of an earlier use     │ "callers" of another time
 *   address of ended()          │ no call is before ended(): the byte below is of another function
 *   ─ frame of the first function ─
 *
 * So the frame of such an address is none, and what is beyond it is not known. There are
 * exceptions: the C library's code at which signal handlers return, and code that begins a stack by
 * what it does (stack_start.h).
 */
#ifndef UNWIND_PUT_RETURN_H
#define UNWIND_PUT_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define PUT_RETURN_BEFORE 7  /* bytes of code before the address */
#define PUT_RETURN_BYTES  31 /* with those behind it */

/* Whether a return address, of which these are the PUT_RETURN_BYTES bytes of code around it, was
 * put on the stack by something else than a call. It is at a file offset of `elf`: a direct call
 * leads to code of the same file, so others are bytes that look like one. */
bool put_return_is(const uint8_t *code, const struct elf_file *elf, uint64_t offset);

/* Whether a function may begin at such an address: it is aligned, or prepares a frame. */
bool put_return_may_begin(const uint8_t *code, uint64_t offset);

/* Whether the PUT_RETURN_BEFORE bytes before it end in a call, by the same measure. */
bool put_return_is_called(const uint8_t *code, const struct elf_file *elf, uint64_t offset);

#endif
