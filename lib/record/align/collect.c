/* SPDX-License-Identifier: MIT */
/*
 * Collects the evidence of a slice: the history of its frames, and from that the call edges and the
 * majorities.
 */
#include <errno.h>
#include <stdlib.h>

#include "align/align_state.h"

#define COLLECT_PREFETCH 4u /* prefetch() runs so many samples ahead */

/* --- the history ---------------------------------------------------------------------------- */

/* Adds the history keys of a sample's frames, and counts their observations. Only the first frame
 * of a partial sample has no known caller. */
static int collect_count(struct align *a, struct align_entry *e)
{
	int err = VEC_RESERVE(&a->frame_keys, e->s.n_frames);

	e->keys = (uint32_t)a->frame_keys.count;
	for (uint32_t i = 0; err == 0 && i < e->s.n_frames; i++) {
		const struct align_frame *f = &a->frames.items[e->s.first + i];

		err = history_count(&a->history, e->stack, f->symbol, f->height, i || e->has_entry,
				    &a->frame_keys.items[a->frame_keys.count++]);
	}
	return err;
}

static void collect_store(struct align *a, size_t position)
{
	const struct align_entry *e = &a->samples.items[a->order[position]];

	for (uint32_t i = !e->has_entry; i < e->s.n_frames; i++) {
		uint32_t key = a->frame_keys.items[e->keys + i];
		const struct align_frame *f = &a->frames.items[e->s.first + i], *caller = f - 1;
		struct history_observation o = {.rank_flags =
							e->rank * HISTORY_RANK | HISTORY_ENTRY};

		if (i) {
			o = (struct history_observation){e->rank * HISTORY_RANK, caller->id,
							 caller->symbol, caller->height};
			/* If the caller is the thread's entry, its height is 0 because the stack
			 * begins with it. */
			if (f->height > o.height && (o.height || (i == 1 && e->has_entry)))
				o.rank_flags |= HISTORY_HAS_DISTANCE;
		}
		history_store(&a->history, key, &o);
		a->history.keys.items[key].program = e->program;
		a->history.keys.items[key].base = (uint32_t)position - e->rank;
	}
}

/* Prefetches what collect_store() will write: the history keys of the sample's frames, or with
 * `is_observation`, when the keys are in the cache, the slots of their next observations. */
static void prefetch(const struct align *a, const struct align_entry *e, bool is_observation)
{
	for (uint32_t i = !e->has_entry; i < e->s.n_frames; i++) {
		uint32_t key = a->frame_keys.items[e->keys + i];
		const struct history_key *k = &a->history.keys.items[key];

		if (is_observation)
			__builtin_prefetch(&a->history.observations.items[k->first + k->count], 1);
		else
			__builtin_prefetch(k, 1);
	}
}

static int collect_history(struct align *a, const struct align_slice *slice)
{
	int err = 0;

	history_clear(&a->history);
	a->frame_keys.count = 0;
	for (size_t i = slice->from; err == 0 && i < slice->to; i++)
		err = collect_count(a, &a->samples.items[a->order[i]]);
	if (err == 0)
		err = history_allocate(&a->history);
	for (size_t i = slice->from; err == 0 && i < slice->to; i++) {
		size_t key = i + 2 * COLLECT_PREFETCH, observation = i + COLLECT_PREFETCH;

		if (key < slice->to)
			prefetch(a, &a->samples.items[a->order[key]], false);
		if (observation < slice->to)
			prefetch(a, &a->samples.items[a->order[observation]], true);
		collect_store(a, i);
	}
	return err;
}

/* --- call edges and majorities -------------------------------------------------------------- */

/* Handles `n` consecutive observations of a key that have the same caller. */
typedef int (*collect_run)(struct align *a, uint32_t key, const struct history_observation *first,
			   uint32_t n);

/* Calls `run` for each sequence of a key's consecutive observations that have the same caller, if
 * the distance of the two frames in bytes is known. */
