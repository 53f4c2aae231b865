/* SPDX-License-Identifier: MIT */
/* The code of C libraries that signal handlers return to: a few instructions that make the system
 * call rt_sigreturn, known by their bytes. */
#ifndef ARCH_HANDLER_RETURN_H
#define ARCH_HANDLER_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLER_RETURN_BYTES 9 /* of it, at most */

/* How many bytes of that code `len` bytes begin with; 0: they are something else. */
size_t handler_return_bytes(const uint8_t *bytes, size_t len);

/* The same of that code with one no-op before it: the kernel returns from a handler to the code's
 * first byte, and a return address is looked up one byte before. */
size_t handler_return_bytes_with_nop(const uint8_t *bytes, size_t len);

/* Whether either can begin with a byte: most bytes of code cannot. */
extern const bool handler_return_may_begin[256];

/* Whether one of its instructions begins at bytes[here], or it ends there; the bytes before tell,
 * HANDLER_RETURN_BYTES of which are enough. */
bool handler_return_has(const uint8_t *bytes, size_t len, size_t here);

#endif
