/* SPDX-License-Identifier: MIT */
/*
 * Completes partial samples.
 *
 * The caller of a frame is inferred from the frame's observations (history.h) just before and after
 * the sample's time. So all samples between two observations of a key get the same caller, which is
 * stored by interval: before the key's first observation, between two of them, or after the last.
 * The result is a link, whose own caller is inferred in the same way. Each partial sample takes the
 * chain of links that begins at its first frame's interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/accept.h"
#include "align/align_state.h"

#define COMPLETE_PREFETCH_KEY	      12u /* prefetch() runs so many samples ahead */
#define COMPLETE_PREFETCH_OBSERVATION 6u

/* --- links ---------------------------------------------------------------------------------- */

int links_add(struct align *a, const struct align_frame *frame)
{
	if (VEC_RESERVE(&a->links, 1) < 0 || union_find_add(&a->chains) < 0)
		return -ENOMEM;
	a->links.items[a->links.count++] =
		(struct align_link){.frame = *frame, .caller = ALIGN_NONE};
	return 0;
}

void links_join(struct align *a, uint32_t callee, uint32_t caller)
{
	struct align_link *link = &a->links.items[callee];
	const struct align_link *to = &a->links.items[caller];

	if (!union_find_join(&a->chains, callee, caller, 1))
		return;
	link->caller = caller;
	link->n_callers = to->n_callers + 1;
	link->is_complete = to->is_complete;
}

/* Returns the index in `intervals` of the interval before the observation at `position`. A key with
 * n observations has n + 1 intervals, so each earlier key adds one to the index. */
static uint32_t complete_interval(uint32_t key, uint32_t position)
{
	return position + key;
}

/* Stores the result of infer_caller() for an interval: LINKS_ENTRY, LINKS_UNKNOWN, or a new link,
 * which join() will link to its own caller. */
static int complete_store(struct align *a, uint32_t interval, const struct infer_result *result)
{
	a->intervals.items[interval] =
		result->is_known && result->is_entry ? LINKS_ENTRY : LINKS_UNKNOWN;
	if (!result->is_known || result->is_entry)
		return 0;
	if (VEC_RESERVE(&a->pending, 1) < 0 || links_add(a, &result->caller) < 0)
		return -ENOMEM;
	a->intervals.items[interval] = (uint32_t)a->links.count - 1;
	a->pending.items[a->pending.count++] = interval;
	return 0;
}

/* Links each pending link to its caller, from the root side on. The caller of the link nearest to
 * the root is the result of `interval`, or unknown if that is ALIGN_NONE. */
static void join(struct align *a, uint32_t interval)
{
	while (a->pending.count) {
		uint32_t callee = a->pending.items[--a->pending.count];
		uint32_t caller =
			interval == ALIGN_NONE ? LINKS_UNKNOWN : a->intervals.items[interval];

		if (caller == LINKS_ENTRY)
			a->links.items[a->intervals.items[callee]].is_complete = true;
		else if (caller != LINKS_UNKNOWN)
			links_join(a, a->intervals.items[callee], caller);
		interval = callee;
	}
}

/* Infers the caller of a frame, then that caller's caller, and so on, until a caller is unknown, is
 * the thread's entry, or was inferred before. `ret_interval` receives the interval of the first
 * caller. */
static int infer(struct align *a, struct infer_query *q, uint32_t *ret_interval)
{
	uint32_t first = ALIGN_NONE, interval;

	for (;;) {
		struct infer_result result;

		q->neighbours = history_find(&a->history, q->key, q->rank);
		interval = complete_interval(q->key, q->neighbours.position);
		if (first == ALIGN_NONE)
			first = interval;
		if (a->intervals.items[interval] != ALIGN_NONE)
			break;
		result = infer_caller(a, q);
		if (complete_store(a, interval, &result) < 0)
			return -ENOMEM;
		if (a->intervals.items[interval] >= LINKS_ENTRY)
			break;
		q->symbol = result.caller.symbol;
		q->height = result.caller.height;
		q->key = history_key(&a->history, q->stack, q->symbol, q->height);
		if (q->key == HISTORY_NONE) {
			interval = ALIGN_NONE;
			break;
		}
	}
	join(a, interval);
	*ret_interval = first;
	return 0;
}

