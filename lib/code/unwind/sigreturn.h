/* SPDX-License-Identifier: MIT */
/* The code to which signal handlers return (a system call rt_sigreturn), in C libraries that have
 * no call frame information for it. */
#ifndef UNWIND_SIGRETURN_H
#define UNWIND_SIGRETURN_H

#include "elf/elf_file.h"
#include "unwind/walk_rule.h"

/* Returns whether `len` bytes begin with that code. */
bool sigreturn_is_code(const uint8_t *bytes, size_t len);

/* Returns whether an instruction of that code begins at a file offset, or that code ends there. */
bool sigreturn_is_at(const struct elf_file *elf, uint64_t offset);

/* Returns whether a file offset is the return address that the kernel gives a handler: that code
 * begins there, and the bytes before it are not a call that would return there. */
bool sigreturn_begins_at(const struct elf_file *elf, uint64_t offset);

/* Gives the rule of that code: that of a signal frame. */
void sigreturn_rule(struct walk_rule *ret_rule);

#endif
