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
extern __thread bool wrap_is_inside __attribute__((tls_model("initial-exec"))) PROBE_HIDDEN;

void wrap_sampled(const void *pointer, size_t size) PROBE_HIDDEN;
void wrap_freed(const void *pointer) PROBE_HIDDEN;

static inline bool wrap_is_heard(void)
{
	return __builtin_expect(probe_alloc_semaphore != 0, 0);
}

/* Before a block is given to the caller; it may be NULL. Functions that are called often ask
 * wrap_is_heard() first, so that their last call is a jump. */
static inline void *wrap_allocated(void *pointer, size_t size)
{
	if (wrap_is_heard() && pointer && sample_is_due(size))
		wrap_sampled(pointer, size);
	return pointer;
}

/* Before a block is given back: nobody else can have its address yet. */
static inline void wrap_before_free(const void *pointer)
{
	if (live_may_have(pointer))
		wrap_freed(pointer);
}

#endif
