/* SPDX-License-Identifier: MIT */
/* Counts events by process in a table without chains, and by user; see mapping_shares.h. */
#include "daemon/recorder/mapping_shares.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "proc/proc_fs.h"

#define SECOND_NS INT64_C(1000000000)
#define BURST	  8192
#define PER_CORE  40000 /* less than half of what a core takes in a second */

/* The folder of a process belongs to its user, or to root if the process is not to be looked at:
 * then the longer way says whose it is. */
static uid_t user_of(pid_t pid)
{
	struct proc_fs_status status;
	struct stat folder;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (!stat(path, &folder) && folder.st_uid)
		return folder.st_uid;
	return proc_fs_status("/proc", pid, &status) ? (uid_t)-1 : status.uid;
}

static struct user_shares *users_of(struct mapping_shares *shares)
{
	shares->users.burst = BURST;
	shares->users.per_core = PER_CORE;
	return &shares->users;
}

bool mapping_shares_may_read(struct mapping_shares *shares, pid_t pid, double budget,
			     uint64_t now_ns, uid_t *ret_user)
{
	*ret_user = user_of(pid);
	return user_shares_has(users_of(shares), *ret_user, budget > 0 ? budget : 1, now_ns);
}

void mapping_shares_have_read(struct mapping_shares *shares, uid_t user, uint64_t cpu_ns,
			      double budget, uint64_t now_ns)
{
	user_shares_spend(users_of(shares), user, (double)cpu_ns / 1e9 * PER_CORE,
			  budget > 0 ? budget : 1, now_ns);
}

static size_t slot_number(pid_t pid)
{
	return hash_mix64((uint64_t)pid) & (MAPPING_SHARES_PROCESSES - 1);
}

/* A process that comes to a slot which others use does not get free events of its own, or processes
 * that alternate would never pay. */
static struct mapping_slot *slot_of(struct mapping_slot *slots, pid_t pid, unsigned n_free,
				    uint64_t time_ns)
{
	struct mapping_slot *slot = &slots[slot_number(pid)];

	/* An event of one CPU can be older than the last one of another. */
	if (!slot->since_ns || (int64_t)(time_ns - slot->since_ns) > SECOND_NS) {
		*slot = (struct mapping_slot){.pid = pid, .n = n_free, .since_ns = time_ns};
	} else if (slot->pid != pid) {
		slot->pid = pid;
		slot->told = 0;
		slot->is_refused = slot->refusals >= MAPPING_SHARES_REFUSALS;
	}
	return slot;
}

/* Takes one event off a slot, for which the user pays `n` at a time. */
static bool take(struct mapping_shares *shares, struct mapping_slot *slot, unsigned n,
		 double budget, uint64_t time_ns)
{
	if (!slot->n && !slot->is_refused) {
		slot->is_refused =
			!user_shares_take(users_of(shares), user_of(slot->pid), n, budget, time_ns);
		slot->refusals += slot->is_refused;
		slot->n = slot->is_refused ? 0 : n;
	}
	if (!slot->n)
		return false;
	slot->n--;
	return true;
}

bool mapping_shares_take(struct mapping_shares *shares, pid_t pid, double budget, uint64_t time_ns)
{
	struct mapping_slot *slot;

	if (!(budget > 0))
		return true;
	slot = slot_of(shares->in_ring, pid, MAPPING_SHARES_FREE, time_ns);
	return take(shares, slot, MAPPING_SHARES_FREE, budget, time_ns);
}

/* What one process has left of what its user has paid is the next one's in the slot. */
bool mapping_shares_pay(struct mapping_shares *shares, pid_t pid, double budget, uint64_t time_ns)
{
	struct mapping_slot *slot;

	if (!(budget > 0))
		return true;
	slot = slot_of(shares->applied, pid, 0, time_ns);
	return take(shares, slot, MAPPING_SHARES_AT_ONCE, budget, time_ns);
}

bool mapping_shares_is_first_refusal(struct mapping_shares *shares, pid_t pid, uint64_t drain)
{
	struct mapping_slot *slot = &shares->in_ring[slot_number(pid)];

	if (slot->pid == pid && slot->told == drain)
		return false;
	slot->told = drain;
	return true;
}
