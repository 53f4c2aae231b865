/* SPDX-License-Identifier: MIT */
/*
 * The state that the parts of alignment share: samples, the evidence of a slice of them, and links.
 *
 *   align.c         the public functions
 *   order.c         sorts samples by stack and time, and cuts them into slices whose evidence fits
 *                   into the processor's caches: the time is linear in the samples
 *   collect.c       collects the evidence of a slice: history, call edges, majorities
 *   infer_caller.c  infers the caller of a frame at a moment
 *   donor.c         finds complete samples that can supply the path of a partial one
 *   accept.c        the rules that both obey
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

#define ALIGN_MAX (UINT32_C(1) << 30) /* samples, and frames: less than this */

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
	/* for each frame of the slice's samples, in order of samples: the index of its key in
	 * `history` */
	VEC(uint32_t) frame_keys;
	/* the inferred caller by interval (complete.c): a link, ALIGN_NONE (not inferred yet) or
	 * LINKS_... */
	VEC(uint32_t) intervals;
	struct window_filter window; /* frames of the samples around the current one */
	struct majority
		majority;	 /* votes for the most frequent caller of each frame in a program */
	bool has_one_stack;	 /* All samples of the slice are of one stack. */
	bool is_mostly_complete; /* Partial samples are walks that failed, not segments. */

	struct call_edges call_edges;
	VEC(struct align_link) links;
	struct union_find chains;   /* joins links into chains, and finds rings */
	struct int_map donor_links; /* frame number of a donor -> link */
	uint64_t donor_budget;	    /* work that the search for donors may still do */
	/* intervals whose links get their callers in complete.c, join() */
	VEC(uint32_t) pending;
};

/* The samples order[from .. to) are aligned together. Those before `done` are complete already, and
 * those from `end` on will be completed with the next slice. */
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

/* observations and frames that the search for donors may compare, per sample */
#define DONOR_BUDGET 256u

/* Searches donors for the partial sample order[position]. The caller passes in `*link` what
 * inference by single callers gave. If donors have an accepted path, `*link` becomes the link of
 * its first caller; if the best path is rejected, LINKS_UNKNOWN. Returns 0 or -ENOMEM. */
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
