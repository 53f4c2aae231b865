/* SPDX-License-Identifier: MIT */
/*
 * The frame that stands for the middle of a stack that was too deep to be walked to its end: how
 * much of the stack is left out, in MiB. Below it, where a path begins, is the thread's entry, if
 * an earlier walk has come to it: a thread has one all its life.
 *
 *   start_thread ─ [37 MiB of stack left out] ─ f ─ g ─ f ─ ... ─ leaf
 */
#ifndef MODEL_LEFT_OUT_H
#define MODEL_LEFT_OUT_H

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

/* Finds the object of the frame for so many bytes, or makes it. 0 or -ENOMEM. */
int left_out_find(struct left_out *left_out, struct object_table *objects, uint64_t bytes,
		  const struct object **ret_object);

#endif
