/* SPDX-License-Identifier: MIT */
/*
 * Restores frames that a sample's ring has lost from the thread's previous sample.
 *
 * By memory: a frame with the same slot and return address as in the previous sample, whose callee
 * has not moved either, is the same frame, so its callers are the same, too. By the ring: if the
 * oldest entry of a frame was the same call at the same index of the ring in the previous sample,
 * either it has not been popped since, or the same call was made again at the same depth. perf's
 * --stitch-lbr assumes this, too. Stitched frames are passed on from sample to sample as long as
 * each one joins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/vec.h"
#include "lbr/lbr_run.h"

struct lbr_thread {
	pid_t tid;
	struct callflow_step *steps; /* of the previous sample, leaf first; owned */
	struct lbr_frame *frames;    /* the same; owned */
	size_t n, cap_steps, cap_frames;
	enum stackd_end_reason end;
	UT_hash_handle hh;
};

struct lbr {
	struct lbr_thread *threads;
	struct callflow_step scratch[LBR_MAX_FRAMES];
};

int lbr_new(struct lbr **ret_lbr)
{
	struct lbr *lbr = calloc(1, sizeof(*lbr));

	if (!lbr)
		return -ENOMEM;
	*ret_lbr = lbr;
	return 0;
}

static void thread_free(struct lbr *lbr, struct lbr_thread *thread)
{
	HASH_DEL(lbr->threads, thread);
	free(thread->steps);
	free(thread->frames);
	free(thread);
}

void lbr_free(struct lbr *lbr)
{
	struct lbr_thread *thread, *next;

	if (!lbr)
		return;
	HASH_ITER (hh, lbr->threads, thread, next)
		thread_free(lbr, thread);
	free(lbr);
}

void lbr_forget(struct lbr *lbr, pid_t tid)
{
	struct lbr_thread *thread;

	HASH_FIND_INT(lbr->threads, &tid, thread);
	if (thread)
		thread_free(lbr, thread);
}

struct lbr_thread *lbr_thread_of(struct lbr *lbr, pid_t tid)
{
	struct lbr_thread *thread;

	HASH_FIND_INT(lbr->threads, &tid, thread);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	HASH_ADD_INT(lbr->threads, tid, thread);
	return thread;
}

struct callflow_step *lbr_scratch(struct lbr *lbr)
{
	return lbr->scratch;
}

/* --- continuing ------------------------------------------------------------------------------ */

static bool is_same_frame(const struct callflow_step *a, const struct callflow_step *b)
{
	return a->slot && a->slot == b->slot && a->address == b->address &&
	       a->is_return == b->is_return;
}

static bool is_same_entry(const struct callflow_step *a, const struct callflow_step *b)
{
	return a->position >= 0 && a->position == b->position && a->entry.from &&
	       a->entry.from == b->entry.from && a->entry.to == b->entry.to;
}

/* Returns the index of the frame of the previous sample that is the same as `step`; t->n: none. */
static size_t find_frame(const struct lbr_thread *t, const struct callflow_step *step)
{
	size_t i = 0;

	while (i < t->n && !is_same_frame(step, &t->steps[i]))
		i++;
	return i;
}

/* Returns the index of the frame of the previous sample whose call is the same at the same index of
 * the ring; t->n: none, or several, since the levels of a recursion deeper than the ring look
 * alike. */
static size_t find_entry(const struct lbr_thread *t, const struct callflow_step *step)
{
	size_t found = t->n;

	for (size_t i = 0; i < t->n; i++) {
		if (!is_same_entry(step, &t->steps[i]))
			continue;
		if (found < t->n)
			return t->n;
		found = i;
	}
	return found;
}

static enum stackd_end_reason append(const struct lbr_thread *t, size_t from, struct lbr_run *run,
				     enum frame_source source)
{
	for (size_t i = from; i < t->n; i++) {
		struct lbr_frame frame = t->frames[i];

		if (run->n >= run->max)
			return STACKD_END_TOO_DEEP;
		frame.source = source;
		frame.is_verified = false;
		run->frames[run->n] = frame;
		run->steps[run->n++] = t->steps[i];
	}
	return t->end;
}

enum stackd_end_reason lbr_thread_continue(const struct lbr_thread *t, struct lbr_run *run,
					   enum stackd_end_reason end, bool in_order)
{
	size_t at;

	if (!run->n)
		return end;
	at = find_frame(t, &run->steps[run->n - 1]);
	if (at < t->n)
		return append(t, at + 1, run, FRAME_SOURCE_PREFIX);
	if (!in_order || t->end != STACKD_END_ENTRY)
		return end;
	at = find_entry(t, &run->steps[run->n - 1]);
	return at < t->n ? append(t, at + 1, run, FRAME_SOURCE_STITCHED) : end;
}

int lbr_thread_remember(struct lbr_thread *t, const struct lbr_run *run, enum stackd_end_reason end)
{
	if (!run->in->n_entries && !run->in->n_walked)
		return 0; /* nothing is known of the thread's stack */
	t->n = 0;
	if (VEC_GROW(t->steps, t->cap_steps, run->n) < 0 ||
	    VEC_GROW(t->frames, t->cap_frames, run->n) < 0)
		return -ENOMEM;
	if (run->n) {
		memcpy(t->steps, run->steps, run->n * sizeof(*run->steps));
		memcpy(t->frames, run->frames, run->n * sizeof(*run->frames));
	}
	t->n = run->n;
	t->end = end;
	return 0;
}
