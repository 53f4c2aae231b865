/* SPDX-License-Identifier: MIT */
/* Counts events by process in a table without chains, and by user; see mapping_shares.h. */
#include "daemon/recorder/mapping_shares.h"

#include "base/hash.h"
#include "proc/proc_fs.h"

#define SECOND_NS UINT64_C(1000000000)
#define BURST	  8192
#define PER_CORE  20000

static uid_t user_of(pid_t pid)
{
	struct proc_fs_status status;

	return proc_fs_status("/proc", pid, &status) ? (uid_t)-1 : status.uid;
}

static bool pay(struct mapping_shares *shares, pid_t pid, double budget, uint64_t now_ns)
{
	shares->users.burst = BURST;
	shares->users.per_core = PER_CORE;
	return user_shares_take(&shares->users, user_of(pid), MAPPING_SHARES_FREE, budget, now_ns);
}

bool mapping_shares_take(struct mapping_shares *shares, pid_t pid, double budget, uint64_t time_ns)
{
	const size_t slot = hash_mix64((uint64_t)pid) & (MAPPING_SHARES_PROCESSES - 1);
	const bool is_new = shares->processes[slot].pid != pid ||
			    time_ns - shares->processes[slot].since_ns > SECOND_NS;

	if (!(budget > 0))
		return true;
	if (is_new) {
		shares->processes[slot].pid = pid;
		shares->processes[slot].n = MAPPING_SHARES_FREE;
		shares->processes[slot].is_refused = false;
		shares->processes[slot].since_ns = time_ns;
	}
	if (!shares->processes[slot].n && !shares->processes[slot].is_refused) {
		shares->processes[slot].is_refused = !pay(shares, pid, budget, time_ns);
		shares->processes[slot].n =
			shares->processes[slot].is_refused ? 0 : MAPPING_SHARES_FREE;
	}
	if (!shares->processes[slot].n) {
		shares->left_out++;
		return false;
	}
	shares->processes[slot].n--;
	return true;
}

void mapping_shares_leave_out(struct mapping_shares *shares, pid_t pid)
{
	for (size_t i = 0; i < shares->partial.count; i++)
		if (shares->partial.items[i] == pid)
			return;
	if (shares->partial.count < MAPPING_SHARES_PARTIAL && !VEC_RESERVE(&shares->partial, 1))
		shares->partial.items[shares->partial.count++] = pid;
}

pid_t mapping_shares_next(struct mapping_shares *shares, double budget, uint64_t now_ns)
{
	for (size_t i = 0; i < shares->partial.count; i++) {
		const pid_t pid = shares->partial.items[i];

		if (!pay(shares, pid, budget, now_ns))
			continue;
		shares->partial.items[i] = shares->partial.items[--shares->partial.count];
		return pid;
	}
	return 0;
}

void mapping_shares_fini(struct mapping_shares *shares)
{
	free(shares->partial.items);
}
