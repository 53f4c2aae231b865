/* SPDX-License-Identifier: MIT */
/*
 * Finds the frames of a sample from the sources that the recording has; import.h has their order.
 */
#ifndef PERF_IMPORT_STACK_H
#define PERF_IMPORT_STACK_H

#include "perf/import_processes.h"
#include "stack/origin.h"
#include "stackd_abi.h"

struct import_stack;

struct import_stack_frames {
	const struct import_frame *frames; /* leaf first; valid until the next sample */
	size_t count;
	enum stackd_end_reason end;
	uint32_t origin; /* number in the origin table */
	size_t stale;	 /* branch records that belong to no frame */
};

/* Makes the state for finding frames. Borrows all three arguments until import_stack_free().
 * Returns 0 or -ENOMEM. */
int import_stack_new(const struct perfdata *reader, struct import_processes *processes,
		     struct origin_table *origins, struct import_stack **ret_stack);
void import_stack_free(struct import_stack *stack); /* accepts NULL */

/* Drops a thread's earlier branch records at its exec or exit. The caller must call it for every
 * record that is not a sample. */
void import_stack_event(struct import_stack *stack, const struct perfdata_record *record);

/* Finds the frames of a sample. *ret_frames points into `stack`, and is valid until the next call.
 * Returns 0 or -ENOMEM. */
int import_stack_take(struct import_stack *stack, const struct perfdata_record *record,
		      struct import_stack_frames *ret_frames);

/* The kinds of branch records that an event's samples have. */
enum import_branches {
	IMPORT_BRANCHES_NONE,
	IMPORT_BRANCHES_CALL_STACK, /* --call-graph lbr */
	IMPORT_BRANCHES_ANY,	    /* -b: replayed for the calls and returns among them */
	IMPORT_BRANCHES_SOME,	    /* filtered by kind: no call path can be derived from them */
};

/* Classifies an event by its sample and branch types. */
enum import_branches import_stack_branches(const struct perfdata_event *event);

/* Numbers of samples with IMPORT_BRANCHES_ANY. */
struct import_stack_counts {
	uint64_t replayed;     /* samples for which the kind of every branch was known */
	uint64_t unknown_code; /* samples for which the kind of a branch was unknown */
};

/* Returns the counts so far; they live as long as `stack`. */
const struct import_stack_counts *import_stack_counts(const struct import_stack *stack);

#endif
