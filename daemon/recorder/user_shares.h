/* SPDX-License-Identifier: MIT */
/*
 * Shares by user of what the processes of all users cause, and what costs stackd CPU time, memory
 * and numbers: files that are to be read, and mappings.
 *
 * To open a file, identify it, make its table and find its names takes milliseconds; a process can
 * map thousands of files a second, and a user can run programs that are always new. So a user's
 * processes may cause so many at once, the burst, and then so many a second as a share of stackd's
 * budget (--max-cpu) pays for. A user who causes few never notices. Root has four times the burst.
 *
 * Users beyond 65535 are those of namespaces of users, of which one user has many: 65536 in a row
 * count as one. Times are of any clock.
 */
#ifndef RECORDER_USER_SHARES_H
#define RECORDER_USER_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define USER_SHARES_USERS 64 /* with a bucket of their own */
#define USER_SHARES_ROOT  4  /* times the burst */

struct user_shares { /* zeroed but for the first two: nobody has caused anything */
	double burst;
	double per_core; /* that a user may cause in a second, if the budget is a whole core */
	struct user_share {
		uint64_t user; /* + 1; 0: none */
		double left;   /* that may still be caused, as of `as_of_ns` */
		uint64_t as_of_ns;
	} users[USER_SHARES_USERS];
	uint64_t refused; /* what was caused and not paid for */
};

/* Returns a number of a user, the same one for those who count as one; never 0. */
uint64_t user_shares_key(uid_t user);

/* Returns whether a user's processes may cause `n` more, which they then have. `budget`: the share
 * of a core that stackd may take; 0: there is none, and everybody may. */
bool user_shares_take(struct user_shares *shares, uid_t user, unsigned n, double budget,
		      uint64_t now_ns);

/* Notes that a user's processes have caused `n`, whether or not their share had so much left; with
 * a debt, user_shares_has() is false. */
void user_shares_spend(struct user_shares *shares, uid_t user, double n, double budget,
		       uint64_t now_ns);
bool user_shares_has(struct user_shares *shares, uid_t user, double budget, uint64_t now_ns);

#endif
