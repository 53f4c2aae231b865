/* SPDX-License-Identifier: MIT */
/*
 * Makes the frame that stands for the middle of a stack which was too deep to be walked to its end.
 * It says how many MiB of the stack are left out. If an earlier walk has reached the thread's
 * entry, the path begins with that entry even so, because a thread has the same entry all its life.
 *
 *   start_thread ─ [37 MiB of stack left out] ─ f ─ g ─ f ─ ... ─ leaf
 */
#ifndef RECORDER_LEFT_OUT_H
#define RECORDER_LEFT_OUT_H

#include <stdint.h>

#include "proc/object.h"

#define LEFT_OUT_SIZES 256 /* most different sizes; frames for further ones show no size */

struct left_out { /* zeroed is empty */
	struct {
		uint64_t mib;
		const struct object *object;
	} sizes[LEFT_OUT_SIZES + 1];
	uint32_t count;
};

/* Finds, or makes, the object of the frame that leaves out `bytes`. 0 or -ENOMEM. */
int left_out_find(struct left_out *left_out, struct object_table *objects, uint64_t bytes,
		  const struct object **ret_object);

#endif
