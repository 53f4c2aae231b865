/* SPDX-License-Identifier: MIT */
/* Growing arrays: the one step that every growing array shares. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Makes room for `need` elements of `size` bytes in *items, of which *cap fit. 0, or -ENOMEM with
 * the array unchanged. Grows by a half, so appending stays linear. */
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

/* A growing array of `type`, and making room for one more. Zeroed is empty. */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count, cap;                                                                 \
	}
#define VEC_RESERVE(v, more)                                                                       \
	vec_reserve((void **)&(v)->items, &(v)->cap, (v)->count + (more), sizeof(*(v)->items))

#endif
