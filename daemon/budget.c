/* SPDX-License-Identifier: MIT */
/* Compares cost and budget; see budget.h. */
#include "daemon/budget.h"

#define FOLLOW	 0.25		      /* weight of the latest second */
#define AIM	 0.65		      /* of the budget: where the rate is lowered to */
#define NEAR	 0.8		      /* of the budget: where it is lowered */
#define ROOM	 0.45		      /* of the budget: where it is raised */
#define RAISE_NS UINT64_C(5000000000) /* between a change and a raise */
#define STEP	 4		      /* a change is by this factor at most */
#define LOWER_NS UINT64_C(2000000000) /* between two changes downwards */

struct budget budget_begin(double share, uint64_t rate_hz)
{
	return (struct budget){.share = share, .full_hz = rate_hz, .rate_hz = rate_hz};
}

/* The rate at which the cost would be what is aimed at. */
static uint64_t aimed(const struct budget *b, double used)
{
	double rate = used > 0 ? (double)b->rate_hz * b->share * AIM / used : (double)b->full_hz;

	if (rate > STEP * (double)b->rate_hz)
		rate = STEP * (double)b->rate_hz;
	if (rate < (double)b->rate_hz / STEP)
		rate = (double)b->rate_hz / STEP;
	if (rate >= (double)b->full_hz)
		return b->full_hz;
	return rate > (double)BUDGET_LEAST_HZ ? (uint64_t)rate : BUDGET_LEAST_HZ;
}

static uint64_t choose(const struct budget *b, uint64_t now_ns, double latest)
{
	uint64_t since = b->changed_ns ? now_ns - b->changed_ns : UINT64_MAX;
	double used = latest > b->share && latest > b->used ? latest : b->used;

	if (used > b->share * NEAR && since >= LOWER_NS)
		return aimed(b, used);
	if (b->used < b->share * ROOM && latest < b->share * ROOM && since >= RAISE_NS)
		return aimed(b, b->used > latest ? b->used : latest);
	return b->rate_hz;
}

bool budget_look(struct budget *b, uint64_t now_ns, uint64_t cost_ns)
{
	uint64_t span = now_ns - b->now_ns, rate;
	double latest;

	/* What a process had used that is just ending may be missing for a moment. */
	if (!b->share || now_ns == b->now_ns || cost_ns < b->cost_ns)
		return false;
	latest = b->now_ns ? (double)(cost_ns - b->cost_ns) / (double)span : 0;
	b->used = b->used * (1 - FOLLOW) + latest * FOLLOW;
	b->now_ns = now_ns;
	b->cost_ns = cost_ns;
	rate = choose(b, now_ns, latest);
	if (rate == b->rate_hz)
		return false;
	b->rate_hz = rate;
	b->changed_ns = now_ns;
	b->changes++;
	return true;
}
