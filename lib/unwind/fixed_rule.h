/* SPDX-License-Identifier: MIT */
/*
 * The fixed form of a rule, struct stackd_rule, which the kernel half steps by: what a row of the
 * call frame table comes to in it.
 */
#ifndef UNWIND_FIXED_RULE_H
#define UNWIND_FIXED_RULE_H

#include "cfi/cfi_state.h"

/* Says a state of the CFI machine in the fixed form. `is_signal_frame` is the CIE's augmentation
 * 'S'. Returns RECIPE_ACCEPTED, or why the form cannot say it; *ret_rule is then untouched. */
enum recipe_refusal fixed_rule_make(const struct cfi_state *state, bool is_signal_frame,
				    struct stackd_rule *ret_rule);

#endif
