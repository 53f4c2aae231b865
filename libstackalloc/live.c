/* SPDX-License-Identifier: MIT */
/* The set of sampled blocks; see live.h. A part is a hash table with linear probing. Its memory
 * comes from mmap(), since the allocator itself may be calling this. */
#include "live.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"

#define LIVE_PARTS 256u
#define LIVE_FIRST 512u /* slots of a new part: one page */
#define LIVE_SPINS 64

_Atomic uint8_t live_filter[1u << LIVE_FILTER_BITS];
_Atomic uint32_t live_count;
static bool live_is_watching;

static struct live_part {
	atomic_flag lock;
	uint32_t n_slots; /* a power of two; 0: none yet */
	uint32_t n_used;
	uintptr_t *slots; /* 0: free */
} live_parts[LIVE_PARTS];

/* --- locks ------------------------------------------------------------------------------------ */

static void live_lock(struct live_part *part)
{
	for (int i = 0; atomic_flag_test_and_set_explicit(&part->lock, memory_order_acquire); i++) {
		if (i % LIVE_SPINS == LIVE_SPINS - 1)
			sched_yield();
		else
			ARCH_PAUSE();
	}
}

static void live_unlock(struct live_part *part)
{
	atomic_flag_clear_explicit(&part->lock, memory_order_release);
}

static struct live_part *live_part(const void *pointer)
{
	return &live_parts[live_hash(pointer) >> 48 & (LIVE_PARTS - 1)];
}

/* --- the filter ------------------------------------------------------------------------------- */

/* A full counter stays full: its hash always gives a false alarm, but no block is missed. */
static void live_filter_add(const void *pointer)
{
	_Atomic uint8_t *counter = &live_filter[live_hash(pointer) >> (64 - LIVE_FILTER_BITS)];
	uint8_t old = atomic_load_explicit(counter, memory_order_relaxed);

	while (old < UINT8_MAX && !atomic_compare_exchange_weak(counter, &old, old + 1))
		;
}

static void live_filter_remove(const void *pointer)
{
	_Atomic uint8_t *counter = &live_filter[live_hash(pointer) >> (64 - LIVE_FILTER_BITS)];
	uint8_t old = atomic_load_explicit(counter, memory_order_relaxed);

	while (old < UINT8_MAX && !atomic_compare_exchange_weak(counter, &old, old - 1))
		;
}

/* --- a part ----------------------------------------------------------------------------------- */

/* Returns the slot where the address is, or where it belongs. It depends on bits of the hash that
 * choose neither the part nor the counter. There is always a free slot. */
static uint32_t live_find(const struct live_part *part, uintptr_t address)
{
	uint32_t at = (uint32_t)(live_hash((const void *)address) >> 20) & (part->n_slots - 1);

	while (part->slots[at] && part->slots[at] != address)
		at = (at + 1) & (part->n_slots - 1);
	return at;
}

/* Makes room for one more address, so that at most half of the slots are used. Returns false if
 * memory is lacking. */
static bool live_room(struct live_part *part)
{
	struct live_part old = *part;
	uint32_t n_slots = old.n_slots ? old.n_slots * 2 : LIVE_FIRST;
	void *slots;

	if (old.n_used < old.n_slots / 2)
		return true;
	slots = mmap(NULL, n_slots * sizeof(*old.slots), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return false;
	part->slots = slots;
	part->n_slots = n_slots;
	for (uint32_t i = 0; i < old.n_slots; i++) {
		if (old.slots[i])
			part->slots[live_find(part, old.slots[i])] = old.slots[i];
	}
	if (old.slots)
		munmap(old.slots, old.n_slots * sizeof(*old.slots));
	return true;
}

/* Empties a slot, and moves up those addresses behind it that would not be found any more. */
static void live_empty(struct live_part *part, uint32_t at)
{
	uint32_t mask = part->n_slots - 1;
	uintptr_t address;

	part->slots[at] = 0;
	for (uint32_t i = (at + 1) & mask; (address = part->slots[i]); i = (i + 1) & mask) {
		part->slots[i] = 0;
		part->slots[live_find(part, address)] = address;
	}
	part->n_used--;
}

/* --- the set ---------------------------------------------------------------------------------- */

bool live_add(const void *pointer)
{
	struct live_part *part = live_part(pointer);
	uint32_t at;
	bool has_room;

	live_lock(part);
	has_room = live_room(part);
	if (has_room) {
		at = live_find(part, (uintptr_t)pointer);
		/* The address is there already if its block was freed in a way that this library
		 * does not see. */
		if (!part->slots[at]) {
			part->slots[at] = (uintptr_t)pointer;
			part->n_used++;
			live_filter_add(pointer);
			atomic_fetch_add_explicit(&live_count, 1, memory_order_relaxed);
		}
	}
	live_unlock(part);
	return has_room;
}

bool live_hold(const void *pointer)
{
	struct live_part *part = live_part(pointer);

	live_lock(part);
	if (part->n_slots && part->slots[live_find(part, (uintptr_t)pointer)])
		return true;
	live_unlock(part);
	return false;
}

void live_release(const void *pointer, bool is_freed)
{
	struct live_part *part = live_part(pointer);

	if (is_freed) {
		live_empty(part, live_find(part, (uintptr_t)pointer));
		live_filter_remove(pointer);
		atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
	}
	live_unlock(part);
}

bool live_remove(const void *pointer)
{
	if (!live_hold(pointer))
		return false;
	live_release(pointer, true);
	return true;
}

void live_watch(void)
{
	if (!live_is_watching)
		atomic_fetch_add(&live_count, 1);
	live_is_watching = true;
}

void live_forget(void)
{
	for (uint32_t i = 0; i < LIVE_PARTS; i++) {
		struct live_part *part = &live_parts[i];

		/* Another thread may have been in the middle of replacing the slots. */
		if (part->slots && !atomic_flag_test_and_set(&part->lock))
			munmap(part->slots, part->n_slots * sizeof(*part->slots));
		*part = (struct live_part){.lock = ATOMIC_FLAG_INIT};
	}
	memset((void *)live_filter, 0, sizeof(live_filter));
	atomic_store(&live_count, live_is_watching);
}
