/* SPDX-License-Identifier: MIT */
/*
 * Functions that never return, by their own code. Unwind information says where such a function
 * expects its return address, but no return proves that a call has pushed it: a program may have
 * jumped into the function, on a stack with words of earlier calls. A function that returns goes on
 * at that address, whoever has put it there, so it names the caller in any case.
 */
#ifndef CALLFLOW_CALLFLOW_NORETURN_H
#define CALLFLOW_CALLFLOW_NORETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Returns whether the function at a file offset, of which call frame information has the range,
 * never returns, nor jumps to other code. A function with exception tables does not count: the
 * handlers of another function may be apart from it, with a range of their own. */
bool callflow_noreturn_is(const struct elf_file *elf, uint64_t offset);

#endif
