/* SPDX-License-Identifier: MIT */
/*
 * Keeps stackd within a share of one core (--max-cpu), by the rate of samples: nearly all that it
 * costs is proportional to that. What is left is waking up and writing what is new, each time with
 * the caches cold: where the cost comes near the budget, stackd does that less often first, and
 * goes back to it when it takes so little that it can afford it. Where the rate is lowered, there
 * is less to write, and it is done less often still.
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
	uint64_t changed_ns;	   /* when the rate was changed, or how often stackd wakes */
	uint64_t changes;	   /* of the rate */
	bool is_saving;		   /* stackd wakes up and writes less often */
	double used;		   /* the cost of the last seconds, as a share of one core */
};

/* Begins with the rate that is asked for. */
struct budget budget_begin(double share, uint64_t rate_hz);

/* How many times longer than otherwise to wait before writing: 1 to 8. */
unsigned budget_pace(const struct budget *budget);

/* Whether so much, spent since the last look, is reason enough to look at once. */
bool budget_is_spent(const struct budget *budget, uint64_t span_ns, uint64_t spent_ns);

/* Looks at what has been spent so far, about once in budget_pace() seconds. Returns whether
 * budget->rate_hz or budget->is_saving is another now. */
bool budget_look(struct budget *budget, uint64_t now_ns, uint64_t cost_ns);

#endif