/* --- samples -------------------------------------------------------------------------------- */

/* Gives a sample its inferred callers: the chain of links that begins with `link`, or none if that
 * is one of LINKS_.... */
static void take(const struct align *a, struct align_sample *s, uint32_t link)
{
	const struct align_link *l;

	if (link == LINKS_ENTRY)
		s->is_complete = true;
	if (link >= LINKS_ENTRY)
		return;
	l = &a->links.items[link];
	s->caller = link;
	s->n_inferred = l->n_callers + 1;
	s->is_complete = l->is_complete;
}

static int complete_sample(struct align *a, size_t position)
{
	struct align_entry *e = &a->samples.items[a->order[position]];
	const struct align_frame *f = &a->frames.items[e->s.first];
	struct infer_query q = {.stack = e->stack,
				.program = e->program,
				.rank = e->rank,
				.symbol = f->symbol,
				.height = f->height,
				.key = a->frame_keys.items[e->keys]};
	uint32_t interval, link;
	int err = infer(a, &q, &interval);

	if (err < 0)
		return err;
	link = a->intervals.items[interval];
	if (a->is_mostly_complete)
		err = donor_search(a, position, &link);
	if (err == 0)
		take(a, &e->s, link);
	return err;
}

/* Prefetches what later samples will need: the history key of the first frame of one, and for a
 * nearer sample, whose key is in the cache already, the observations and the interval. */
static void prefetch(const struct align *a, size_t position, size_t end)
{
	size_t next = position + COMPLETE_PREFETCH_KEY;

	if (next < end) {
		const struct align_entry *e = &a->samples.items[a->order[next]];

		history_prefetch_key(&a->history, a->frame_keys.items[e->keys]);
	}
	next = position + COMPLETE_PREFETCH_OBSERVATION;
	if (next < end) {
		const struct align_entry *e = &a->samples.items[a->order[next]];
		uint32_t key = a->frame_keys.items[e->keys];
		uint32_t cursor = history_prefetch_observation(&a->history, key);

		__builtin_prefetch(&a->intervals.items[complete_interval(key, cursor)]);
	}
}

/* Adds the frames of a sample that have a known caller to the window filter, or removes them. */
static void move_window(struct align *a, size_t position, bool is_added)
{
	const struct align_entry *e = &a->samples.items[a->order[position]];

	for (uint32_t i = !e->has_entry; i < e->s.n_frames; i++) {
		const struct align_frame *f = &a->frames.items[e->s.first + i];

		if (is_added)
			window_filter_add(&a->window, f->symbol, f->height);
		else
			window_filter_remove(&a->window, f->symbol, f->height);
	}
}

/* Completes the samples of the slice that belong to the stack of sample `from`, from there on.
 * `ret_to` receives the end of that stack's samples. */
static int complete_stack(struct align *a, const struct align_slice *slice, size_t from,
			  size_t *ret_to)
{
	uint32_t stack = a->samples.items[a->order[from]].stack;
	size_t low = from, high = from, i = from, n = slice->to;
	int err = 0;

	for (; err == 0 && i < n && a->samples.items[a->order[i]].stack == stack; i++) {
		struct align_entry *e = &a->samples.items[a->order[i]];

		for (; high < n && high <= i + ACCEPT_NEAR; high++) {
			if (a->samples.items[a->order[high]].stack != stack)
				break;
			move_window(a, high, true);
		}
		for (; low + ACCEPT_NEAR < i; low++)
			move_window(a, low, false);
		prefetch(a, i, n);
		a->donor_budget += DONOR_BUDGET;
		if (!e->has_entry && i >= slice->done && i < slice->end)
			err = complete_sample(a, i);
	}
	for (; low < high; low++)
		move_window(a, low, false);
	*ret_to = i;
	return err;
}

int complete_slice(struct align *a, const struct align_slice *slice)
{
	size_t n = a->history.observations.count + a->history.keys.count + 1;
	int err;

	a->intervals.count = 0;
	err = VEC_RESERVE(&a->intervals, n);
	if (err < 0)
		return err;
	memset(a->intervals.items, 0xff, n * sizeof(*a->intervals.items)); /* ALIGN_NONE */
	for (size_t i = slice->from; err == 0 && i < slice->to;)
		err = complete_stack(a, slice, i, &i);
	return err;
}
