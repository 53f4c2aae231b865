/* SPDX-License-Identifier: MIT */
/*
 * What all wrappers do around the function that they stand in front of. While nobody listens they
 * do no more than call it; free() also looks for sampled blocks while there are any, so that the
 * set of them stays true when a listener has gone.
 */
#ifndef LIBSTACKALLOC_WRAP_H
#define LIBSTACKALLOC_WRAP_H

#include "live.h"
#include "probe.h"
#include "sample.h"

/* Set while the allocator may call us back: what it does then is part of another call. */
extern __thread bool wrap_is_inside PROBE_HIDDEN;

/* Called once, when the functions behind are known. */
void wrap_begin(void) PROBE_HIDDEN;

/* Takes a sample of a block that was due, or of none if the allocation failed: then the distance to
 * the next sample is drawn anew. Returns the pointer. */
void *wrap_sampled(void *pointer, size_t size) PROBE_HIDDEN;

/* Before a block that may be a sampled one is given back: nobody else can have its address yet. */
void wrap_freed(const void *pointer) PROBE_HIDDEN;

static inline bool wrap_is_heard(void)
{
	return __builtin_expect(probe_alloc_semaphore != 0, 0);
}

/* Counts an allocation before it is made, so that functions end with a jump to the one behind. If
 * it is one to sample, its result goes through wrap_sampled(). */
static inline bool wrap_is_due(size_t size)
{
	return wrap_is_heard() && sample_is_due(size);
}

#endif
