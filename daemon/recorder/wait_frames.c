/* SPDX-License-Identifier: MIT */
/* Keeps a table of objects by kind and name; see wait_frames.h. */
#include "daemon/recorder/wait_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "proc/object_id.h"

struct frame {
	char *name;
	const struct object *object;
	UT_hash_handle hh;
};

struct wait_frames {
	struct object_table *objects;
	struct frame *frames[2]; /* reasons; other frames */
	uint32_t count[WAIT_FRAME_KINDS];
};

int wait_frames_new(struct object_table *objects, struct wait_frames **ret_frames)
{
	struct wait_frames *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->objects = objects;
	*ret_frames = f;
	return 0;
}

void wait_frames_free(struct wait_frames *f)
{
	for (int i = 0; f && i < 2; i++) {
		struct frame *frame, *next;

		HASH_ITER (hh, f->frames[i], frame, next) {
			HASH_DEL(f->frames[i], frame);
			free(frame->name);
			free(frame);
		}
	}
	free(f);
}

static bool has_room(const struct wait_frames *f, enum wait_frame kind)
{
	static const uint32_t most[WAIT_FRAME_KINDS] = {
		[WAIT_FRAME_REASON] = UINT32_MAX,
		[WAIT_FRAME_LASTING] = WAIT_FRAMES_LASTING,
		[WAIT_FRAME_PASSING] = WAIT_FRAMES_PASSING,
	};

	return f->count[kind] < most[kind];
}

/* Makes the object of a frame. If a thread waited for it, it gets another file id than the file of
 * that path, so that the two are not taken for one. 0 or -ENOMEM. */
static int make_object(struct wait_frames *f, enum wait_frame kind, const char *name,
		       const struct object **ret_object)
{
	struct object object = {.kind = OBJECT_MARK, .path = (char *)name};

	if (kind != WAIT_FRAME_REASON) {
		object.kind = OBJECT_AWAITED;
		object.file_id = object_next_id(object_hash_text(name));
	}
	return object_table_add(f->objects, &object, ret_object);
}

static int add(struct wait_frames *f, enum wait_frame kind, const char *name,
	       const struct object **ret_object)
{
	struct frame **frames = &f->frames[kind != WAIT_FRAME_REASON];
	struct frame *frame = calloc(1, sizeof(*frame));

	if (frame)
		frame->name = strdup(name);
	if (!frame || !frame->name || make_object(f, kind, name, &frame->object)) {
		free(frame ? frame->name : NULL);
		free(frame);
		return -ENOMEM;
	}
	HASH_ADD_KEYPTR(hh, *frames, frame->name, strlen(frame->name), frame);
	f->count[kind]++;
	*ret_object = frame->object;
	return 0;
}

int wait_frames_find(struct wait_frames *f, enum wait_frame kind, const char *name,
		     const struct object **ret_object)
{
	struct frame *frame;

	HASH_FIND_STR(f->frames[kind != WAIT_FRAME_REASON], name, frame);
	if (frame) {
		*ret_object = frame->object;
		return 0;
	}
	if (has_room(f, kind))
		return add(f, kind, name, ret_object);
	/* One "[others]" may be added even though the table is full. */
	HASH_FIND_STR(f->frames[1], WAIT_FRAMES_OTHERS, frame);
	if (!frame)
		return add(f, kind, WAIT_FRAMES_OTHERS, ret_object);
	*ret_object = frame->object;
	return 0;
}
