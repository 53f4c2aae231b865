/* SPDX-License-Identifier: MIT */
/*
 * Checks a step of a walk against the code: whether the function that the step has found as the
 * caller does call the function of the frame below. HPCToolkit validates the steps of its analysed
 * rules in this way (Tallent, Mellor-Crummey, Fagan, "Binary analysis for measurement and
 * attribution of program performance", PLDI 2009).
 */
#ifndef CALLFLOW_CALLFLOW_STEP_H
#define CALLFLOW_CALLFLOW_STEP_H

#include "callflow/callflow_reach.h"

enum callflow_step {
	CALLFLOW_STEP_UNCHECKED, /* the caller's code cannot be read */
	CALLFLOW_STEP_CONFIRMED, /* it calls code from which jumps lead to the callee */
	CALLFLOW_STEP_PROBABLE,	 /* its call is indirect, or an indirect jump may lead to the callee
				  */
	CALLFLOW_STEP_WRONG,	 /* it calls other code, or has no call */
	CALLFLOW_STEP_COUNT,
};

/* A step of a walk. `caller` is the location of the call's last byte, `callee` the location at
 * which the rule of the frame below was looked up. The code of an object without an elf cannot be
 * read. */
struct callflow_step_pair {
	struct callflow_location caller, callee;
	bool is_entry;	 /* the caller is the outermost frame, whose return address may have been
			  * put there without a call */
	bool is_doubted; /* another function begins at the return address, so that the call must
			  * not return. An indirect call counts as wrong, unless it is one through
			  * the linkage table that goes to the callee or to another file */
};

/* Checks a step. This costs up to some milliseconds, so the caller keeps the result. */
enum callflow_step callflow_step_check(struct callflow_reach *reach,
				       const struct callflow_step_pair *pair);

#endif
