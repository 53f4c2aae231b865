/* SPDX-License-Identifier: MIT */
/*
 * The unwind rule of one code address, compiled from what libdw says of it.
 *
 * Nearly every rule fits the fixed form that the kernel half knows (struct stackd_rule). One that
 * does not says STACKD_CFA_DAEMON there and carries libdw's operations in `slow`; one that makes
 * no sense says so too, and carries nothing.
 */
#ifndef UNWIND_WALK_RULE_H
#define UNWIND_WALK_RULE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"
#include "cfi/cfi_image.h"

enum walk_place_kind {
	WALK_PLACE_SAME,      /* the register is unchanged */
	WALK_PLACE_UNDEFINED, /* the register is lost */
	WALK_PLACE_AT_CFA,    /* it stands at CFA + offset */
	WALK_PLACE_CFA,	      /* it is CFA + offset */
	WALK_PLACE_OPS,	      /* its place or value is an expression */
};

/* Where the caller's value of a register is. */
struct walk_place {
	enum walk_place_kind kind;
	uint32_t first, count; /* OPS: of slow_rule.ops */
	int64_t offset;
};

struct slow_rule {
	struct walk_place cfa; /* always OPS */
	struct walk_place reg[STACKD_REG_COUNT];
	uint8_t return_column; /* the register whose place is the return address's */
	size_t bytes;	       /* of this object */
	Dwarf_Op ops[];
};

struct walk_rule {
	struct stackd_rule fast;
	bool is_signal;		/* the caller was interrupted, and did not call */
	bool is_entry;		/* in the function at the file's entry address */
	struct slow_rule *slow; /* owned; may be NULL */
};

/* Bits of the registers that have a value after a call: those that a callee preserves, rsp and
 * rip. */
#define WALK_RULE_PRESERVED                                                                        \
	(1u << 3 | 1u << STACKD_REG_RBP | 1u << STACKD_REG_RSP | 0xfu << 12 | 1u << STACKD_REG_RIP)

/* Where each register, by DWARF number, stands in the kernel's sigcontext, in words. */
extern const uint8_t walk_sigcontext_slot[STACKD_REG_COUNT];

/* The rule at an address. STACKD_CFA_NONE if nothing covers it. 0 or -ENOMEM. */
int walk_rule_compile(const struct cfi_image *image, uint64_t vaddr, struct walk_rule *ret_rule);

void walk_rule_free(struct walk_rule *rule); /* what it owns */

#endif
