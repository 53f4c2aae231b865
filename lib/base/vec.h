/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays. Every array of the project that grows does it through vec_reserve().
 *
 * A VEC(type) keeps its items, their count and the capacity together. VEC_GROW() serves arrays to
 * which that form does not fit: the count is a uint32_t because the elements refer to each other by
 * 32-bit numbers, several arrays share one count, or the index of the next element is kept
 * elsewhere. vec_alloc() and vec_resize() serve arrays whose size is known exactly.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `need` elements of `size` bytes each in *items, which has room for *cap. Capacity
 * grows by a half at least, so that appending takes amortized constant time. New elements are not
 * initialised. The caller owns the array and frees it with free(). Returns 0, or -ENOMEM with the
 * array and *cap unchanged. */
static inline int vec_reserve(void **items, size_t *cap, size_t need, size_t size)
{
	size_t wanted = *cap + *cap / 2;
	void *grown;

	if (need <= *cap)
		return 0;
	if (wanted < need)
		wanted = need;
	if (wanted < 16)
		wanted = 16;
	grown = reallocarray(*items, wanted, size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*cap = wanted;
	return 0;
}

/* Does as vec_reserve(), and sets the bytes of all new elements to 0. */
static inline int vec_reserve_zeroed(void **items, size_t *cap, size_t need, size_t size)
{
	size_t before = *cap;
	int err = vec_reserve(items, cap, need, size);

	if (err == 0 && *cap > before)
		memset((char *)*items + before * size, 0, (*cap - before) * size);
	return err;
}

/* Changes the size of an array to exactly `n` elements, as realloc() does: new ones are not
 * initialised. Returns NULL, with the old array intact, if memory is short or the size overflows.
 */
static inline void *vec_resize(void *items, size_t n, size_t size)
{
	return reallocarray(items, n, size);
}

/* Allocates an array of `n` elements of `size` bytes each, not initialised; free() releases it.
 * Returns NULL if memory is short or the size overflows. */
static inline void *vec_alloc(size_t n, size_t size)
{
	return vec_resize(NULL, n, size);
}

/* A growing array of `type`; one filled with zeros is empty. The owner frees `items`. */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count, cap;                                                                 \
	}

/* Makes room for `more` elements behind the last of a VEC. Returns 0 or -ENOMEM. */
#define VEC_RESERVE(v, more)                                                                       \
	vec_reserve((void **)&(v)->items, &(v)->cap, (v)->count + (more), sizeof(*(v)->items))

/* Does what vec_reserve() does, for an array `items` whose capacity is the size_t `cap`. */
#define VEC_GROW(items, cap, need) vec_reserve((void **)&(items), &(cap), (need), sizeof(*(items)))

/* Does what vec_reserve_zeroed() does, for an array `items` whose capacity is the size_t `cap`. */
#define VEC_GROW_ZEROED(items, cap, need)                                                          \
	vec_reserve_zeroed((void **)&(items), &(cap), (need), sizeof(*(items)))

#endif
