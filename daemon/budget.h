/* SPDX-License-Identifier: MIT */
/*
 * Keeps stackd within a share of one core (--max-cpu) by changing the rate of samples, to which
 * nearly all of its cost is proportional. The rest is waking up and writing new rows, each time
 * with cold caches. So when the cost comes near the budget, stackd first does that less often, and
 * returns to the usual pace when it has room for it. After the rate was lowered there is less to
 * write, and stackd writes less often still.
 *
 * The cost is that of the last seconds, weighted towards the latest. The rate is lowered when the
 * cost comes near the budget, before it exceeds it, and at once when one second alone exceeds it.
 * It is raised again, step by step, when there is room for twice as much. A step is by a factor of
 * four at most, since the rate need not be the cause of one expensive second. Tables of new files
 * and names of functions cost the same at any rate. They lower the rate too, since the budget is
 * for the sum, but their cost alone can exceed it.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_LEAST_HZ UINT64_C(1)

struct budget {
	double share;		   /* the most that stackd may cost, as a share of one core; 0: no
				    * budget */
	uint64_t full_hz, rate_hz; /* requested rate; present rate */
	uint64_t cost_ns, now_ns;  /* at the last call of budget_look(); 0: there was none */
	uint64_t changed_ns;	   /* when the rate, or the pace of waking up, was changed */
	uint64_t changes;	   /* how often the rate was changed */
	bool is_saving;		   /* stackd wakes up and writes less often */
	double used;		   /* the cost of the last seconds, as a share of one core */
};

/* Begins with the requested rate. */
struct budget budget_begin(double share, uint64_t rate_hz);

/* Returns how many times longer than usual to wait before writing: 1 to 8. */
unsigned budget_pace(const struct budget *budget);

/* Returns whether spent_ns, spent since the last look span_ns ago, is reason to look at once. */
bool budget_is_spent(const struct budget *budget, uint64_t span_ns, uint64_t spent_ns);

/* Looks at the cost so far, about once in budget_pace() seconds. Returns whether it has changed
 * budget->rate_hz or budget->is_saving. */
bool budget_look(struct budget *budget, uint64_t now_ns, uint64_t cost_ns);

#endif
