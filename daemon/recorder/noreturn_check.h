/* SPDX-License-Identifier: MIT */
/*
 * Finds steps by unwind information that nothing proves. A function that returns goes on at its
 * return address, so that is its caller, whoever has put it there. One that never returns may have
 * been entered by a jump, on a stack with words of earlier calls:
 *
 *     deep3 returns to deep2                     endless, which a jump has entered
 *     deep2 ◄─ return address ─┐                 deep2 ◄─ the same word, for its return address
 *
 * Nearly every function returns, or is called by a direct call that goes to its beginning. Both are
 * found here, without a worker and without waiting; what is left is for the caller to ask about:
 * whether the function never returns (WALKS_NORETURN, once for each function), and whether the
 * code of the caller calls it. While a file cannot be read, its steps count as proven.
 */
#ifndef RECORDER_NORETURN_CHECK_H
#define RECORDER_NORETURN_CHECK_H

#include "base/int_map.h"
#include "callflow/callflow_starts.h"
#include "proc/object.h"
#include "stack/location.h"

#define NORETURN_CHECK_KEPT (1u << 20) /* 4 bytes each: some 170 files as large as libLLVM */

enum noreturn_step {
	NORETURN_STEP_PROVEN,
	NORETURN_STEP_ASK,     /* it is not known whether the callee's function returns */
	NORETURN_STEP_DOUBTED, /* the callee's function never returns */
};

/* File offsets that belong to a location; 0: not read yet, UINT32_MAX: there is none. */
struct noreturn_location {
	uint32_t function; /* where its function begins */
	uint32_t target;   /* of the direct call before a return address */
};

struct noreturn_check {			    /* zeroed but for the first two is empty */
	const struct object_table *objects; /* borrowed */
	const struct location_table *locations;
	struct noreturn_location *known; /* by location */
	size_t known_cap;
	struct callflow_starts *starts; /* by object */
	size_t starts_cap;
	size_t kept; /* sum of what they keep; beyond NORETURN_CHECK_KEPT, further files have
		      * none */
	struct int_map functions; /* by object and offset: 1: it never returns, 0: it does */
};

void noreturn_check_fini(struct noreturn_check *check); /* leaves it empty */

/* Weighs the step from the location of a callee, whose rule is of call frame information, to that
 * of a caller's return address. 0 or -ENOMEM. */
int noreturn_check_step(struct noreturn_check *check, uint32_t caller, uint32_t callee,
			enum noreturn_step *ret_step);

/* Notes whether the function of a callee for which the answer was NORETURN_STEP_ASK never returns.
 * 0 or -ENOMEM. */
int noreturn_check_answer(struct noreturn_check *check, uint32_t callee, bool is_noreturn);

#endif
