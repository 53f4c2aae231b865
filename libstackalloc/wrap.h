/* SPDX-License-Identifier: MIT */
/*
 * What all wrappers do around the next function. While no profiler uses the probe, they only call
 * it. But free() looks for sampled blocks while there are any, so that the set stays right after
 * the last user has gone.
 */
#ifndef LIBSTACKALLOC_WRAP_H
#define LIBSTACKALLOC_WRAP_H

#include "live.h"
#include "probe.h"
#include "sample.h"

/* Set while the allocator may call a wrapper, whose allocations are then part of another call. */
extern __thread bool wrap_is_inside PROBE_HIDDEN;

/* Called once, when the next functions are known. */
void wrap_begin(void) PROBE_HIDDEN;

/* Takes a sample of a block that was due. If the allocation failed (NULL), only draws the distance
 * to the next sample. Returns the pointer. */
void *wrap_sampled(void *pointer, size_t size) PROBE_HIDDEN;

/* Call it before a block is freed that may be a sampled one: no other block can have its address
 * yet. */
void wrap_freed(const void *pointer) PROBE_HIDDEN;

static inline bool wrap_is_heard(void)
{
	return __builtin_expect(probe_alloc_semaphore != 0, 0);
}

/* Counts an allocation before it is made, so that wrappers end with a jump to the next function. If
 * it is due, its result has to go through wrap_sampled(). */
static inline bool wrap_is_due(size_t size)
{
	return wrap_is_heard() && sample_is_due(size);
}

#endif
