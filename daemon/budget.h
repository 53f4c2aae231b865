/* SPDX-License-Identifier: MIT */
/*
 * Keeps stackd within a share of one core (--max-cpu) by changing the rate of samples, to which
 * nearly all of its cost is proportional. The rest of the cost is that of waking up and of writing
 * new rows to the store, each time with cold caches. So when the cost comes near the budget, stackd
 * first wakes up and writes less often. It returns to the usual pace when the budget has room for
 * that. After the rate was lowered there is less to write, and stackd writes less often still.
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

#define BUDGET_LEAST_HZ	 UINT64_C(1)
#define BUDGET_MOST_PACE 6 /* of budget_pace() */

struct budget {
	double share;		   /* the most that stackd may cost, as a share of one core; 0: no
				    * budget */
	uint64_t full_hz, rate_hz; /* requested rate; present rate */
	uint64_t cost_ns, now_ns;  /* at the last call of budget_look(); 0: there was none */
	uint64_t caused_ns;	   /* likewise */
	uint64_t changed_ns;	   /* when the rate, or the pace of waking up, was changed */
	uint64_t changes;	   /* how often the rate was changed */
	bool is_saving;		   /* stackd wakes up and writes less often */
	double used;		   /* the cost of the last seconds, as a share of one core */
};

/* Returns a budget whose present rate is the requested one. */
struct budget budget_begin(double share, uint64_t rate_hz);

/* Returns by which factor the time between two batches of rows must be longer than usual: 1 to
 * 6, so that with the time between two wake-ups, a quarter of that, and that of a commit the store
 * is less than ten seconds behind. */
unsigned budget_pace(const struct budget *budget);

/* Returns whether budget_look() must be called at once, because stackd has used `spent_ns` of CPU
 * time in the `span_ns` since its last call. */
bool budget_is_spent(const struct budget *budget, uint64_t span_ns, uint64_t spent_ns);

/* Looks at the cost so far, about once in budget_pace() seconds. `caused_ns`: the part of it that
 * processes cause at any rate, by starting programs and mapping code; work_debt.h bounds that, so
 * it lowers the rate only where it takes more than two fifths of the budget. Returns whether it has
 * changed budget->rate_hz or budget->is_saving. */
bool budget_look(struct budget *budget, uint64_t now_ns, uint64_t cost_ns, uint64_t caused_ns);

#endif
