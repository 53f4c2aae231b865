/* SPDX-License-Identifier: MIT */
/*
 * Rules for Go's code, from the stack deltas of its table of functions (pclntab.h).
 *
 * Go's code keeps no register across calls but the stack pointer and, since Go 1.7, the frame
 * pointer. So a frame is one number:  CFA = sp + delta + 8, the return address at CFA - 8. The
 * frame pointer is saved at CFA - 16 where the frame has a size ("Go internal ABI specification",
 * amd64, "Stack layout"); where in the prologue that happens the table does not say, so the code is
 * looked at (go_switch.h). Where nothing is found, the frame pointer counts as unchanged. No rule
 * for Go's code needs it, and none leads from Go's code to C's.
 *
 * Some functions of the runtime do not return to who called them on the same stack: go_stack.h has
 * them, and what their rules are.
 *
 * The bytes are hostile: time is linear in the sizes of the table and the text.
 */
#ifndef GO_GO_RULES_H
#define GO_GO_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "runtime/go/pclntab.h"
#include "runtime/runtime.h"

/* Hands the rules of all functions to `take`: each holds up to the next row, and the last row is
 * NONE. Functions outside of executable program headers are left out. Returns 0, -ENOMEM, or what
 * `take` says. */
int go_rules_each(const struct pclntab *table, const struct elf_file *file, runtime_take_rule *take,
		  void *arg);

/* Finds the rule at a vaddr; its kind is STACKD_CFA_NONE if there is none, or the function is
 * larger than any honest one, which bounds the time. As part of a whole table's rules it is the
 * same, but for morestack's: it takes systemstack's code as well, and ends the path here. Returns 0
 * or -ENOMEM. */
int go_rules_at(const struct pclntab *table, const struct elf_file *file, uint64_t vaddr,
		struct runtime_rule *ret_row);

#endif
