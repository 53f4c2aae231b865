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
	uint32_t rank;	/* number among the samples of its stack by time, from 1 */
	uint32_t keys;	/* where the history keys of its frames begin in `frame_keys` */
	bool has_entry; /* Its first own frame is the thread's entry. */
};

struct align {
	VEC(struct align_entry) samples;
	VEC(struct align_frame) frames;
	uint32_t *order; /* sample numbers by stack, then time */

	/* The evidence of the current slice. */
	struct history history;
	VEC(uint32_t) frame_keys;    /* by frame, in order of samples: its key in the history */
	VEC(uint32_t) intervals;     /* see complete.c: a link, ALIGN_NONE or LINKS_... */
	struct window_filter window; /* around the current sample */
	struct majority majority;
	bool has_one_stack;
	bool is_mostly_complete; /* Partial samples are walks that failed, not segments. */

	struct call_edges call_edges;
	VEC(struct align_link) links;
	struct union_find chains;   /* of links */
	struct int_map donor_links; /* frame number of a donor -> link */
	uint64_t donor_budget;	    /* work that the search for donors may still do */
	VEC(uint32_t) pending;	    /* intervals whose links wait for their callers */
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

/* Values in place of a link: there is none, or the frame is the thread's entry. */
#define LINKS_UNKNOWN (UINT32_MAX - 1)
#define LINKS_ENTRY   (UINT32_MAX - 2)

/* Adds a link without a caller; it is the last of `links`. Returns 0 or -ENOMEM. */
int links_add(struct align *align, const struct align_frame *frame);

/* Links a frame to its caller, unless that would close a ring. */
void links_join(struct align *align, uint32_t callee, uint32_t caller);

#define DONOR_BUDGET 256u /* observations and frames that are compared, per sample */

/* Searches donors for the partial sample order[position]. `*link` is what the sample would be
 * linked to without them; it is replaced if donors have an accepted path, or by LINKS_UNKNOWN if
 * the best path is rejected. Returns 0 or -ENOMEM. */
int donor_search(struct align *align, size_t position, uint32_t *link);

/* A frame whose caller is to be inferred. */
struct infer_query {
	uint32_t stack, program, rank;
	uint32_t symbol, height;
	uint32_t key; /* in the history */
	struct history_neighbours neighbours;
};

struct infer_result {
	struct align_frame caller;
	bool is_known; /* A caller was accepted, or the frame is the thread's entry. */
	bool is_entry; /* The frame is the thread's entry, so there is no caller. */
};

/* Infers the caller of a frame. */
struct infer_result infer_caller(const struct align *align, const struct infer_query *query);

#endif
