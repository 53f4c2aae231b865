/* SPDX-License-Identifier: MIT */
/*
 * What the parts of alignment share: the samples, what was learned of them, and the links.
 *
 *   order.c     samples by stack, then time; and in slices, so that what is learned of one stays in
 *               the processor's caches, however many there are: all is linear in the samples
 *   learn.c     every frame's (stack, symbol, height) is a key of the history; from it the calls,
 *               and the census
 *   decide.c    who called a frame at a moment
 *   witness.c   what whole samples with the same frames tell
 *   links.c     frames that are lent
 *   complete.c  links: an open sample's first frame, then the caller that it got, and so on
 *   align.c     what is called from outside
 */
#ifndef ALIGN_PARTS_H
#define ALIGN_PARTS_H

#include "align/align.h"
#include "align/calls.h"
#include "align/census.h"
#include "align/history.h"
#include "align/near.h"
#include "align/offsets.h"

#define ALIGN_MOST (UINT32_C(1) << 30) /* samples, and frames: less than this */

struct align_entry {
	struct align_sample s;
	uint64_t time;
	uint32_t stack, program;
	uint32_t rank;	/* among the samples of its stack, by time, from 1 */
	uint32_t keys;	/* where its frames' keys are in the slice */
	bool has_entry; /* its first own frame is the thread's entry */
};

struct align {
	uint32_t threshold;
	VEC(struct align_entry) samples;
	VEC(struct align_frame) frames;
	uint32_t *order; /* samples by stack, then time */

	/* Of the slice at hand. */
	struct history history;
	VEC(uint32_t) key;  /* by frame, in order of samples: in the history */
	VEC(uint32_t) gaps; /* by gap: its link, ALIGN_NONE: not decided yet, or see complete.c */
	struct near near;   /* around the sample at hand */

	struct census census;
	bool is_alone;	      /* it has one stack */
	bool is_mostly_whole; /* its open samples are walks that failed, not segments */

	struct calls calls;
	VEC(struct align_link) links;
	struct offsets levels;	  /* of links */
	struct int_map told;	  /* frame's number -> index, of witnesses: */
	VEC(uint32_t) told_links; /* that frame's link */
	uint64_t credit;	  /* how much witnesses may cost: so much a sample */
	VEC(uint32_t) pending;	  /* gaps whose links wait for what is below them */
};

/* Samples that are aligned together: those of `order` from `from` up to `to`. Of these, the ones
 * before `done` are complete already, and those from `end` on are the next one's. */
struct align_slice {
	size_t from, to, done, end;
};

int order_run(struct align *align); /* 0 or -ENOMEM */
struct align_slice order_slice(const struct align *align, const struct align_slice *before);

int learn_slice(struct align *align, const struct align_slice *slice);	  /* 0 or -ENOMEM */
int complete_slice(struct align *align, const struct align_slice *slice); /* 0 or -ENOMEM */

/* Instead of a link: there is none; or the frame is the thread's entry. */
#define LINKS_OPEN  (UINT32_MAX - 1)
#define LINKS_ENTRY (UINT32_MAX - 2)

/* One more link, with nothing below. 0 or -ENOMEM. */
int links_add(struct align *align, const struct align_frame *frame, uint32_t confidence);
/* Hangs a link on the one with its caller, unless that closed a ring. */
void links_join(struct align *align, uint32_t above, uint32_t below);

#define WITNESS_CREDIT 256u /* sightings and frames that are looked at, for each sample */

/* Hears witnesses for the sample order[place], which is not whole. `*link`: what it would take;
 * changed if they tell better, or that it should take none. 0 or -ENOMEM. */
int witness_hear(struct align *align, size_t place, uint32_t *link);

/* A frame whose caller is asked for. */
struct align_question {
	uint32_t stack, program, rank;
	uint32_t symbol, height;
	uint32_t key;
	struct history_place sighted;
};

/* A frame's caller, as it was decided. */
struct align_answer {
	struct align_frame frame;
	uint32_t confidence; /* 0: nobody knows */
	bool is_entry;	     /* there is none: the frame is the thread's entry */
};

struct align_answer decide(struct align *align, const struct align_question *question);

/* Whether a frame was seen shortly before and after a rank, called by the same. */
bool decide_stood(const struct align *align, uint32_t stack, uint32_t rank, uint32_t symbol,
		  uint32_t height);

#endif
