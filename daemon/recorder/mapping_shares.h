/* SPDX-License-Identifier: MIT */
/*
 * Which events of mappings are applied, and which are left out because a user's processes make too
 * many (user_shares.h): a process can map and unmap code a hundred thousand times a second.
 *
 * A process is looked at once it has made MAPPING_SHARES_FREE in a second, and its user pays for as
 * many at a time. When an event is left out, nothing is known of the process's mappings any more,
 * and its paths end there; it is read from /proc again once its user's share has room.
 */
#ifndef RECORDER_MAPPING_SHARES_H
#define RECORDER_MAPPING_SHARES_H

#include "base/vec.h"
#include "daemon/recorder/user_shares.h"

#define MAPPING_SHARES_FREE	 64
#define MAPPING_SHARES_PROCESSES 1024 /* that are watched at a time, a power of two */
#define MAPPING_SHARES_PARTIAL	 256  /* processes that are read again */

struct mapping_shares { /* zeroed is empty */
	struct user_shares users;
	struct {
		pid_t pid;
		unsigned n;	 /* events that the process may still make */
		bool is_refused; /* its user has not paid for more, in this second */
		uint64_t since_ns;
	} processes[MAPPING_SHARES_PROCESSES];
	uint64_t left_out;  /* events so far */
	VEC(pid_t) partial; /* processes of whose events some were left out */
};

/* Returns whether an event of a process's mappings, at `time_ns`, is to be applied. */
bool mapping_shares_take(struct mapping_shares *shares, pid_t pid, double budget, uint64_t time_ns);

/* Notes that an event of a process was left out. */
void mapping_shares_leave_out(struct mapping_shares *shares, pid_t pid);

/* Takes a process that is to be read from /proc again now, from those of which an event was left
 * out. 0: there is none. */
pid_t mapping_shares_next(struct mapping_shares *shares, double budget, uint64_t now_ns);

/* Frees what it holds; a zeroed one is fine. */
void mapping_shares_fini(struct mapping_shares *shares);

#endif
