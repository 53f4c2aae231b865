/* SPDX-License-Identifier: MIT */
/*
 * Rules for addresses where the call frame information is silent or known to be wrong, but a few
 * bytes of code tell all. They hold only for frames that were interrupted, the leaf first of all.
 */
#ifndef UNWIND_LEAF_RULE_H
#define UNWIND_LEAF_RULE_H

#include "elf/elf_file.h"
#include "cfi/cfi_index.h"
#include "unwind/walk_rule.h"

/* Looks at the code at a program counter (vaddr and file offset), with `rule` as the CFI has it
 * (STACKD_CFA_NONE: not at all), and replaces the rule where the code knows better. `index` is the
 * file's CFI, or NULL. Returns 0 or -ENOMEM. */
int leaf_rule_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		      uint64_t offset, struct walk_rule *rule);

/* Whether code (vaddr and file offset) is that of the C runtime which every file has, without call
 * frame information: _init, _fini, __do_global_dtors_aux, frame_dummy, (de)register_tm_clones. */
bool leaf_rule_is_start(const struct elf_file *elf, uint64_t vaddr, uint64_t offset);

/* Whether the instruction at a file offset returns. */
bool leaf_rule_is_return(const struct elf_file *elf, uint64_t offset);

#endif
