/* SPDX-License-Identifier: MIT */
/*
 * The unwind rule of one code address, made from its row of the call frame table.
 *
 * Nearly every rule fits the fixed form of the kernel half (struct stackd_rule). A rule that does
 * not fit has STACKD_CFA_DAEMON there, and the row's rules and expressions in `slow`. An invalid
 * rule has STACKD_CFA_DAEMON, and no `slow`.
 */
#ifndef UNWIND_WALK_RULE_H
#define UNWIND_WALK_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi_index.h"
#include "cfi/dwarf_expr.h"
#include "stack/provenance.h"
#include "stackd_abi.h"

/* Operations of an expression, in slow_rule.ops. */
struct walk_ops {
	uint32_t first, count;
};

/* The rule for the caller's value of a register. */
struct walk_register {
	struct cfi_reg rule;
	struct walk_ops ops; /* for CFI_EXPRESSION and CFI_VAL_EXPRESSION */
};

struct slow_rule {
	struct stackd_rule cfa; /* the CFA's members only; STACKD_CFA_DAEMON: the CFA is the
				 * result of cfa_ops */
	struct walk_ops cfa_ops;
	struct walk_register reg[STACKD_REG_COUNT];
	size_t bytes; /* of this object */
	struct dwarf_expr_op ops[];
};

struct walk_rule {
	struct stackd_rule fast;
	bool is_signal;		/* a signal frame: its caller was interrupted, it has not called */
	bool is_entry;		/* in the function at the file's entry address */
	bool is_called;		/* calls enter the code, so it does not run in a frame that
				 * jump_frame.h describes */
	bool is_provisional;	/* it must not be cached, since a better rule may come */
	uint8_t provenance;	/* enum provenance; if `fast` is STACKD_CFA_NONE, that of a guess
				 * by the frame pointer */
	struct slow_rule *slow; /* owned; may be NULL */
};

/* Makes the rule at a vaddr. If no entry covers it, `fast` has STACKD_CFA_NONE. Returns 0 or
 * -ENOMEM, with *ret_rule unchanged. The caller frees what *ret_rule owns with walk_rule_free(). */
int walk_rule_compile(const struct cfi_index *index, uint64_t vaddr, struct walk_rule *ret_rule);

/* Finds the stretch of code (vaddr) around an address over which the entry that covers it states
 * one rule of fixed form: one or more rows. Returns false if the rule there has no fixed form, or
 * no entry covers the address. */
bool walk_rule_stretch(const struct cfi_index *index, uint64_t vaddr, uint64_t *ret_start,
		       uint64_t *ret_end);

void walk_rule_free(struct walk_rule *rule); /* frees what the rule owns, not the rule */

#endif
