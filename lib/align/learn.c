/* SPDX-License-Identifier: MIT */
/* What samples tell of each other: the history, and from it the calls and the census. */
#include <errno.h>
#include <stdlib.h>

#include "align/parts.h"

#define LEARN_AHEAD 4u /* samples */

/* Notes a sample's frames, and which have a caller: all but a first one that is no entry. */
static int learn_note(struct align *a, struct align_entry *e)
{
	int r = VEC_RESERVE(&a->key, e->s.n_frames);

	e->keys = (uint32_t)a->key.count;
	for (uint32_t i = 0; r == 0 && i < e->s.n_frames; i++) {
		const struct align_frame *f = &a->frames.items[e->s.first + i];

		r = history_note(&a->history, e->stack, f->symbol, f->height, i || e->has_entry,
				 &a->key.items[a->key.count++]);
	}
	return r;
}

static void learn_place(struct align *a, size_t place)
{
	const struct align_entry *e = &a->samples.items[a->order[place]];

	for (uint32_t i = !e->has_entry; i < e->s.n_frames; i++) {
		uint32_t key = a->key.items[e->keys + i];
		const struct align_frame *f = &a->frames.items[e->s.first + i], *caller = f - 1;
		struct history_sighting s = {.when = e->rank * HISTORY_RANK | HISTORY_ENTRY};

		if (i) {
			s = (struct history_sighting){e->rank * HISTORY_RANK, caller->id,
						      caller->symbol, caller->height};
			/* The entry's own height is not known: it is where the stack begins. */
			if (f->height > s.height && (s.height || (i == 1 && e->has_entry)))
				s.when |= HISTORY_CALL;
		}
		history_place(&a->history, key, &s);
		a->history.by_key.items[key].program = e->program;
		a->history.by_key.items[key].base = (uint32_t)place - e->rank;
	}
}

/* Has the memory brought near that learn_place() will write to. */
static void learn_foresee(const struct align *a, const struct align_entry *e, bool is_soon)
{
	for (uint32_t i = !e->has_entry; i < e->s.n_frames; i++) {
		uint32_t key = a->key.items[e->keys + i];
		const struct history_key *k = &a->history.by_key.items[key];

		if (is_soon)
			__builtin_prefetch(&a->history.sightings.items[k->first + k->count], 1);
		else
			__builtin_prefetch(k, 1);
	}
}

static void learn_place_all(struct align *a, const struct align_slice *slice)
{
	for (size_t i = slice->from; i < slice->to; i++) {
		if (i + 2 * LEARN_AHEAD < slice->to)
			learn_foresee(a, &a->samples.items[a->order[i + 2 * LEARN_AHEAD]], false);
		if (i + LEARN_AHEAD < slice->to)
			learn_foresee(a, &a->samples.items[a->order[i + LEARN_AHEAD]], true);
		learn_place(a, i);
	}
}

/* What a key's sightings tell, run by run of those that are alike. */
typedef int (*learn_each)(struct align *a, uint32_t key, const struct history_sighting *one,
			  uint32_t n);

static int learn_runs(struct align *a, uint32_t key, learn_each each)
{
	const struct history_key *k = &a->history.by_key.items[key];
	const struct history_sighting *s = &a->history.sightings.items[k->first];
	int r = 0;

	for (uint32_t i = 0, from = 0; r == 0 && i < k->count; i++) {
		if (i + 1 < k->count && history_same(&s[i], &s[i + 1]))
			continue;
		if (s[from].when & HISTORY_CALL)
			r = each(a, key, &s[from], i + 1 - from);
		from = i + 1;
	}
	return r;
}

static struct census_caller learn_caller(const struct history_sighting *s)
{
	return (struct census_caller){s->id, s->symbol, s->height};
}

/* Enters a key into the census, and into the list of those that are alike. */
static int learn_enter(struct align *a, uint32_t key)
{
	struct history_key *k = &a->history.by_key.items[key];
	struct census_key *c;

	if (census_enter(&a->census, k->program, k->symbol, k->height, a->is_alone, &k->census) < 0)
		return -ENOMEM;
	c = &a->census.by_key.items[k->census];
	k->alike = c->newest;
	c->newest = key;
	return 0;
}

static int learn_call(struct align *a, uint32_t key, const struct history_sighting *s, uint32_t n)
{
	const struct census_caller caller = learn_caller(s);
	const struct history_key *k = &a->history.by_key.items[key];

	if (k->census == ALIGN_NONE && learn_enter(a, key) < 0)
		return -ENOMEM;
	census_vote(&a->census, k->census, &caller, n);
	return calls_add(&a->calls, k->symbol, s->id, s->symbol, k->height - s->height);
}

static int learn_count(struct align *a, uint32_t key, const struct history_sighting *s, uint32_t n)
{
	const struct census_caller caller = learn_caller(s);

	census_count(&a->census, a->history.by_key.items[key].census, &caller, n);
	return 0;
}

/* How steady a key's caller is. */
static void learn_changes(struct align *a, struct history_key *k)
{
	const struct history_sighting *s = &a->history.sightings.items[k->first];

	for (uint32_t i = 1; i < k->count; i++) {
		bool is_change = !history_same(&s[i - 1], &s[i]);

		k->changes += is_change;
		if (i + 1 == k->count || !history_same(&s[i - 1], &s[i + 1]))
			continue;
		k->between++;
		k->odd += is_change;
	}
}

int learn_slice(struct align *a, const struct align_slice *slice)
{
	size_t n_whole = 0;
	uint32_t n_keys;
	int r = 0;

	history_clear(&a->history);
	census_clear(&a->census);
	a->is_alone = a->samples.items[a->order[slice->from]].stack ==
		      a->samples.items[a->order[slice->to - 1]].stack;
	a->key.count = 0;
	for (size_t i = slice->from; r == 0 && i < slice->to; i++) {
		r = learn_note(a, &a->samples.items[a->order[i]]);
		n_whole += a->samples.items[a->order[i]].has_entry;
	}
	a->is_mostly_whole = n_whole > (slice->to - slice->from) / 2;
	if (r == 0)
		r = history_ready(&a->history);
	if (r < 0)
		return r;
	learn_place_all(a, slice);
	n_keys = (uint32_t)a->history.by_key.count;
	for (uint32_t k = 0; r == 0 && k < n_keys; k++) {
		a->history.by_key.items[k].census = ALIGN_NONE;
		a->history.by_key.items[k].alike = ALIGN_NONE;
		learn_changes(a, &a->history.by_key.items[k]);
		r = learn_runs(a, k, learn_call);
	}
	for (uint32_t k = 0; r == 0 && k < n_keys; k++)
		r = learn_runs(a, k, learn_count);
	return r;
}
