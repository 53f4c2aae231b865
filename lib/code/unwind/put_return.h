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
 * So such an address has no frame, and what is beyond it is not known. There are two exceptions:
 * the C library's code that signal handlers return to (sigreturn.h), and code that gives up its
 * stack or ends the process, and so begins a stack (stack_start.h).
 */
#ifndef UNWIND_PUT_RETURN_H
#define UNWIND_PUT_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define PUT_RETURN_BEFORE 7  /* bytes of code before the address */
#define PUT_RETURN_BYTES  31 /* with those behind it */

/* Whether a return address was put on the stack by something else than a call. `code` is the
 * PUT_RETURN_BYTES bytes around it, `offset` its file offset in `elf`. A direct call leads to code
 * of the same file; other bytes only look like one. */
bool put_return_is(const uint8_t *code, const struct elf_file *elf, uint64_t offset);

/* Whether a function may begin at such an address: it is aligned, or prepares a frame. */
bool put_return_may_begin(const uint8_t *code, uint64_t offset);

/* Whether the PUT_RETURN_BEFORE bytes before it end in a call, by the same measure. */
bool put_return_is_called(const uint8_t *code, const struct elf_file *elf, uint64_t offset);

#endif
