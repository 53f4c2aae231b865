/* SPDX-License-Identifier: MIT */
/* Mappings of files that cannot be read yet, since their copies are being made, or their file
 * systems do not answer (struct elf_opener); they are resolved again later. Only object.c includes
 * this. */
#ifndef PROC_OBJECT_PENDING_H
#define PROC_OBJECT_PENDING_H

#include <stdbool.h>

#include "base/vec.h"
#include "proc/object.h"

#define OBJECT_PENDING_MOST 4096 /* further mappings are resolved again later */

struct object_pending { /* zeroed is empty */
	VEC(struct pending_mapping {
		pid_t pid;
		struct object_mapping mapping; /* its path and build-id are owned */
		const struct object *object;   /* what it was resolved to */
		bool has_failed;	       /* it is resolved again less often */
	})
	all;
};

/* Returns whether a file that could not be read for this reason is resolved again later. */
bool object_pending_is_due(int err);

/* Adds a copy of a mapping, whose object has the reason, unless it is there already. Without room
 * or memory it does nothing. */
void object_pending_add(struct object_pending *pending, pid_t pid, const struct object_mapping *m,
			const struct object *object);

/* Frees what a mapping of the list owns. */
void object_pending_free_one(struct pending_mapping *one);
void object_pending_fini(struct object_pending *pending);

#endif
