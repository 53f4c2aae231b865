/* SPDX-License-Identifier: MIT */
/*
 * The frames of a sample, from whatever the recording has of them; see import.h for the order.
 */
#ifndef PERF_IMPORT_STACK_H
#define PERF_IMPORT_STACK_H

#include "perf/import_processes.h"
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
int import_stack_new(const struct perfdata *reader, struct import_processes *world,
		     struct origin_table *origins, struct import_stack **ret_stack);
void import_stack_free(struct import_stack *stack);

/* What ends a thread's past: to be told of each record that is no sample. */
void import_stack_event(struct import_stack *stack, const struct perfdata_record *record);

/* 0 or -ENOMEM. */
int import_stack_take(struct import_stack *stack, const struct perfdata_record *record,
		      struct import_stack_frames *ret_frames);

/* What the branch records of an event's samples are good for. */
enum import_branches {
	IMPORT_BRANCHES_NONE,
	IMPORT_BRANCHES_CALL_STACK, /* --call-graph lbr */
	IMPORT_BRANCHES_ANY,	    /* -b: replayed for the calls and returns among them */
	IMPORT_BRANCHES_SOME,	    /* some kinds alone: they say nothing of a call path */
};

enum import_branches import_stack_branches(const struct perfdata_event *event);

/* Samples with IMPORT_BRANCHES_ANY. */
struct import_stack_counts {
	uint64_t replayed;     /* what each branch is was known */
	uint64_t unknown_code; /* it was not, of one at least */
};

const struct import_stack_counts *import_stack_counts(const struct import_stack *stack);

#endif
