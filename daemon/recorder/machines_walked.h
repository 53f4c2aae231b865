/* SPDX-License-Identifier: MIT */
/*
 * Names of managed frames in walks that the kernel half has made: it walks the code of some
 * runtimes itself (Erlang's), and sends addresses of code that was made.
 */
#ifndef RECORDER_MACHINES_WALKED_H
#define RECORDER_MACHINES_WALKED_H

#include <stdbool.h>

#include "daemon/recorder/machines.h"
#include "daemon/recorder/managed.h"
#include "daemon/recorder/thread_paths.h"
#include "proc/object.h"
#include "stack/location.h"
#include "stackd_abi.h"

/* Returns whether a record has frames that the kernel half has walked. */
bool machines_walked_has(const struct stackd_header *record);

/* Reads what the frames of such a record will be found by, as machines_note() does for stacks: as
 * soon as the record is read. `has_heights`: records have heights of frames. 0 or -ENOMEM. */
int machines_walked_note(struct machines *machines, const struct stackd_header *record,
			 bool has_heights);

struct machines_walked_names { /* all borrowed */
	struct managed *managed;
	struct location_table *locations;
	const struct object_table *objects;
};

/* Replaces the frames of code that was made by managed frames, one by one. Frames that are not
 * proven stay. 0 or -ENOMEM. */
int machines_walked_name(struct machines *machines, const struct machines_walked_names *names,
			 const struct stackd_header *record, struct path *path);

#endif
