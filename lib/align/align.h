/* SPDX-License-Identifier: MIT */
/*
 * Alignment: call paths from segments, the top frames of stacks, after the idea of Servat et al.,
 * "Bio-inspired call-stack reconstruction" (2016), whose own two steps are in align/paper.h.
 *
 * A sample that does not begin at its thread's entry is open: its first frame's caller is not
 * known. Another sample of the thread that saw the same frame with a caller can lend it, with
 * all that lies below. What "the same frame" means decides how often that is right. The paper
 * has the routine alone; here a frame is also known by its height, the distance from the stack's
 * end to the frame's end (its CFA, where its callee-independent part is fixed): a routine at one
 * height is, from one sample to the next, nearly always the same call, and in a recursion each
 * level has a height of its own. Without heights it is the routine, as in the paper.
 *
 *   time ─►        j          i          k
 *   leaf           f          g          h
 *                  ...        ...        ...
 *               ┌─ x at 400   x at 400   x at 400 ─┐      i is open below x; the last sample
 *               │  y at 464      ?       y at 464  │      before it and the first after it that
 *               │  main                  main      │      saw x with a caller are j and k: they
 *               └──────── agree ───────────────────┘      agree, so i has their y and main
 *
 * Both neighbours in time are asked. Where they agree the call was, all but certainly, there all
 * the time between. Where they do not, or there is only one, what the frame's history says is
 * weighed, and silence is better than a guess: each loan has a confidence, and one below the
 * threshold is not made.
 *
 * One caller is lent at a time, and the caller's own caller is then asked for at the same moment:
 * what lies further down changes less often, and has later news. All samples between two sightings
 * of a frame share the answer, so each answer is worked out once: the whole is linear in the
 * number of frames, whatever the depth of the stacks. (The paper moves all earlier samples at each
 * insertion.) A weighted union-find holds how many frames a link's frame is above the group's
 * lowest one: it refuses what would close a ring, which a recursion without heights can ask for.
 * Groups end at the thread's entry, or at a frame that nobody saw with a caller: that is the
 * group's pivot, and what hangs on it is aligned, but not whole.
 *
 * Where most samples are whole, and one's walk failed, more than its first frame tells: whole
 * samples that had the same frame with the same calls above it, in this or another thread of the
 * program, are its witnesses, the more so if they share what the whole samples next in time have at
 * the bottom (witness.c). What they tell goes before what single frames do.
 *
 * Every lent frame was observed, with its height if that is known, as the caller of the next.
 */
#ifndef ALIGN_ALIGN_H
#define ALIGN_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct align_frame {
	uint32_t id;	 /* the caller's own: a location */
	uint32_t symbol; /* the routine */
	uint32_t height; /* bytes from the stack's end to the frame's end; 0: not known */
};

#define ALIGN_NONE    UINT32_MAX
#define ALIGN_CERTAIN 10000 /* confidence is in hundredths of a percent */

struct align;

/* `threshold`: the confidence below which nothing is lent. 0 or -ENOMEM. */
int align_new(uint32_t threshold, struct align **ret_align);
void align_free(struct align *align);

/* Adds a sample: its frames, root first (at least one), are copied. `stack` is the thread's, whose
 * frames follow each other in time; `program` is what several may run, which do alike then.
 * `is_whole`: the first frame is the
 * thread's entry. Samples are numbered from 0; their order does not matter.
 * 0; -ENOMEM; -EINVAL: no frame; -EOVERFLOW: 2^30 samples or frames. */
int align_add(struct align *align, uint32_t stack, uint32_t program, uint64_t time,
	      const struct align_frame *frames, uint32_t n_frames, bool is_whole);

/* Aligns all samples that were added. Once. 0 or -ENOMEM. */
int align_run(struct align *align);

struct align_sample {
	uint32_t first, n_frames; /* its own frames' numbers */
	uint32_t below;		  /* the link with the first one's caller; ALIGN_NONE: not known */
	uint32_t n_lent;	  /* links from there on */
	uint32_t confidence;	  /* of the least sure one of them */
	bool is_whole;		  /* with what was lent, it begins at the entry */
};

/* A frame that was lent, to all samples that link to it. */
struct align_link {
	struct align_frame frame;
	uint32_t below;	     /* the link with its caller; ALIGN_NONE */
	uint32_t level;	     /* links below it */
	uint32_t confidence; /* of this one alone */
	uint32_t path;	     /* of the least sure one of this and all below */
	bool is_whole;	     /* the last one below is the entry */
};

uint32_t align_count(const struct align *align);
/* The n-th sample, from 0, of those ordered by stack, then time. */
uint32_t align_ordered(const struct align *align, uint32_t n);
uint32_t align_stack(const struct align *align, uint32_t sample);
const struct align_sample *align_sample(const struct align *align, uint32_t sample);
const struct align_frame *align_frame(const struct align *align, uint32_t frame);
const struct align_link *align_link(const struct align *align, uint32_t link);

#endif