static int collect_runs(struct align *a, uint32_t key, collect_run run)
{
	const struct history_key *k = &a->history.keys.items[key];
	const struct history_observation *o = &a->history.observations.items[k->first];
	int err = 0;

	for (uint32_t i = 0, from = 0; err == 0 && i < k->count; i++) {
		if (i + 1 < k->count && history_is_same(&o[i], &o[i + 1]))
			continue;
		if (o[from].rank_flags & HISTORY_HAS_DISTANCE)
			err = run(a, key, &o[from], i + 1 - from);
		from = i + 1;
	}
	return err;
}

static struct majority_caller collect_caller(const struct history_observation *o)
{
	return (struct majority_caller){o->id, o->symbol, o->height};
}

/* Gives this key (function and height, in one stack) an entry in the table of caller votes, and
 * links it to the keys of the same function and height in the program's other stacks. */
static int enter(struct align *a, struct history_key *k, uint32_t key)
{
	struct majority_key *m;

	if (majority_enter(&a->majority, k->program, k->symbol, k->height, a->has_one_stack,
			   &k->majority) < 0)
		return -ENOMEM;
	m = &a->majority.keys.items[k->majority];
	k->next_stack = m->newest;
	m->newest = key;
	return 0;
}

static int call(struct align *a, uint32_t key, const struct history_observation *o, uint32_t n)
{
	const struct majority_caller caller = collect_caller(o);
	struct history_key *k = &a->history.keys.items[key];

	if (k->majority == ALIGN_NONE && enter(a, k, key) < 0)
		return -ENOMEM;
	majority_vote(&a->majority, k->majority, &caller, n);
	return call_edges_add(&a->call_edges, k->symbol, o->id, o->symbol, k->height - o->height);
}

static int collect_majority(struct align *a, uint32_t key, const struct history_observation *o,
			    uint32_t n)
{
	const struct majority_caller caller = collect_caller(o);

	majority_count(&a->majority, a->history.keys.items[key].majority, &caller, n);
	return 0;
}

/* Counts in `n_changes` how often a key's caller changes. An observation whose two neighbours have
 * the same caller counts in `n_enclosed`, and also in `n_exceptions` if its own caller differs from
 * theirs. */
static void changes(struct align *a, struct history_key *k)
{
	const struct history_observation *o = &a->history.observations.items[k->first];

	for (uint32_t i = 1; i < k->count; i++) {
		bool is_change = !history_is_same(&o[i - 1], &o[i]);

		k->n_changes += is_change;
		if (i + 1 == k->count || !history_is_same(&o[i - 1], &o[i + 1]))
			continue;
		k->n_enclosed++;
		k->n_exceptions += is_change;
	}
}

static int collect_keys(struct align *a)
{
	uint32_t n_keys = (uint32_t)a->history.keys.count;
	int err = 0;

	majority_clear(&a->majority);
	for (uint32_t i = 0; err == 0 && i < n_keys; i++) {
		struct history_key *k = &a->history.keys.items[i];

		k->majority = ALIGN_NONE;
		k->next_stack = HISTORY_NONE;
		changes(a, k);
		err = collect_runs(a, i, call);
	}
	for (uint32_t i = 0; err == 0 && i < n_keys; i++)
		err = collect_runs(a, i, collect_majority);
	return err;
}

int collect_slice(struct align *a, const struct align_slice *slice)
{
	size_t n_complete = 0;
	int err;

	a->has_one_stack = a->samples.items[a->order[slice->from]].stack ==
			   a->samples.items[a->order[slice->to - 1]].stack;
	for (size_t i = slice->from; i < slice->to; i++)
		n_complete += a->samples.items[a->order[i]].has_entry;
	a->is_mostly_complete = n_complete > (slice->to - slice->from) / 2;
	err = collect_history(a, slice);
	return err == 0 ? collect_keys(a) : err;
}
