/* SPDX-License-Identifier: MIT */
/*
 * Keeps all that stackd spends within its budget (--max-cpu), whatever the machine's processes do.
 *
 * The rate of samples (budget.h) bounds what samples cost. Programs that start, map code, fork and
 * rename their threads cost as much at any rate, and users' shares (recorder/user_shares.h) divide
 * such work among users, but do not bound the sum. So stackd keeps an account: time fills it, and
 * all CPU time of stackd, its workers and its kernel half is taken from it. While the account is
 * overdrawn,
 *
 *   - the loop waits between two rounds until the account is level, WORK_DEBT_PAUSE_NS at most.
 *     Records and events wait in their rings. The kernel counts events that find no room, and their
 *     processes are read from /proc at their next record, for which their users pay;
 *   - the shares of users, tables and names fill more slowly, the more so the larger the debt is,
 *     and what tables and names have saved up is given up once the start is over.
 *
 * The debt has a limit, so that one expensive task does not slow stackd down for long.
 */
#ifndef WORK_DEBT_H
#define WORK_DEBT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/cpu_share.h"

/* With a commit each six seconds, of what came before the last round, the store is within ten
 * seconds. */
#define WORK_DEBT_PAUSE_NS UINT64_C(3000000000)

struct work_debt { /* zeroed: no budget, and never a debt */
	struct cpu_share account;
	uint64_t spent_ns; /* at the last look */
	uint64_t begun_ns;
};

/* Begins with a level account. `share`: of a core; `spent_ns`: CPU time so far, at `now_ns`. */
struct work_debt work_debt_begin(double share, uint64_t spent_ns, uint64_t now_ns);

/* Takes the CPU time that was spent since the last look from the account. */
void work_debt_look(struct work_debt *debt, uint64_t spent_ns, uint64_t now_ns);

/* Returns whether the account is overdrawn, as of the last look. */
bool work_debt_is(const struct work_debt *debt);

/* Returns how long the loop is to wait, as of the last look; 0: not at all. */
uint64_t work_debt_pause_ns(const struct work_debt *debt);

/* Returns whether savings are kept, as of the last look: there is no debt, or this is the first
 * minute, in which a host's programs get their tables and names. */
bool work_debt_keeps_savings(const struct work_debt *debt);

/* Returns which part of their shares users, tables and names get: 1 without a debt, less with one.
 */
double work_debt_part(const struct work_debt *debt);

#endif
