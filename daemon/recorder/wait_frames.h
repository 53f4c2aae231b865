/* SPDX-License-Identifier: MIT */
/*
 * Makes the frames at the leaf end of a wait's call path, which are no code: why the thread waited,
 * what it waited for, and which thread held that. Each is an object with that name.
 *
 * Objects are kept as long as stackd runs, so the number of names is bounded. There is one bound
 * for lasting names ("/var/log/x") and one for passing names ("pipe:[45]"), which mean nothing once
 * the object is gone, so that passing names cannot use up the room of lasting ones. Beyond its
 * bound, a name becomes "[others]".
 */
#ifndef RECORDER_WAIT_FRAMES_H
#define RECORDER_WAIT_FRAMES_H

#include "proc/object.h"

enum wait_frame {
	WAIT_FRAME_REASON, /* why the thread waited; there are at most as many names as system calls
			    */
	WAIT_FRAME_LASTING, /* what the thread waited for, or who held that: lasting names */
	WAIT_FRAME_PASSING, /* as WAIT_FRAME_LASTING, but passing names */
	WAIT_FRAME_KINDS
};

#define WAIT_FRAMES_LASTING 4096
#define WAIT_FRAMES_PASSING 1024
#define WAIT_FRAMES_OTHERS  "[others]"

struct wait_frames;

/* `objects`: borrowed. 0 or -ENOMEM. */
int wait_frames_new(struct object_table *objects, struct wait_frames **ret_frames);
void wait_frames_free(struct wait_frames *frames); /* NULL is fine */

/* Finds the object of a frame, or makes it. 0 or -ENOMEM. */
int wait_frames_find(struct wait_frames *frames, enum wait_frame kind, const char *name,
		     const struct object **ret_object);

#endif
