/* SPDX-License-Identifier: MIT */
/*
 * Knows the path of a call again: the words of the stack that its walk has read (the slots of
 * return addresses, and of what frames were found by) are what they were. So the walk would find
 * the same (bpf/prefix.bpf.h says why that is exact). A path is looked up by the function, the slot
 * of the call's return address, and the return address.
 */
#ifndef LIBSTACKMPI_PATH_H
#define LIBSTACKMPI_PATH_H

#include "call.h"

/* Returns the path of a call; NULL: it is none of those that are known. */
struct stackd_call_path *path_find(const struct call *call) STACKMPI_HIDDEN;

/* Lets the kernel half walk the stack of a call whose path is not known: it sends the amounts of
 * `probe` with the path, at whose end is the function at `function`. `depth`: that of a named
 * region, from 1; else 0. If the path can be known again, the kernel half gives it back, and
 * call->path is set; with probe.path = STACKD_CALL_PATHS, it does not. */
void path_walk(struct call *call, uint64_t function, uint32_t depth,
	       struct stackd_call_probe probe) STACKMPI_HIDDEN;

/* Returns whether a path is one of the table's generation: stackd knows what it stands for. */
static inline bool path_is_of(const struct stackd_call_path *path, const struct stackd_calls *calls)
{
	return path->generation == __atomic_load_n(&calls->generation, __ATOMIC_RELAXED);
}

#endif
