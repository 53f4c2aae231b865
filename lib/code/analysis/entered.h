/* SPDX-License-Identifier: MIT */
/*
 * Finds out which functions are entered by calls, so that their caller's return address is where
 * their rules say.
 *
 * Code that only jumps lead to runs in the frame of the code that has jumped. If that has moved the
 * stack pointer since it has called others, any word can be on top of the stack, such as the return
 * address of one of these calls. Such code looks like a function: it begins behind padding, its
 * address is taken, and where it ends the stack pointer is as it was at its start. But it never
 * returns. So a function counts as entered by calls only if its code gives evidence of it:
 *
 *   it returns, with the stack pointer as at its start;
 *   it pushes a callee-saved register to preserve it;
 *   a direct call leads to it;
 *   it jumps to another function with the stack pointer as at its start, and that one, or code
 *   outside, returns; or such a jump of a function that is entered by calls leads to it;
 *   it makes a frame as functions do, and does not leave it by a jump to an unknown target.
 */
#ifndef ANALYSIS_ENTERED_H
#define ANALYSIS_ENTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum entered_note {
	ENTERED_BY_CALLS = 1,	/* proven */
	ENTERED_FRAME = 2,	/* it makes a frame as functions do */
	ENTERED_JUMPS_AWAY = 4, /* it jumps to an unknown target with the stack pointer as at its
				 * start, or returns with an unknown one */
};

/* If the function `from` is entered by calls, `to` is, too. */
struct entered_link {
	uint32_t from, to;
};

struct entered { /* zeroed is empty */
	VEC(uint8_t)
	functions; /* by number of a function of returns.h: bits of enum entered_note;
		    * functions beyond its end have none */
	VEC(struct entered_link) links;
};

/* Frees all, and leaves it empty. */
void entered_fini(struct entered *entered);

/* Notes something of a function. Returns 0 or -ENOMEM, as the next two do. */
int entered_set(struct entered *entered, uint32_t function, enum entered_note note);

/* Notes that a function jumps to another with the stack pointer as at its start, so that both are
 * entered by calls if either is. */
int entered_pass(struct entered *entered, uint32_t function, uint32_t other);

/* Notes that a function is entered by calls if `other` is: it is a part of `other`, or runs into
 * its code. */
int entered_follow(struct entered *entered, uint32_t function, uint32_t other);

/* Draws all conclusions. To be called when all flow is known. */
void entered_settle(struct entered *entered);

/* Returns whether a function is known to be entered by calls. */
static inline bool entered_is(const struct entered *entered, uint32_t function)
{
	return function < entered->functions.count &&
	       entered->functions.items[function] & ENTERED_BY_CALLS;
}

#endif
