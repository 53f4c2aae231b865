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

/* Returns the index for the path of a call for which path_find() found none, by which the kernel
 * half may fill it in: that of the same path as it was before, or a new one; STACKD_CALL_PATHS:
 * there is none left. */
uint32_t path_index(const struct call *call) STACKMPI_HIDDEN;

/* Takes a path that the kernel half may have filled in. Returns the path; NULL: it has not. */
struct stackd_call_path *path_take(const struct call *call, uint32_t index) STACKMPI_HIDDEN;

/* Returns whether a path is one of the table's generation: stackd knows what it stands for. */
static inline bool path_is_of(const struct stackd_call_path *path, const struct stackd_calls *calls)
{
	return path->generation == __atomic_load_n(&calls->generation, __ATOMIC_RELAXED);
}

#endif
