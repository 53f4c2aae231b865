/* SPDX-License-Identifier: MIT */
/* The functions of C that allocate and free, for LD_PRELOAD; see wrap.h. */
#include "wrap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/at_fork.h"
#include "next.h"

#define EXPORT __attribute__((visibility("default")))

__thread bool wrap_is_inside;

/* --- samples ---------------------------------------------------------------------------------- */

/* If the allocator itself calls a wrapper, only the outer call counts. */
__attribute__((noinline, cold)) void *wrap_sampled(void *pointer, size_t size)
{
	bool is_taken = pointer && !wrap_is_inside;
	uint64_t weight = sample_take(size, is_taken);
	int err = errno;
	/* A block that cannot be added to the set is not reported, since it would seem to live for
	 * ever. */
	bool is_told = weight && live_add(pointer);

	errno = err;
	return is_told ? probe_alloc(pointer, size, weight) : pointer;
}

__attribute__((noinline, cold)) void wrap_freed(const void *pointer)
{
	if (!wrap_is_inside && live_remove(pointer))
		probe_free(pointer);
}

/* As soon as realloc() has freed the block, another thread may get its address, but can add a
 * sample with that address only after it is released here, so the probes are hit in order. */
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
	return wrap_is_due(size) ? wrap_sampled(next.malloc(size), size) : next.malloc(size);
}

__attribute__((noinline, cold)) static void free_rare(void *pointer)
{
	wrap_freed(pointer);
	if (!next_is_early(pointer))
		next.free(pointer);
}

EXPORT void free(void *pointer)
{
	if (live_has_any() && (live_may_have(pointer) || next_is_early(pointer)))
		free_rare(pointer);
	else
		next.free(pointer);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return wrap_is_due(n * size) ? wrap_sampled(next.calloc(n, size), n * size)
				     : next.calloc(n, size);
}

EXPORT void *realloc(void *pointer, size_t size)
{
	bool is_due = wrap_is_due(size);
	void *moved;

	if (live_has_any() && next_is_early(pointer))
		moved = NULL; /* for the dynamic linker, which treats it as lack of memory */
	else if (live_has_any() && live_may_have(pointer) && !wrap_is_inside && live_hold(pointer))
		moved = realloc_sampled(pointer, size);
	else
		moved = next.realloc(pointer, size);
	return is_due ? wrap_sampled(moved, size) : moved;
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
	bool is_due = wrap_is_due(size);
	int err = next.posix_memalign(ret_pointer, alignment, size);

	if (is_due)
		wrap_sampled(err ? NULL : *ret_pointer, size);
	return err;
}

/* A function that is called rarely. */
#define ALIGNED(name, parameters, arguments)                                                       \
	EXPORT void *name parameters                                                               \
	{                                                                                          \
		return wrap_is_due(size) ? wrap_sampled(next.name arguments, size)                 \
					 : next.name arguments;                                    \
	}

ALIGNED(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
ALIGNED(memalign, (size_t alignment, size_t size), (alignment, size))
ALIGNED(valloc, (size_t size), (size))
ALIGNED(pvalloc, (size_t size), (size))

/* --- the process ------------------------------------------------------------------------------ */

static void begin_anew(void)
{
	live_forget();
	sample_begin_anew();
}

/* Handlers run in the order of their registration. This one precedes those of all users of
 * allocated memory, so none of these frees with a lock that another thread of the parent held. */
void wrap_begin(void)
{
	at_fork_in_child(begin_anew);
}
