/* SPDX-License-Identifier: MIT */
/*
 * Keeps stackd within a share of one core (--max-cpu), by the rate of samples: nearly all that it
 * costs is proportional to that.
 *
 * The cost is that of the last seconds, weighted towards the latest. The rate is lowered when the
 * cost comes near the budget, so before it is exceeded, and at once when one second alone exceeds
 * it; it is raised again, step by step, when there is room for twice as much. A step is by a
 * factor of four at most: one expensive second need not be the rate's doing. Tables of new
 * files and names of functions do not depend on the rate; they lower it all the same, since the
 * budget is for the sum, but what they cost alone can exceed it.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_LEAST_HZ UINT64_C(1)

struct budget {
	double share;		   /* of one core; 0: no budget */
	uint64_t full_hz, rate_hz; /* asked for, and at present */
	uint64_t cost_ns, now_ns;  /* at the last look; 0: there was none */
	uint64_t changed_ns;	   /* when the rate was changed */
	uint64_t changes;
	double used; /* the cost of the last seconds, as a share of one core */
};

/* Begins with the rate that is asked for. */
struct budget budget_begin(double share, uint64_t rate_hz);

/* Looks at what has been spent so far, about once a second. Returns whether budget->rate_hz is
 * another now. */
bool budget_look(struct budget *budget, uint64_t now_ns, uint64_t cost_ns);

#endif
