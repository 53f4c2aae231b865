/* SPDX-License-Identifier: MIT */
/* Compares cost and budget; see budget.h. */
#include "daemon/budget.h"

#define SECOND_NS   UINT64_C(1000000000)
#define FOLLOW	    0.25 /* weight of the latest second */
#define FOLLOW_MOST 60	 /* after so many seconds nothing is left of the earlier mean */
#define AIM	    0.65 /* the rate is changed so that the cost becomes this part of the budget */
#define NEAR	    0.75 /* above this part of the budget the rate is lowered */
#define ROOM	    0.45 /* below this part of the budget the rate is raised */
#define SPARE	    0.1	 /* below this part of the budget saving may end */
#define RAISE_NS    UINT64_C(5000000000)  /* between a change and a raise */
#define SPARE_NS    UINT64_C(60000000000) /* between a change and the end of saving */
#define LEAST_PACE  4			  /* budget_pace() while saving: from 4 to 6 */
#define CAUSED	    0.4 /* of the budget: what processes cause does not lower the rate */
#define STEP	    4	/* a change is by this factor at most */
#define LOWER_NS    UINT64_C(2000000000) /* between two changes downwards */

struct budget budget_begin(double share, uint64_t rate_hz)
{
	return (struct budget){.share = share, .full_hz = rate_hz, .rate_hz = rate_hz};
}

/* Returns the rate at which the cost would be AIM, within a factor of STEP of the present rate. */
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

unsigned budget_pace(const struct budget *b)
{
	uint64_t fewer;

	if (!b->is_saving)
		return 1;
	fewer = b->full_hz / b->rate_hz;
	if (fewer < LEAST_PACE)
		return LEAST_PACE;
	return fewer > BUDGET_MOST_PACE ? BUDGET_MOST_PACE : (unsigned)fewer;
}

bool budget_is_spent(const struct budget *b, uint64_t span_ns, uint64_t spent_ns)
{
	return (double)spent_ns > b->share * AIM * (double)span_ns;
}

static uint64_t since_change(const struct budget *b, uint64_t now_ns)
{
	return b->changed_ns ? now_ns - b->changed_ns : UINT64_MAX;
}

/* Returns the cost that decides whether the rate is lowered: the weighted mean; or, if the cost
 * `latest` of the last span alone exceeds the budget, the larger of the two. */
static double used_at_most(const struct budget *b, double latest)
{
	return latest > b->share && latest > b->used ? latest : b->used;
}

static bool is_to_save(const struct budget *b, uint64_t now_ns, double latest)
{
	if (used_at_most(b, latest) > b->share * NEAR)
		return true;
	return b->is_saving && (b->rate_hz < b->full_hz || b->used > b->share * SPARE ||
				since_change(b, now_ns) < SPARE_NS);
}

static uint64_t choose(const struct budget *b, uint64_t now_ns, double latest)
{
	uint64_t since = since_change(b, now_ns);
	double used = used_at_most(b, latest);

	if (used > b->share * NEAR && since >= LOWER_NS)
		return aimed(b, used);
	if (b->used < b->share * ROOM && latest < b->share * ROOM && since >= RAISE_NS)
		return aimed(b, b->used > latest ? b->used : latest);
	return b->rate_hz;
}

/* Returns the weighted mean of the cost, after a span whose cost was `latest`. */
static double follow(double used, double latest, uint64_t span_ns)
{
	uint64_t seconds = (span_ns + SECOND_NS / 2) / SECOND_NS;

	for (unsigned i = 0; !i || (i < seconds && i < FOLLOW_MOST); i++)
		used = used * (1 - FOLLOW) + latest * FOLLOW;
	return used;
}

/* Returns which part of the cost since the last look does not count. */
static double free_of_charge(const struct budget *b, uint64_t span_ns, uint64_t caused_ns)
{
	const double caused =
		caused_ns > b->caused_ns ? (double)(caused_ns - b->caused_ns) / (double)span_ns : 0;

	return caused < b->share * CAUSED ? caused : b->share * CAUSED;
}

bool budget_look(struct budget *b, uint64_t now_ns, uint64_t cost_ns, uint64_t caused_ns)
{
	uint64_t span = now_ns - b->now_ns, rate = b->rate_hz;
	bool is_saving;
	double latest;

	/* The sum of costs can go down for a moment, while the cost of a process that is just
	 * ending is missing from it. */
	if (!b->share || now_ns == b->now_ns || cost_ns < b->cost_ns)
		return false;
	latest = b->now_ns ? (double)(cost_ns - b->cost_ns) / (double)span : 0;
	latest -= b->now_ns ? free_of_charge(b, span, caused_ns) : 0;
	latest = latest > 0 ? latest : 0;
	b->used = follow(b->used, latest, span);
	b->now_ns = now_ns;
	b->cost_ns = cost_ns;
	b->caused_ns = caused_ns;
	is_saving = is_to_save(b, now_ns, latest);
	/* When stackd begins or ends to wake up less often, that may be enough, so the rate is not
	 * changed as well, unless the budget is exceeded. */
	if (is_saving == b->is_saving || b->used > b->share || latest > b->share)
		rate = choose(b, now_ns, latest);
	if (rate == b->rate_hz && is_saving == b->is_saving)
		return false;
	b->changes += rate != b->rate_hz;
	b->rate_hz = rate;
	b->is_saving = is_saving;
	b->changed_ns = now_ns;
	return true;
}
