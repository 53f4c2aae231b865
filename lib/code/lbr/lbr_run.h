/* SPDX-License-Identifier: MIT */
/*
 * The state of one reconstruction, and the state of a thread that is kept from one sample to the
 * next. Only used in lib/code/lbr.
 */
#ifndef LBR_LBR_RUN_H
#define LBR_LBR_RUN_H

#include "lbr/lbr.h"

/* A frame that is kept to be compared with the thread's next sample. */
struct callflow_step {
	uint64_t address, slot;
	struct lbr_entry entry; /* from == 0: the frame has no entry */
	int position;		/* index of that entry in the processor's ring; -1: not known */
	bool is_return;
};

struct lbr_run {
	const struct lbr_input *in;
	struct lbr_frame *frames;    /* leaf first */
	struct callflow_step *steps; /* by frame */
	size_t n, max;
	size_t next;	 /* first entry that was not used yet */
	bool met_signal; /* the walk went through a signal's frame */
	bool must_walk;	 /* the last frame is not from the walk, so the walk must continue from
			  * it */
};

struct lbr_thread;

/* Returns the kept state of a thread, and makes it for a new thread; NULL: no memory. */
struct lbr_thread *lbr_thread_of(struct lbr *lbr, pid_t tid);

/* Returns memory for LBR_MAX_FRAMES steps. Only one run may use it at a time. */
struct callflow_step *lbr_scratch(struct lbr *lbr);

/* Extends a path that ended early, for the reason `end`, by the frames that the thread's previous
 * sample had beyond the path's last frame. `in_order`: no entry of the ring was left out. Returns
 * the reason why the path now ends. */
enum stackd_end_reason lbr_thread_continue(const struct lbr_thread *thread, struct lbr_run *run,
					   enum stackd_end_reason end, bool in_order);

/* Keeps the path, so that the thread's next sample can continue with it. Returns 0 or -ENOMEM. */
int lbr_thread_remember(struct lbr_thread *thread, const struct lbr_run *run,
			enum stackd_end_reason end);

#endif
