/* SPDX-License-Identifier: MIT */
/* Keeps requests in a hash table of small sets, each with a lock; see request.h. */
#include "request.h"

#include <stdatomic.h>
#include <string.h>

#define SETS	   2048u /* a power of two */
#define ENTRIES	   8u
#define MOST_SPINS 100000u

static struct set {
	atomic_flag is_locked;
	struct request entries[ENTRIES];
} sets[SETS];

static struct set *set_of(uint64_t handle)
{
	return &sets[(handle * 0x9e3779b97f4a7c15u >> 40) & (SETS - 1)];
}

static bool lock(struct set *set)
{
	for (unsigned i = 0; i < MOST_SPINS; i++) {
		if (!atomic_flag_test_and_set_explicit(&set->is_locked, memory_order_acquire))
			return true;
	}
	return false;
}

static void unlock(struct set *set)
{
	atomic_flag_clear_explicit(&set->is_locked, memory_order_release);
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

bool request_find(uint64_t handle, enum request_kind kind, bool takes, struct request *ret_request)
{
	struct set *set = set_of(handle);
	struct request *entry;

	if (!lock(set))
		return false;
	entry = entry_of(set, handle, kind);
	if (entry) {
		*ret_request = *entry;
		entry->kind = takes ? 0 : entry->kind;
	}
	unlock(set);
	return entry != NULL;
}

void request_forget(const struct stackd_calls *calls)
{
	for (struct set *set = sets; set < sets + SETS; set++) {
		if (!lock(set))
			continue;
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
	memset(sets, 0, sizeof(sets));
}
