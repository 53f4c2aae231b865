/* SPDX-License-Identifier: MIT */
/* Takes what was spent from an account; see work_debt.h. */
#include "daemon/work_debt.h"

#define AIM	 0.8 /* this part of the budget fills the account */
#define SAVED_S	 30  /* of the budget can be saved */
#define OWED_S	 60  /* of the budget can be owed */
#define HALF_S	 6   /* of the budget owed: users, tables and names get half of their shares */
#define START_NS UINT64_C(60000000000)

static double per_second_ns(const struct work_debt *debt)
{
	return debt->account.share / AIM * 1e9;
}

struct work_debt work_debt_begin(double share, uint64_t spent_ns, uint64_t now_ns)
{
	const uint64_t most_ns = (uint64_t)(share * SAVED_S * 1e9);
	struct work_debt debt = {.account = cpu_share_begin(share * AIM, most_ns, now_ns),
				 .spent_ns = spent_ns,
				 .begun_ns = now_ns};

	debt.account.saved_ns = 0;
	return debt;
}

/* The sum of costs can go down for a moment, while that of a process which has just ended is
 * missing from it. */
void work_debt_look(struct work_debt *debt, uint64_t spent_ns, uint64_t now_ns)
{
	double least = -OWED_S * per_second_ns(debt);

	if (!(debt->account.share > 0))
		return;
	cpu_share_spend(&debt->account, spent_ns > debt->spent_ns ? spent_ns - debt->spent_ns : 0,
			now_ns);
	debt->spent_ns = spent_ns > debt->spent_ns ? spent_ns : debt->spent_ns;
	if (debt->account.saved_ns < least)
		debt->account.saved_ns = least;
}

bool work_debt_is(const struct work_debt *debt)
{
	return debt->account.saved_ns < 0;
}

uint64_t work_debt_pause_ns(const struct work_debt *debt)
{
	double ns = work_debt_is(debt) ? -debt->account.saved_ns / debt->account.share : 0;

	return ns < (double)WORK_DEBT_PAUSE_NS ? (uint64_t)ns : WORK_DEBT_PAUSE_NS;
}

bool work_debt_keeps_savings(const struct work_debt *debt)
{
	return !work_debt_is(debt) || debt->account.as_of_ns - debt->begun_ns < START_NS;
}

double work_debt_part(const struct work_debt *debt)
{
	return work_debt_is(debt)
		       ? 1 / (1 - debt->account.saved_ns / (HALF_S * per_second_ns(debt)))
		       : 1;
}
