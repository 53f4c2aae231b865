/* SPDX-License-Identifier: MIT */
/*
 * Functions that throw exceptions: those of libgcc that end in __builtin_eh_return().
 *
 *   _Unwind_RaiseException
 *     call uw_init_context_1      notes frame and return address in a struct _Unwind_Context
 *     call phase 1, phase 2       finds the landing pad
 *     call uw_install_context_1   WRITTEN: writes the registers of the function that catches, and
 *                                 the address behind its call, into the slots of the caller's
 *     call _Unwind_DebugHook
 *     store                       BETWEEN: writes the landing pad's address below that
 *                                 function's frame
 *     lea                         LEAVING: knows the address of that frame
 *     load all registers          LEFT
 *     jump to the landing pad
 *
 * Call frame information says of all of it that the slots have the caller's values. In part WRITTEN
 * they are those of a function further up, but the context still has the return address, so the
 * rules are made to read it there, and to lose the registers: a walk goes on as long as it needs
 * none. In BETWEEN, the stack has one landing pad in the place of a return address, at no fixed
 * distance, so that walks end. From LEAVING on, the frame is given up, and the function that
 * catches is the caller: it goes on at the landing pad, behind no call.
 */
#ifndef UNWIND_EH_RETURN_H
#define UNWIND_EH_RETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi_index.h"
#include "elf/elf_file.h"
#include "unwind/walk_rule.h"

enum eh_return_part {
	EH_RETURN_OTHER,
	EH_RETURN_WRITTEN,
	EH_RETURN_BETWEEN,
	EH_RETURN_LEAVING,
	EH_RETURN_LEFT,
	EH_RETURN_PARTS
};

/* A function of which rows were added. Zeroed is one without rows. */
struct eh_return {
	uint64_t start, from; /* file offsets: its first row; its first row with such a frame */
	struct cfi_state last;
	bool is_such;			 /* it throws, and the parts are known */
	uint64_t parts[EH_RETURN_PARTS]; /* file offsets at which they begin, in order */
	int32_t context;		 /* of the context, from the frame pointer; 0: not known */
	uint8_t caught_reg; /* part LEAVING: the caller's CFA counts from this register */
	int32_t caught_add;
};

/* Adds a function's next row, at a file offset. The function may be of any kind: most rows cost a
 * comparison. Returns whether the row is where the registers have been loaded, so that the parts
 * are known now. */
bool eh_return_add_row(struct eh_return *e, const struct elf_file *elf, uint64_t offset,
		       const struct cfi_state *state);

/* Returns the part to which a file offset belongs. */
enum eh_return_part eh_return_part_at(const struct eh_return *e, uint64_t offset);

/* Makes the rule of a part from that of call frame information. */
void eh_return_change(const struct eh_return *e, enum eh_return_part part,
		      struct stackd_rule *rule);

/* Does so with the rule of a code address (vaddr and file offset) if it is in such a part. `index`
 * is the file's call frame information, or NULL. */
void eh_return_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		       uint64_t offset, struct walk_rule *rule);

#endif
