/* SPDX-License-Identifier: MIT */
/*
 * What libraries have left when they were unloaded. A return address may then mean other code, so a
 * path is no longer known by its words if one of them lies in such a range. This library has a
 * dlclose() of its own, which compares the objects that are loaded before and after.
 *
 * The ranges are numbered, from 1, and the last ones are kept: a path notes which one it has seen
 * last (`epoch`), and is looked through for those since then. While a library is being unloaded, no
 * path is known, and none is made.
 */
#ifndef LIBSTACKMPI_UNLOAD_H
#define LIBSTACKMPI_UNLOAD_H

#include "table.h"

#define UNLOAD_RANGES                                                                              \
	64u /* that are kept; a path that has not been used for longer is walked again */

/* How many ranges there were, plus 1. */
extern uint32_t unload_epoch STACKMPI_HIDDEN;

extern uint32_t unload_under_way STACKMPI_HIDDEN; /* calls of dlclose() */

/* Returns whether no word of a path is in a range since the path's epoch, which becomes the
 * present one. To be called by the table's thread. */
bool unload_spares(struct stackd_call_path *path, const struct stackd_calls *calls) STACKMPI_HIDDEN;

/* Notes that an object has left a range of addresses. */
void unload_note(uint64_t begin, uint64_t end) STACKMPI_HIDDEN;

/* Calls dlclose() for a library that others hold, too: it stays. */
int unload_release(void *library) STACKMPI_HIDDEN;

/* In the child of a fork, nobody else unloads. */
void unload_begin_anew(void) STACKMPI_HIDDEN;

/* Returns whether the words of a path mean what they did. */
static inline bool unload_is_current(struct stackd_call_path *path,
				     const struct stackd_calls *calls)
{
	return __builtin_expect(path->epoch == __atomic_load_n(&unload_epoch, __ATOMIC_ACQUIRE),
				1) ||
	       unload_spares(path, calls);
}

#endif
