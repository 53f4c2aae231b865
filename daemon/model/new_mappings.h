/* SPDX-License-Identifier: MIT */
/*
 * Keeps mappings of files from events that were read, until the process table takes them in the
 * order of time.
 *
 * A sample in a file that the kernel half does not know is sent with its stack, and so is each one
 * until the daemon has told the file's number. The process table learns of a mapping with its
 * event's turn, a quarter of a second later: a program that has just been started, or many short
 * ones, would be sent whole for that time. So mappings are kept here as soon as their events have
 * been read. Whether a file is the one that was met is to be proven by the file, not by this.
 */
#ifndef MODEL_NEW_MAPPINGS_H
#define MODEL_NEW_MAPPINGS_H

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

/* Takes the event of a mapping that has just been read, and the object that it is of, which must
 * stay as long as this. */
void new_mappings_add(struct new_mappings *mappings, pid_t pid,
		      const struct object_mapping *mapping, const struct object *object);

/* The object that a process has mapped last from an offset of its file on at an address, by the
 * events that were kept; NULL: none. */
const struct object *new_mappings_find(const struct new_mappings *mappings, pid_t pid,
				       uint64_t start, uint64_t offset);

#endif
