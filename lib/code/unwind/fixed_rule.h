/* SPDX-License-Identifier: MIT */
/*
 * Converts a row of the call frame table to the fixed form of a rule, struct stackd_rule, by which
 * the kernel half steps.
 */
#ifndef UNWIND_FIXED_RULE_H
#define UNWIND_FIXED_RULE_H

#include "cfi/cfi_state.h"
#include "unwind/recipe_refusal.h"

/* Converts a state of the CFI machine to the fixed form. `is_signal_frame` is the CIE's
 * augmentation 'S'. Returns RECIPE_ACCEPTED, or why the form cannot express it; *ret_rule is then
 * untouched. */
enum recipe_refusal fixed_rule_make(const struct cfi_state *state, bool is_signal_frame,
				    struct stackd_rule *ret_rule);

/* Fills the CFA's members of a rule only. Returns RECIPE_ACCEPTED, or why the form cannot express
 * it, with the rule as it was. */
enum recipe_refusal fixed_rule_make_cfa(const struct cfi_state *state, struct stackd_rule *rule);

/* Returns where a register's value is in the kernel's sigcontext, in bytes from its first register.
 */
static inline unsigned fixed_rule_sigcontext(unsigned reg)
{
	unsigned word = 0;

	while (word < STACKD_REG_COUNT - 1 && ARCH_SIGCONTEXT_REG(word) != reg)
		word++;
	return 8 * word;
}

#endif
