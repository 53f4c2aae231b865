/* SPDX-License-Identifier: MIT */
/*
 * Functions that throw exceptions: those of libgcc that end in __builtin_eh_return().
 *
 *   _Unwind_RaiseException
 *     call phase 1, phase 2           finds the landing pad
 *     call uw_install_context_1       writes the landing pad's registers into the slots where this
 *     call _Unwind_DebugHook          frame has saved its caller's
 *     load all registers from the slots, jump to the landing pad
 *
 * Call frame information says of all of it that the slots have the caller's registers. From the
 * call that writes them on, they have those of a function further up, and a caller whose frame
 * counts from one of them (the frame pointer) would be looked for there, and others left out. So
 * the rules of these calls are made to lose the registers: a walk goes on as long as it needs none.
 */
#ifndef UNWIND_EH_RETURN_H
#define UNWIND_EH_RETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi_index.h"
#include "elf/elf_file.h"
#include "unwind/walk_rule.h"

/* Returns whether a row is of such a function, after its prologue: it has saved the registers that
 * bring values to a landing pad, which no other function does. */
bool eh_return_is_row(const struct cfi_state *state);

/* Returns whether a row that follows such a row is where all registers have been loaded: the frame
 * then counts from one that brings the new stack pointer. */
bool eh_return_is_end(const struct cfi_state *row, const struct cfi_state *next);

/* Returns the file offset of the last byte of the call that writes the slots, in code of which
 * `from` is where such a row begins and `to` where its registers have been loaded: of the last two
 * calls the first. 0: there is none. */
uint64_t eh_return_find(const struct elf_file *elf, uint64_t from, uint64_t to);

/* Makes a rule lose the callee-saved registers. */
void eh_return_lose(struct stackd_rule *rule);

/* Returns whether a file offset is in such code: the call that writes the slots, or behind it.
 * Reads the call frame information of that function alone. */
bool eh_return_is_at(const struct elf_file *elf, uint64_t offset);

/* Does so with the rule of a code address (vaddr and file offset) if it is in such code. `index` is
 * the file's call frame information, or NULL. */
void eh_return_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		       uint64_t offset, struct walk_rule *rule);

#endif
