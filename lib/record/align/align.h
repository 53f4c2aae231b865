/* SPDX-License-Identifier: MIT */
/*
 * Alignment: infers the missing callers of partial call paths from the other samples of a program.
 *
 * The idea is that of Servat et al., "Bio-inspired call-stack reconstruction for performance
 * analysis" (2016): segments, the top frames of stacks, are aligned progressively with each other
 * like sequences in bioinformatics, and gaps are filled with the frames of their neighbours. Its
 * own two steps are in tests/unit/servat.h.
 *
 * A sample that does not begin at its thread's entry is partial: the caller of its first frame is
 * not known. Another sample of the thread that has the same frame with a caller can supply it, and
 * all callers below it. What "the same frame" means decides how often that is right. The paper
 * compares functions alone; here a frame is also known by its height, the bytes from the stack's
 * end to the frame's end (its CFA). A function at one height is, from one sample to the next,
 * nearly always the same call, and each level of a recursion has a height of its own. Without
 * heights the function alone is compared, as in the paper.
 *
 *   time ─►        j          i          k
 *   leaf           f          g          h
 *                  ...        ...        ...
 *               ┌─ x at 400   x at 400   x at 400 ─┐      i is partial below x. The last sample
 *               │  y at 464      ?       y at 464  │      before it and the first one after it
 *               │  main                  main      │      that have x with a caller are j and k.
 *               └──────── agree ───────────────────┘      They agree, so i gets their y and main.
 *
 * Where both neighbours (the nearest samples in time that have the frame with a caller) agree, the
 * call almost certainly lasted all the time between them. Where they do not, or there is only one
 * neighbour, the history of the frame decides; a missing frame is preferred to a wrong one
 * (accept.h).
 *
 * One caller is inferred at a time, and then that caller's own caller at the same moment: frames
 * near the root change less often and have other neighbours. All samples between two observations
 * of a frame share the answer, so each is worked out once: the time is linear in the number of
 * frames, whatever the depth of the stacks. (The paper moves all earlier samples at each
 * insertion.) A weighted union-find of the inferred frames refuses a caller that would close a ring
 * of callers: without heights, a recursion can suggest one. Chains end at the thread's entry, or at
 * a frame that no sample has with a caller: such a sample stays partial.
 *
 * Where most samples are complete, because partial ones are walks that failed, more than the first
 * frame is compared: complete samples that have the same frame with the same callees above it, in
 * this or another thread of the program, are donors of complete paths (donor.c). Their paths take
 * precedence over single callers.
 *
 * Every inferred frame was observed, with its height if that is known, as the caller of the next.
 */
#ifndef ALIGN_ALIGN_H
#define ALIGN_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct align_frame {
	uint32_t id;	 /* the location, by the user's number */
	uint32_t symbol; /* the function */
	uint32_t height; /* bytes from the stack's end to the frame's end; 0 if unknown */
};

#define ALIGN_NONE UINT32_MAX

struct align;

/* Creates an alignment without samples. Returns 0 or -ENOMEM. */
int align_new(struct align **ret_align);

/* Frees an alignment; NULL is allowed. */
void align_free(struct align *align);

/* Adds a sample with its frames, root first; they are copied. Samples of one `stack`, a thread's,
 * are compared in order of `time`, whatever its unit; those of one `program`, which several stacks
 * may run, supply evidence for each other. `is_complete` says that the first frame is the thread's
 * entry. Samples are numbered from 0 in the order in which they are added. Returns 0, -ENOMEM,
 * -EINVAL if there is no frame, or -EOVERFLOW at 2^30 samples or frames. */
int align_add(struct align *align, uint32_t stack, uint32_t program, uint64_t time,
	      const struct align_frame *frames, uint32_t n_frames, bool is_complete);

/* Aligns all samples that were added; it may be called once. Returns 0 or -ENOMEM. */
int align_run(struct align *align);

struct align_sample {
	uint32_t first, n_frames; /* indices of its own frames: [first, first + n_frames) */
	uint32_t caller;	  /* link of the first frame's caller; ALIGN_NONE if unknown */
	uint32_t n_inferred;	  /* length of the chain of links that begins with `caller` */
	/* The path, inferred frames included, begins at the thread's entry. */
	bool is_complete;
};

/* An inferred frame, which several samples may share. */
struct align_link {
	struct align_frame frame;
	uint32_t caller;    /* link of its caller; ALIGN_NONE if there is none */
	uint32_t n_callers; /* length of the chain that begins with `caller` */
	bool is_complete;   /* The chain of callers ends at the thread's entry. */
};

/* Returns the number of samples. */
uint32_t align_count(const struct align *align);

/* Returns the number of the n-th sample, from 0, in order of stack and then time; after
 * align_run(). */
uint32_t align_ordered(const struct align *align, uint32_t n);

/* Returns the stack of a sample. */
uint32_t align_stack(const struct align *align, uint32_t sample);

/* Returns a sample by its number. It lives until the next align_add(). */
const struct align_sample *align_sample(const struct align *align, uint32_t sample);

/* Returns a sample's own frame by its number. It lives until the next align_add(). */
const struct align_frame *align_frame(const struct align *align, uint32_t frame);

/* Returns an inferred frame by its number, after align_run(). It lives as long as `align`. */
const struct align_link *align_link(const struct align *align, uint32_t link);

#endif
