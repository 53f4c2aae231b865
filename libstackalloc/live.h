/* SPDX-License-Identifier: MIT */
/*
 * The addresses of sampled blocks that have not been freed: few among many. free() looks up every
 * block. For most blocks the answer is one load, without a lock, from a filter of 64 KiB, which has
 * a counter for each hash of an address. Behind the filter is the set, in 256 parts, each with a
 * lock. The lock is taken for sampled blocks, and for few others: a GiB of live blocks at the
 * default distance has 2,000 sampled ones. These use 3 % of the counters, so a lock is taken for
 * one in thirty other blocks.
 *
 * Rejected: sampled blocks in a separate range, or with a header. Both would need another allocator
 * beneath the program's. bench/alloc_pair measures what the filter costs.
 */
#ifndef LIBSTACKALLOC_LIVE_H
#define LIBSTACKALLOC_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "probe.h"

#define LIVE_FILTER_BITS 16

extern _Atomic uint8_t live_filter[1u << LIVE_FILTER_BITS] PROBE_HIDDEN;

/* Number of blocks in the set; from live_watch() on, one more, since free() then has to look for
 * other blocks too. */
extern _Atomic uint32_t live_count PROBE_HIDDEN;

/* Returns whether free() has to look up blocks. */
static inline bool live_has_any(void)
{
	return __builtin_expect(atomic_load_explicit(&live_count, memory_order_relaxed) != 0, 0);
}

void live_watch(void) PROBE_HIDDEN;

/* Blocks are aligned to 16 bytes at least. The upper bits of the product depend on all other
 * bits. */
static inline uint64_t live_hash(const void *pointer)
{
	return ((uintptr_t)pointer >> 4) * 0x9e3779b97f4a7c15u;
}

/* Returns whether the block may be in the set. */
static inline bool live_may_have(const void *pointer)
{
	uint64_t at = live_hash(pointer) >> (64 - LIVE_FILTER_BITS);

	return __builtin_expect(atomic_load_explicit(&live_filter[at], memory_order_relaxed) != 0,
				0);
}

/* Adds a block that no other thread knows yet. Returns false if memory is lacking. */
bool live_add(const void *pointer) PROBE_HIDDEN;

/* Removes a block, if it is in the set, and returns whether it was. */
bool live_remove(const void *pointer) PROBE_HIDDEN;

/* Does live_remove() in two steps, for realloc(), which frees only if it succeeds. live_hold()
 * returns whether the block is in the set. If it is, no other thread can add a block of that
 * address until live_release(), which removes the block if `is_freed`. */
bool live_hold(const void *pointer) PROBE_HIDDEN;
void live_release(const void *pointer, bool is_freed) PROBE_HIDDEN;

/* Drops all blocks and locks, for the child of a fork, in which only one thread is left. */
void live_forget(void) PROBE_HIDDEN;

#endif
