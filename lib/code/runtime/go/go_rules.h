/* SPDX-License-Identifier: MIT */
/*
 * Rules for Go's code, from the stack deltas of its table of functions (pclntab.h).
 *
 * Go's code keeps no register across calls but the stack pointer and, since Go 1.7, the frame
 * pointer. So a frame is one number: CFA = sp + delta + 8, with the return address at CFA - 8. The
 * frame pointer is saved at CFA - 16 if the frame has a size ("Go internal ABI specification",
 * "Stack layout"). The table does not say from which instruction on it is saved, so the prologue's
 * instructions are decoded (go_switch.h). If they do not show it, the rule says that the frame
 * pointer is unchanged. No rule for Go's code needs the frame pointer, and none leads from Go's
 * code to C's.
 *
 * Some functions of the runtime do not return to their caller on the same stack: go_stack.h lists
 * them, with their rules.
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

/* Calls `take` with the rules of all functions. Each rule holds up to the next row, and the last
 * row is STACKD_CFA_NONE. Functions outside of executable program headers are left out. Returns 0,
 * -ENOMEM, or the result of `take`. */
int go_rules_each(const struct pclntab *table, const struct elf_file *file, runtime_take_rule *take,
		  void *arg);

/* Finds the rule at a vaddr; its kind is STACKD_CFA_NONE if there is no rule, or the function is
 * too large (this limits the time). The rule is the same as from go_rules_each(), except for
 * morestack's, which would also need systemstack's code: here, the path ends at morestack. Returns
 * 0 or -ENOMEM. */
int go_rules_at(const struct pclntab *table, const struct elf_file *file, uint64_t vaddr,
		struct runtime_rule *ret_row);

#endif
