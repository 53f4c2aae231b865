/* SPDX-License-Identifier: MIT */
/*
 * Rules for addresses where call frame information is missing or known to be wrong, but a few bytes
 * of code show the frame. They are valid only for interrupted frames (mostly the leaf), not for
 * return addresses, but for cfi_repair_return().
 */
#ifndef UNWIND_CFI_REPAIR_H
#define UNWIND_CFI_REPAIR_H

#include "elf/elf_file.h"
#include "cfi/cfi_index.h"
#include "unwind/walk_rule.h"

/* Examines the code at a program counter (vaddr and file offset), and replaces `rule` if the code
 * shows a better rule. On entry, `rule` has the CFI's rule (STACKD_CFA_NONE: there is none).
 * `index` is the file's CFI, or NULL. Returns 0 or -ENOMEM. */
int cfi_repair_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		       uint64_t offset, struct walk_rule *rule);

/* Sets the rule of a frame that has called, at the last byte of the call (vaddr), if there is none
 * and the call is that of _init. Only where calls leave the return address in a register: elsewhere
 * the instructions are decoded (analysed_rules.h). */
void cfi_repair_return(const struct elf_file *elf, uint64_t vaddr, struct walk_rule *rule);

/* Returns whether code (vaddr and file offset) belongs to one of the C runtime's functions that
 * every file has without call frame information: _init, _fini, __do_global_dtors_aux, frame_dummy,
 * (de)register_tm_clones. */
bool cfi_repair_is_start(const struct elf_file *elf, uint64_t vaddr, uint64_t offset);

/* Returns whether the instruction at a file offset is a return. */
bool cfi_repair_is_return(const struct elf_file *elf, uint64_t offset);

#endif
