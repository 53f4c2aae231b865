/* SPDX-License-Identifier: MIT */
/* Recognises the code of C libraries to which signal handlers return: a few instructions that make
 * the system call rt_sigreturn. */
#ifndef ARCH_HANDLER_RETURN_H
#define ARCH_HANDLER_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLER_RETURN_BYTES 9 /* of that code, at most */

/* Returns the length of that code, if it is at `bytes`; 0: it is other code. */
size_t handler_return_bytes(const uint8_t *bytes, size_t len);

/* Like handler_return_bytes(), for that code with a no-op before it; returns the length of both.
 * The kernel gives a handler the first byte of the code as its return address. Walks look up the
 * byte before, so the no-op needs the rule, too. */
size_t handler_return_bytes_with_nop(const uint8_t *bytes, size_t len);

/* Whether the code of either function can begin with a byte. Most bytes cannot begin it. */
extern const bool handler_return_may_begin[256];

/* Returns whether an instruction of that code begins at bytes[here], or the code ends there. It
 * examines the bytes before, of which HANDLER_RETURN_BYTES suffice. */
bool handler_return_has(const uint8_t *bytes, size_t len, size_t here);

#endif
