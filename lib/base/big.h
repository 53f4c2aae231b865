/* SPDX-License-Identifier: MIT */
/*
 * Large arrays with random access: they are placed in huge pages, if the kernel has some.
 *
 * A recording's arrays are tens of megabytes each, and a report accesses several of them at random.
 * With pages of 4 KiB every page costs a fault and most accesses a TLB miss: together a fifth of a
 * report's time. The kernel takes the request as advice; without huge pages a report only takes
 * longer.
 */
#ifndef BASE_BIG_H
#define BASE_BIG_H

#include <stdint.h>
#include <sys/mman.h>

#include "base/vec.h"

#define BIG_BYTES (4u << 20) /* an array below this size would waste most of a huge page */
#define BIG_PAGE  4096u

/* Requests huge pages for the whole pages of an array (MADV_HUGEPAGE), if it has BIG_BYTES. */
static inline void big_advise(void *items, size_t bytes)
{
	uintptr_t from = ((uintptr_t)items + BIG_PAGE - 1) & ~(uintptr_t)(BIG_PAGE - 1);
	uintptr_t to = ((uintptr_t)items + bytes) & ~(uintptr_t)(BIG_PAGE - 1);

	if (items && bytes >= BIG_BYTES)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
}

/* Allocates `n` elements of `size` bytes each, not initialised; free() releases them. Returns NULL
 * if memory is short or the size overflows. */
static inline void *big_alloc(size_t n, size_t size)
{
	void *items = vec_alloc(n, size);

	big_advise(items, n * size);
	return items;
}

/* Does what big_alloc() does, with all bytes 0. */
static inline void *big_calloc(size_t n, size_t size)
{
	void *items = calloc(n, size);

	big_advise(items, n * size);
	return items;
}

/* Does what vec_reserve() does, and requests huge pages for an array that has grown. */
static inline int big_reserve(void **items, size_t *cap, size_t need, size_t size)
{
	size_t before = *cap;
	int err = vec_reserve(items, cap, need, size);

	if (err == 0 && *cap != before)
		big_advise(*items, *cap * size);
	return err;
}

/* VEC_RESERVE() for an array that may become large. */
#define BIG_RESERVE(v, more)                                                                       \
	big_reserve((void **)&(v)->items, &(v)->cap, (v)->count + (more), sizeof(*(v)->items))

/* VEC_GROW() for an array that may become large. */
#define BIG_GROW(items, cap, need) big_reserve((void **)&(items), &(cap), (need), sizeof(*(items)))

#endif
