/* SPDX-License-Identifier: MIT */
/*
 * Python's global interpreter lock (GIL), which a thread has while it runs Python.
 *
 * CPython keeps it in _PyRuntime: two conditions with their mutexes. Nothing else in there is a
 * futex: all other locks are blocks of their own, and their words are outside. So a thread that
 * waits for a futex in _PyRuntime waits for the GIL, whether or not the file has names of its
 * functions. A GIL of an interpreter's own (3.12 and later) is in a block, and is not recognised.
 */
#ifndef RECORDER_GIL_H
#define RECORDER_GIL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/tables/tables.h"
#include "proc/mapping_set.h"

#define GIL_REASON "[GIL]" /* why a thread waited, as a frame at the leaf of its path */

/* Returns whether a futex is the GIL's, by the mappings of its process (NULL: none) and what is
 * known of their files. */
bool gil_has(const struct tables *tables, const struct mapping_set *mappings, uint64_t futex);

#endif
