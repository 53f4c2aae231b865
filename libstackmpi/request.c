/* SPDX-License-Identifier: MIT */
/* Keeps requests in a hash table of small sets, each with a lock; see request.h. */
#include "request.h"

#include <string.h>
#include <time.h>

#define SETS	   2048u /* a power of two */
#define ENTRIES	   8u
#define MOST_SPINS 100000u

/* The number of this process among those that have begun with a fork of the last one. What a set
 * has of another process does not count, its lock neither: so a fork clears nothing. */
static uint32_t process = 1;

static struct set {
	uint32_t lock;	  /* `process`: it is locked */
	uint32_t process; /* whose entries it has */
	struct request entries[ENTRIES];
} sets[SETS];

static struct set *set_of(uint64_t handle)
{
	return &sets[(handle * 0x9e3779b97f4a7c15u >> 40) & (SETS - 1)];
}

static bool take_lock(struct set *set)
{
	uint32_t seen = __atomic_load_n(&set->lock, __ATOMIC_RELAXED);

	return seen != process && __atomic_compare_exchange_n(&set->lock, &seen, process, false,
							      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool lock(struct set *set)
{
	for (unsigned i = 0; !take_lock(set); i++) {
		if (i == MOST_SPINS)
			return false;
	}
	if (set->process != process) {
		memset(set->entries, 0, sizeof(set->entries));
		__atomic_store_n(&set->process, process, __ATOMIC_RELAXED);
	}
	return true;
}

static void unlock(struct set *set)
{
	__atomic_store_n(&set->lock, 0, __ATOMIC_RELEASE);
}

static struct request *entry_of(struct set *set, uint64_t handle, uint32_t kind)
{
	for (unsigned i = 0; i < ENTRIES; i++) {
		struct request *r = &set->entries[i];

		if (r->kind == kind && (!kind || r->handle == handle))
			return r;
	}
	return NULL;
}

bool request_keep(const struct request *request)
{
	struct set *set = set_of(request->handle);
	struct request *entry;

	if (!lock(set))
		return false;
	entry = entry_of(set, request->handle, request->kind);
	if (!entry)
		entry = entry_of(set, 0, 0);
	if (entry)
		*entry = *request;
	unlock(set);
	return entry != NULL;
}

struct request *request_hold(uint64_t handle, enum request_kind kind)
{
	struct set *set = set_of(handle);
	struct request *entry;

	if (!lock(set))
		return NULL;
	entry = entry_of(set, handle, kind);
	if (!entry)
		unlock(set);
	return entry;
}

void request_release(struct request *held, bool removes)
{
	if (removes)
		held->kind = 0;
	unlock(set_of(held->handle));
}

bool request_find(uint64_t handle, enum request_kind kind, bool takes, struct request *ret_request)
{
	struct request *entry = request_hold(handle, kind);

	if (!entry)
		return false;
	*ret_request = *entry;
	request_release(entry, takes);
	return true;
}

/* Waits as long as another thread has the set. It sleeps, since that thread's priority may be a
 * lower one. */
static void lock_surely(struct set *set)
{
	static const struct timespec pause = {.tv_nsec = 50000};

	while (!lock(set))
		nanosleep(&pause, NULL);
}

void request_forget(const struct stackd_calls *calls)
{
	for (struct set *set = sets; set < sets + SETS; set++) {
		/* What this thread has kept is in sets of this process. */
		if (__atomic_load_n(&set->process, __ATOMIC_RELAXED) != process)
			continue;
		lock_surely(set);
		for (unsigned i = 0; i < ENTRIES; i++) {
			struct request *r = &set->entries[i];

			if (r->kind == REQUEST_POSTED && r->calls == calls)
				r->kind = 0;
		}
		unlock(set);
	}
}

void request_forget_all(void)
{
	process++;
}
