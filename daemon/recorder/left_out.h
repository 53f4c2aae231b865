/* SPDX-License-Identifier: MIT */
/*
 * The frame that stands for the middle of a stack that was too deep to be walked to its end. It
 * says how many MiB of the stack are left out. The path begins with the thread's entry even so, if
 * an earlier walk has reached it: a thread has one entry all its life.
 *
 *   start_thread ─ [37 MiB of stack left out] ─ f ─ g ─ f ─ ... ─ leaf
 */
#ifndef RECORDER_LEFT_OUT_H
#define RECORDER_LEFT_OUT_H

#include <stdint.h>

#include "proc/object.h"

#define LEFT_OUT_SIZES 256 /* different sizes; samples with further ones show no size */

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
