/* SPDX-License-Identifier: MIT */
/* The functions of C that allocate and free, for LD_PRELOAD; see wrap.h. */
#define _GNU_SOURCE
#include "wrap.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "next.h"

#define EXPORT __attribute__((visibility("default")))

__thread bool wrap_is_inside;

/* --- samples ---------------------------------------------------------------------------------- */

__attribute__((noinline, cold)) void wrap_sampled(const void *pointer, size_t size)
{
	uint64_t weight = wrap_is_inside ? 0 : sample_take(size);

	/* A block that cannot be remembered would seem to live for ever. */
	if (weight && live_add(pointer))
		probe_alloc(pointer, size, weight);
}

__attribute__((noinline, cold)) void wrap_freed(const void *pointer)
{
	if (!wrap_is_inside && live_remove(pointer))
		probe_free(pointer);
}

/* The block's address may become another thread's as soon as realloc() has freed it, but cannot be
 * sampled again before it is released here: listeners hear of both in order. */
__attribute__((noinline, cold)) static void *realloc_sampled(void *pointer, size_t size)
{
	void *moved;
	bool is_freed;

	wrap_is_inside = true;
	moved = next.realloc(pointer, size);
	wrap_is_inside = false;
	is_freed = moved || size == 0;
	if (is_freed)
		probe_free(pointer);
	live_release(pointer, is_freed);
	return moved;
}

/* --- the functions ---------------------------------------------------------------------------- */

EXPORT void *malloc(size_t size)
{
	if (!wrap_is_heard())
		return next.malloc(size);
	return wrap_allocated(next.malloc(size), size);
}

EXPORT void free(void *pointer)
{
	wrap_before_free(pointer);
	if (!next_is_early(pointer))
		next.free(pointer);
}

EXPORT void *calloc(size_t n, size_t size)
{
	if (!wrap_is_heard())
		return next.calloc(n, size);
	return wrap_allocated(next.calloc(n, size), n * size);
}

EXPORT void *realloc(void *pointer, size_t size)
{
	void *moved;

	if (next_is_early(pointer))
		return NULL; /* of the dynamic linker, which takes it for lack of memory */
	if (live_may_have(pointer) && !wrap_is_inside && live_hold(pointer))
		moved = realloc_sampled(pointer, size);
	else
		moved = next.realloc(pointer, size);
	return wrap_allocated(moved, size);
}

EXPORT void *reallocarray(void *pointer, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(pointer, bytes);
}

EXPORT int posix_memalign(void **ret_pointer, size_t alignment, size_t size)
{
	int err = next.posix_memalign(ret_pointer, alignment, size);

	if (err == 0)
		wrap_allocated(*ret_pointer, size);
	return err;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return wrap_allocated(next.aligned_alloc(alignment, size), size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return wrap_allocated(next.memalign(alignment, size), size);
}

EXPORT void *valloc(size_t size)
{
	return wrap_allocated(next.valloc(size), size);
}

EXPORT void *pvalloc(size_t size)
{
	return wrap_allocated(next.pvalloc(size), size);
}

/* --- the process ------------------------------------------------------------------------------ */

static void begin_anew(void)
{
	live_forget();
	sample_begin_anew();
}

__attribute__((constructor)) static void begin(void)
{
	const char *bytes = getenv("STACKALLOC_BYTES");

	if (bytes)
		sample_set_distance(strtoull(bytes, NULL, 10));
	pthread_atfork(NULL, NULL, begin_anew);
}
