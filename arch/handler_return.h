/* SPDX-License-Identifier: MIT */
/* Recognises the code of C libraries to which signal handlers return: a few instructions that make
 * the system call rt_sigreturn. */
#ifndef ARCH_HANDLER_RETURN_H
#define ARCH_HANDLER_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLER_RETURN_BYTES 9 /* of it, at most */

/* Returns how many of the `len` bytes, from the first on, are that code; 0: it is other code. */
size_t handler_return_bytes(const uint8_t *bytes, size_t len);

/* The same, with a no-op before the code. The kernel gives a handler the code's first byte as its
 * return address; that is looked up one byte before, so the no-op has the rule, too. */
size_t handler_return_bytes_with_nop(const uint8_t *bytes, size_t len);

/* Whether either can begin with this byte: most bytes of code cannot. */
extern const bool handler_return_may_begin[256];

/* Returns whether one of its instructions begins at bytes[here], or it ends there. The bytes before
 * decide, of which HANDLER_RETURN_BYTES suffice. */
bool handler_return_has(const uint8_t *bytes, size_t len, size_t here);

#endif
