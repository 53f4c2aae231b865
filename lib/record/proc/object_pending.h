/* SPDX-License-Identifier: MIT */
/* Mappings of files that cannot be read yet, since their copies are being made, or their file
 * systems do not answer, or since there are too many of a user's (struct elf_opener); they are
 * resolved again later. Only object.c includes
 * this. */
#ifndef PROC_OBJECT_PENDING_H
#define PROC_OBJECT_PENDING_H

#include <stdbool.h>

#include "base/vec.h"
#include "proc/object.h"

#define OBJECT_PENDING_MOST	4096 /* further mappings are not resolved again; half for one user */
#define OBJECT_PENDING_AT_ONCE	64   /* so many are resolved again in one go */
#define OBJECT_PENDING_PAUSE_NS UINT64_C(60000000000) /* between two attempts, after a failure */

struct object_pending { /* zeroed is empty */
	VEC(struct pending_mapping {
		pid_t pid;
		struct object_mapping mapping; /* its path and build-id are owned */
		const struct object *object;   /* what it was resolved to */
		uid_t user;		       /* of the process; -1: not known */
		bool has_failed;	       /* else it waits for its copy */
		uint64_t due_ns;	       /* of one that has failed; 0: not yet chosen */
	})
	all; /* a queue, whose first one is `first` */
	size_t first;
	pid_t full;    /* a process for whose mappings there was no room lately; 0: none */
	size_t left;   /* mappings that are still to be looked at */
	bool has_news; /* these looks are also at those that wait for their copies */
};

/* Returns whether a file that could not be read for this reason is resolved again later. */
bool object_pending_is_due(int err);

/* Returns whether a process's mapping is in the list. */
bool object_pending_has(const struct object_pending *pending, pid_t pid,
			const struct object_mapping *m);

/* Adds a copy of a mapping of a process below `proc_root`, which could not be read because of
 * `err`, and was resolved to `object`, unless it is there already. Without room or memory it does
 * nothing. */
void object_pending_add(struct object_pending *pending, const char *proc_root, pid_t pid,
			const struct object_mapping *m, const struct object *object, int err);

/* Begins to look at all mappings, by object_pending_take(). `has_news`: copies have become
 * complete, or cannot be made. */
void object_pending_begin(struct object_pending *pending, bool has_news);

/* Takes the next mapping out of the list that is to be resolved again: one that waits for its copy,
 * if there are news, or one that failed a while ago. The caller frees it by
 * object_pending_free_one(). false: all mappings have been looked at. */
bool object_pending_take(struct object_pending *pending, uint64_t now_ns,
			 struct pending_mapping *ret_one);

/* Frees what a mapping of the list owns. */
void object_pending_free_one(struct pending_mapping *one);
void object_pending_fini(struct object_pending *pending);

#endif
