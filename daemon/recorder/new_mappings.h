/* SPDX-License-Identifier: MIT */
/*
 * Keeps file mappings from perf's events, from the moment an event is read until the process table
 * applies it in the order of time.
 *
 * The kernel half sends every sample in a file that it does not know with a copy of the stack,
 * until the daemon has given it the file's number. The process table learns of a mapping a quarter
 * of a second after its event, so all samples of a new program, or of many short ones, would carry
 * a copy for that long. With this table the daemon knows the mapping at once. The caller must check
 * by the file itself that the object is the file that the kernel half has found.
 */
#ifndef RECORDER_NEW_MAPPINGS_H
#define RECORDER_NEW_MAPPINGS_H

#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"

#define NEW_MAPPINGS_KEPT 1024 /* a power of two; a newer one takes the place of an older one */

struct new_mappings { /* zeroed is empty */
	struct {
		const struct object *object; /* NULL: none */
		uint64_t start, offset;
		pid_t pid;
	} kept[NEW_MAPPINGS_KEPT];
};

/* Keeps a mapping whose event has just been read, and the mapped object, which must live as long as
 * `mappings`. */
void new_mappings_add(struct new_mappings *mappings, pid_t pid,
		      const struct object_mapping *mapping, const struct object *object);

/* Returns the object that a process has mapped at address `start` from file offset `offset` on, by
 * the last such event that is kept; NULL: there is none. */
const struct object *new_mappings_find(const struct new_mappings *mappings, pid_t pid,
				       uint64_t start, uint64_t offset);

#endif
