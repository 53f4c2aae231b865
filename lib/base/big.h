/* SPDX-License-Identifier: MIT */
/*
 * Large arrays that are looked at here and there: in huge pages, if the kernel has some.
 *
 * A recording's arrays are tens of megabytes each, and a report jumps about in several of them at
 * once. With pages of 4 KiB that is a fault for every page and a miss of the TLB for most steps:
 * together a fifth of a report's time. It is advice; without it all works, and takes longer.
 */
#ifndef BASE_BIG_H
#define BASE_BIG_H

#include <stdint.h>
#include <sys/mman.h>

#include "base/vec.h"

#define BIG_BYTES (4u << 20) /* below that a huge page would mostly be waste */
#define BIG_PAGE  4096u

/* Asks the kernel to back an array with huge pages, if it is large enough to gain from them. */
static inline void big_advise(void *items, size_t bytes)
{
	uintptr_t from = ((uintptr_t)items + BIG_PAGE - 1) & ~(uintptr_t)(BIG_PAGE - 1);
	uintptr_t to = ((uintptr_t)items + bytes) & ~(uintptr_t)(BIG_PAGE - 1);

	if (items && bytes >= BIG_BYTES)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
}

/* As malloc() and calloc() of n * size bytes; free() releases them. */
static inline void *big_alloc(size_t n, size_t size)
{
	void *items = vec_alloc(n, size);

	big_advise(items, n * size);
	return items;
}

/* calloc() of an array that may be large: huge pages are asked for. NULL for lack of memory. */
static inline void *big_calloc(size_t n, size_t size)
{
	void *items = calloc(n, size);

	big_advise(items, n * size);
	return items;
}

/* Grows an array to `need` items at least, as vec_reserve() does, on huge pages. 0 or -ENOMEM. */
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
