/* SPDX-License-Identifier: MIT */
/*
 * Which events of mappings and of threads' names are applied, and which are left out because a
 * user's processes make too many (user_shares.h): a process can map and unmap code a hundred
 * thousand times a second, and give itself a name a million times. They are left out while they are
 * still in the kernel's ring (sideband_judge_by()). A name that is left out is lost: the thread has
 * its earlier one.
 *
 * In the ring, a process is looked at once it has made MAPPING_SHARES_FREE in a second, and its
 * user pays for as many at a time: most processes of a build end without a record (short_lived.h),
 * and cost nobody anything. For the mappings that are applied the user pays from the first one on.
 * Processes in one slot of a table have what is free together. When an event is left out, nothing
 * is known of the process's mappings any more, and its paths end there; it is read from /proc again
 * before a later record of it is taken (process_table_settle()), for which its user pays as well.
 */
#ifndef RECORDER_MAPPING_SHARES_H
#define RECORDER_MAPPING_SHARES_H

#include "daemon/recorder/user_shares.h"

#define MAPPING_SHARES_FREE	 64
#define MAPPING_SHARES_PROCESSES 1024 /* slots for those that are watched, a power of two */
#define MAPPING_SHARES_REFUSALS	 64   /* of a slot's processes in a second; then all are refused */
#define MAPPING_SHARES_AT_ONCE	 8    /* mappings to be applied that a user pays for at a time */

struct mapping_slot {
	pid_t pid;	 /* that made the last event */
	unsigned n;	 /* events that may still be made */
	bool is_refused; /* the process's user has not paid for more, in this second */
	unsigned refusals;
	uint64_t since_ns;
	uint64_t told; /* the last drain of the ring in which a refusal was told */
};

struct mapping_shares { /* zeroed is empty */
	struct user_shares users;
	struct mapping_slot in_ring[MAPPING_SHARES_PROCESSES], applied[MAPPING_SHARES_PROCESSES];
};

/* Returns whether an event of a process's mappings or names, at `time_ns`, is to be applied. */
bool mapping_shares_take(struct mapping_shares *shares, pid_t pid, double budget, uint64_t time_ns);

/* Does the same for a mapping that is to be applied: its file is looked up, for which the user
 * pays. */
bool mapping_shares_pay(struct mapping_shares *shares, pid_t pid, double budget, uint64_t time_ns);

/* Returns whether, in this reading of the rings, an event of a mapping of this process is refused
 * for the first time, so that the process's mappings are to be doubted. `drain` has another number
 * for each reading; to be called when an event was refused. */
bool mapping_shares_is_first_refusal(struct mapping_shares *shares, pid_t pid, uint64_t drain);

/* Returns whether a process may be read from /proc for its user, *ret_user; and notes that this has
 * taken so much CPU time. Without a budget, a user's processes may take a whole core. */
bool mapping_shares_may_read(struct mapping_shares *shares, pid_t pid, double budget,
			     uint64_t now_ns, uid_t *ret_user);
void mapping_shares_have_read(struct mapping_shares *shares, uid_t user, uint64_t cpu_ns,
			      double budget, uint64_t now_ns);

#endif
