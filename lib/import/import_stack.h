/* SPDX-License-Identifier: MIT */
/*
 * The frames of a sample, from whatever the recording has of them; see import.h for the order.
 */
#ifndef IMPORT_IMPORT_STACK_H
#define IMPORT_IMPORT_STACK_H

#include "import/import_world.h"
#include "stack/origin.h"
#include "stackd_abi.h"

struct import_stack;

struct import_stack_frames {
	const struct import_frame *frames; /* leaf first; until the next sample */
	size_t count;
	enum stackd_end_reason end;
	uint32_t origin; /* number */
	size_t stale;	 /* branch records that were of no frame */
};

/* All are borrowed. 0 or -ENOMEM. */
int import_stack_new(const struct perfdata *reader, struct import_world *world,
		     struct origin_table *origins, struct import_stack **ret_stack);
void import_stack_free(struct import_stack *stack);

/* What ends a thread's past: to be told of each record that is no sample. */
void import_stack_event(struct import_stack *stack, const struct perfdata_record *record);

/* 0 or -ENOMEM. */
int import_stack_take(struct import_stack *stack, const struct perfdata_record *record,
		      struct import_stack_frames *ret_frames);

/* What a user should know of a recording of such samples, or "". */
const char *import_stack_note(const struct perfdata_event *event);

#endif
