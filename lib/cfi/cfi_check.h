/* SPDX-License-Identifier: MIT */
/*
 * Decides which entries of a call frame section libdw may be shown.
 *
 * libdw 0.188 trusts CFI more than we can trust the files: it reads the operand of a cut
 * instruction, and the data of a CIE's augmentation letters, without a look at where they end; and
 * eight instructions (a register with a large number, remembered seven times) make it allocate
 * 9 GiB and run for 27 s. So every entry is decoded here first, instruction by
 * instruction, without being executed; only what is whole and within bounds is listed.
 */
#ifndef CFI_CFI_CHECK_H
#define CFI_CFI_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bounds on one entry: no entry of Debian's libraries and programs comes near them. */
#define CFI_MAX_PROGRAM_BYTES	 (256 * 1024)
#define CFI_MAX_EXPRESSION_BYTES 1024
#define CFI_MAX_REGISTER	 255
#define CFI_MAX_REMEMBERED	 64

struct cfi_fde {
	uint64_t start, end; /* vaddr; end is exclusive and above start */
	uint64_t at;	     /* offset of the entry in the checked bytes */
	bool is_debug;	     /* from .debug_frame */
};

struct cfi_fde_list {
	struct cfi_fde *items; /* owned */
	size_t count, capacity;
};

/* Appends the good FDEs of `data`, in the section's order. .debug_frame's entries (`is_debug`)
 * are rewritten in place to .eh_frame's form, and `at` counts from `base` bytes before the data.
 * 0 or -ENOMEM. */
int cfi_check_section(uint8_t *data, size_t len, uint64_t vaddr, bool is_debug, uint64_t base,
		      struct cfi_fde_list *list);

void cfi_fde_list_free(struct cfi_fde_list *list);

#endif
