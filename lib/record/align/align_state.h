/* SPDX-License-Identifier: MIT */
/*
 * The state that the parts of alignment share: the samples, the evidence of a slice of them (the
 * samples that are aligned together), and the links (inferred frames, each with the link of its
 * caller).
 *
 *   align.c         the public functions
 *   order.c         sorts samples by stack and time, and cuts them into slices whose evidence fits
 *                   into the processor's caches: the time is linear in the samples
 *   collect.c       collects the evidence of a slice: history, call edges, majorities
 *   infer_caller.c  infers the caller of a frame at a moment
 *   donor.c         finds complete samples that can supply the path of a partial one
 *   accept.c        the rules by which infer_caller.c and donor.c accept or reject
 *   complete.c      completes samples: links callers until the entry, or until none is accepted
 */
#ifndef ALIGN_ALIGN_STATE_H
#define ALIGN_ALIGN_STATE_H

#include "align/align.h"
#include "align/call_edges.h"
#include "align/history.h"
#include "align/majority.h"
#include "align/union_find.h"
#include "align/window_filter.h"

/* limit of the number of samples and of frames; exclusive */
#define ALIGN_MAX (UINT32_C(1) << 30)

struct align_entry {
	struct align_sample s;
	uint64_t time;
	uint32_t stack, program;
	uint32_t rank;	/* number of the sample among those of its stack, ordered by time, from 1 */
	uint32_t keys;	/* index in `frame_keys` of the history key of its first frame */
	bool has_entry; /* The first of its own frames is the thread's entry. */
};

struct align {
	VEC(struct align_entry) samples;
	VEC(struct align_frame) frames;
	uint32_t *order; /* sample numbers by stack, then time */

	/* The evidence of the current slice. */
	struct history history;
	/* for each frame of the slice's samples, in the order of samples: the index in `history` of
	 * the key of this frame (history.h) */
	VEC(uint32_t) frame_keys;
	/* for each interval (complete.c), the inferred caller: index of a link, ALIGN_NONE (not
	 * inferred yet) or LINKS_... */
	VEC(uint32_t) intervals;
	struct window_filter window; /* frames of the samples around the current one */
	struct majority
		majority;	 /* votes for the most frequent caller of each frame in a program */
	bool has_one_stack;	 /* All samples of the slice are of one stack. */
	bool is_mostly_complete; /* Most samples are complete: partial ones are failed walks. */

	struct call_edges call_edges;
	VEC(struct align_link) links;
	struct union_find chains;   /* joins links into chains, and finds rings */
	struct int_map donor_links; /* frame number of a donor -> link */
	uint64_t donor_budget;	    /* work that the search for donors may still do */
	/* intervals whose links have no caller yet: join() in complete.c gives them one */
	VEC(uint32_t) pending;
};

/* The samples order[from .. to) are aligned together. Those before `done` were completed with the
 * slice before, and those from `end` on will be completed with the next slice. */
struct align_slice {
	size_t from, to, done, end;
};

/* Sorts the samples and numbers their ranks. Returns 0 or -ENOMEM. */
int order_run(struct align *align);

/* Returns the slice that follows another one; the first one follows a zeroed slice. */
struct align_slice order_slice(const struct align *align, const struct align_slice *before);

/* Collects the evidence of a slice. Returns 0 or -ENOMEM. */
int collect_slice(struct align *align, const struct align_slice *slice);

/* Completes the samples of a slice whose evidence was collected. Returns 0 or -ENOMEM. */
int complete_slice(struct align *align, const struct align_slice *slice);

/* Values in place of a link's index. UNKNOWN: no caller was accepted. ENTRY: the frame is the
 * thread's entry. */
#define LINKS_UNKNOWN (UINT32_MAX - 1)
#define LINKS_ENTRY   (UINT32_MAX - 2)

/* Adds a link without a caller; it is the last of `links`. Returns 0 or -ENOMEM. */
int links_add(struct align *align, const struct align_frame *frame);

/* Links a frame to its caller, unless that would close a ring. */
void links_join(struct align *align, uint32_t callee, uint32_t caller);

/* observations and frames that the searches for donors may compare, for each sample */
#define DONOR_BUDGET 256u

/* Searches donors for the partial sample order[position]. On entry, `*link` is the result of
 * inference by single callers. If donors have an accepted path, `*link` becomes the link of the
 * path's first caller; if the best path is rejected, LINKS_UNKNOWN; otherwise it stays. Returns 0
 * or -ENOMEM. */
int donor_search(struct align *align, size_t position, uint32_t *link);

/* A frame whose caller is to be inferred. */
struct infer_query {
	uint32_t stack, program, rank;
	uint32_t symbol, height;
	uint32_t key; /* index of the frame's key in the history */
	struct history_neighbours neighbours;
};

struct infer_result {
	struct align_frame caller;
	bool is_known; /* A caller was accepted, or the frame is the thread's entry (`is_entry`). */
	bool is_entry; /* The frame is the thread's entry, so there is no caller. */
};

/* Infers the caller of a frame. */
struct infer_result infer_caller(const struct align *align, const struct infer_query *query);

#endif
