/* SPDX-License-Identifier: MIT */
/*
 * The addresses of sampled blocks that have not been freed: few among many. free() asks of every
 * block whether it is one, so the usual answer is a load from a filter of 64 KiB, a counter for
 * each hash of an address, and takes no lock. Behind it is the set itself, in 256 parts, each with
 * a lock that is taken for samples and for one in some hundred other blocks (a GiB of live blocks
 * at the default distance has 2,000 sampled ones, which take 3 % of the counters).
 *
 * Instead of this, sampled blocks could lie in a range of their own, or have a header: both would
 * need an allocator of our own beneath the program's. bench/alloc_pair measures what the filter
 * costs.
 */
#ifndef LIBSTACKALLOC_LIVE_H
#define LIBSTACKALLOC_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "probe.h"

#define LIVE_FILTER_BITS 16

extern _Atomic uint8_t live_filter[1u << LIVE_FILTER_BITS] PROBE_HIDDEN;

/* Blocks of the set; one more if free() has other blocks to look at, for good: live_watch(). */
extern _Atomic uint32_t live_count PROBE_HIDDEN;

/* Whether free() has anything to look at. */
static inline bool live_has_any(void)
{
	return __builtin_expect(atomic_load_explicit(&live_count, memory_order_relaxed) != 0, 0);
}

void live_watch(void) PROBE_HIDDEN;

/* Blocks are aligned to 16 bytes at least; the upper bits of the product depend on all others. */
static inline uint64_t live_hash(const void *pointer)
{
	return ((uintptr_t)pointer >> 4) * 0x9e3779b97f4a7c15u;
}

/* Whether the block can be one of the set. */
static inline bool live_may_have(const void *pointer)
{
	uint64_t at = live_hash(pointer) >> (64 - LIVE_FILTER_BITS);

	return __builtin_expect(atomic_load_explicit(&live_filter[at], memory_order_relaxed) != 0,
				0);
}

/* Adds a block that is not known to anybody else yet. Returns false for lack of memory. */
bool live_add(const void *pointer) PROBE_HIDDEN;

/* Takes a block out, if it is one of the set, and returns whether it was. */
bool live_remove(const void *pointer) PROBE_HIDDEN;

/* The same in two steps, for realloc(), which frees only if it succeeds: live_hold() returns
 * whether the block is of the set, and if it is, keeps other threads from adding a block of that
 * address until live_release(), which takes it out if `is_freed`. */
bool live_hold(const void *pointer) PROBE_HIDDEN;
void live_release(const void *pointer, bool is_freed) PROBE_HIDDEN;

/* Forgets all, and all locks: for the child of a fork, in which one thread is left. */
void live_forget(void) PROBE_HIDDEN;

#endif
