/* SPDX-License-Identifier: MIT */
/*
 * Converts a row of the call frame table to struct stackd_rule, the rule of fixed size with which
 * the kernel half finds a caller.
 */
#ifndef UNWIND_FIXED_RULE_H
#define UNWIND_FIXED_RULE_H

#include "cfi/cfi_state.h"
#include "unwind/recipe_refusal.h"

/* Converts a state of the CFI machine to such a rule. `is_signal_frame` is the CIE's augmentation
 * 'S'. Returns RECIPE_ACCEPTED, or why such a rule cannot express the state; *ret_rule is then
 * unchanged. */
enum recipe_refusal fixed_rule_make(const struct cfi_state *state, bool is_signal_frame,
				    struct stackd_rule *ret_rule);

/* Sets only the members of a rule that describe the CFA. Returns RECIPE_ACCEPTED, or why such a
 * rule cannot express it; the rule is then unchanged. */
enum recipe_refusal fixed_rule_make_cfa(const struct cfi_state *state, struct stackd_rule *rule);

/* Returns the offset in bytes of a register's value in the kernel's sigcontext, from the
 * sigcontext's first register. */
static inline unsigned fixed_rule_sigcontext(unsigned reg)
{
	unsigned word = 0;

	while (word < STACKD_REG_COUNT - 1 && ARCH_SIGCONTEXT_REG(word) != reg)
		word++;
	return 8 * word;
}

#endif
