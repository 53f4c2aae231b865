/* SPDX-License-Identifier: MIT */
/*
 * Alignment; see align.h.
 *
 *   history   every frame's (stack, symbol, height) is a key; of each key, the frames that had a
 *             known caller, by time
 *   links     an open sample's first frame, then the caller that it got, and so on, are each
 *             decided by the two sightings around the sample's time; the answer belongs to the
 *             gap between these sightings
 *   samples   each takes as many links as are sure enough together
 *
 * A frame that was never seen with a caller at its height can still have been at others: then
 * the call graph tells from where the routine is called and how far up the stack its frame then
 * ends. If one such caller, and only one, stood where it must around that time, it is the one.
 */
#include "align/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/calls.h"
#include "align/census.h"
#include "align/history.h"
#include "align/near.h"
#include "align/offsets.h"
#include "align/weigh.h"

#define ALIGN_CALLERS 64u	       /* of a routine that are tried at another height */
#define ALIGN_OPEN    (UINT32_MAX - 1) /* of a gap: decided, and there is no link */
#define ALIGN_ENTRY   (UINT32_MAX - 2) /* of a gap: its frame is the thread's entry */

struct align_entry {
	struct align_sample s;
	uint64_t time;
	uint32_t stack, program;
	uint32_t rank;	/* among the samples of its stack, by time, from 1 */
	bool has_entry; /* its first own frame is the thread's entry */
};

struct align {
	uint32_t threshold;
	VEC(struct align_entry) samples;
	VEC(struct align_frame) frames;
	VEC(uint32_t) owner; /* by frame: its sample */
	VEC(uint32_t) key;   /* by frame: in the history */
	VEC(struct align_link) links;
	VEC(uint32_t) pending; /* gaps whose links wait for what is below them */
	uint32_t *order;       /* samples by stack, then time */
	uint32_t *gaps;	   /* by gap: its link, ALIGN_NONE: not decided yet, ALIGN_OPEN, _ENTRY */
	uint32_t *changes; /* by key: how often a caller was another than the one before */
	struct history history;
	struct calls calls;
	struct census census;
	struct offsets levels; /* of gaps */
	struct near near;      /* around the sample at hand */
};

int align_new(uint32_t threshold, struct align **ret_align)
{
	struct align *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->threshold = threshold;
	*ret_align = a;
	return 0;
}

void align_free(struct align *a)
{
	if (!a)
		return;
	free(a->samples.items);
	free(a->frames.items);
	free(a->owner.items);
	free(a->key.items);
	free(a->links.items);
	free(a->pending.items);
	free(a->order);
	free(a->gaps);
	free(a->changes);
	history_fini(&a->history);
	calls_fini(&a->calls);
	census_fini(&a->census);
	offsets_fini(&a->levels);
	free(a);
}

int align_add(struct align *a, uint32_t stack, uint32_t program, uint64_t time,
	      const struct align_frame *frames, uint32_t n_frames, bool is_whole)
{
	uint32_t sample = (uint32_t)a->samples.count;

	if (!n_frames)
		return -EINVAL;
	if (sample >= ALIGN_NONE / 4 || n_frames >= ALIGN_NONE / 4 - a->frames.count)
		return -EOVERFLOW;
	if (VEC_RESERVE(&a->samples, 1) < 0 || VEC_RESERVE(&a->frames, n_frames) < 0 ||
	    VEC_RESERVE(&a->owner, n_frames) < 0)
		return -ENOMEM;
	a->samples.items[a->samples.count++] = (struct align_entry){
		.s = {.first = (uint32_t)a->frames.count,
		      .n_frames = n_frames,
		      .below = ALIGN_NONE,
		      .confidence = ALIGN_CERTAIN,
		      .is_whole = is_whole},
		.time = time,
		.stack = stack,
		.program = program,
		.has_entry = is_whole,
	};
	memcpy(a->frames.items + a->frames.count, frames, n_frames * sizeof(*frames));
	for (uint32_t i = 0; i < n_frames; i++)
		a->owner.items[a->owner.count++] = sample;
	a->frames.count += n_frames;
	return 0;
}

static const struct align_entry *align_owner(const struct align *a, uint32_t frame)
{
	return &a->samples.items[a->owner.items[frame]];
}

/* --- order ---------------------------------------------------------------------------------- */

static int align_compare_times(const void *x, const void *y, void *arg)
{
	const struct align *a = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	uint64_t at_i = a->samples.items[i].time, at_j = a->samples.items[j].time;

	if (at_i != at_j)
		return at_i < at_j ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* Samples nearly always come in order of time. */
static int align_sort(struct align *a)
{
	size_t n = a->samples.count;
	bool is_sorted = true;

	a->order = reallocarray(NULL, n + 1, sizeof(*a->order));
	if (!a->order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		a->order[i] = (uint32_t)i;
		is_sorted = is_sorted &&
			    (!i || a->samples.items[i - 1].time <= a->samples.items[i].time);
	}
	if (!is_sorted)
		qsort_r(a->order, n, sizeof(*a->order), align_compare_times, a);
	return 0;
}

struct align_lasts {
	uint32_t *items; /* by stack: the rank of its last sample */
	size_t count, cap;
};

/* Orders samples that are in order of time by stack first. */
static int align_group(struct align *a, const struct triples *stacks, struct align_lasts *last)
{
	uint32_t *grouped = reallocarray(NULL, a->samples.count + 1, sizeof(*grouped));
	uint32_t at = 0;

	if (!grouped)
		return -ENOMEM;
	for (size_t i = 0; i < last->count; i++) {
		uint32_t n = last->items[i];

		last->items[i] = at;
		at += n;
	}
	for (size_t i = 0; i < a->samples.count; i++) {
		uint32_t stack = a->samples.items[a->order[i]].stack;

		grouped[last->items[triples_find(stacks, stack, 0, 0)]++] = a->order[i];
	}
	free(a->order);
	a->order = grouped;
	return 0;
}

/* Numbers the samples of each stack by time. */
static int align_rank(struct align *a)
{
	struct triples stacks = {0};
	struct align_lasts last = {0};
	int r = align_sort(a);

	for (size_t i = 0; r == 0 && i < a->samples.count; i++) {
		struct align_entry *e = &a->samples.items[a->order[i]];
		uint32_t stack;

		r = triples_intern(&stacks, e->stack, 0, 0, &stack);
		if (r == 0 && stack == last.count) {
			r = VEC_RESERVE(&last, 1);
			if (r == 0)
				last.items[last.count++] = 0;
		}
		if (r == 0)
			e->rank = ++last.items[stack];
	}
	if (r == 0)
		r = align_group(a, &stacks, &last);
	free(last.items);
	triples_fini(&stacks);
	return r;
}

/* --- history -------------------------------------------------------------------------------- */

/* Whether it is known what calls a frame: another, or, for an entry, nothing. */
static bool align_has_caller(const struct align *a, uint32_t frame)
{
	const struct align_entry *e = align_owner(a, frame);

	return frame > e->s.first || e->has_entry;
}

/* Notes a frame, and that it has a caller. */
static int align_note(struct align *a, struct history_maker *m, uint32_t frame)
{
	const struct align_entry *e = align_owner(a, frame);
	const struct align_frame *f = &a->frames.items[frame];
	int r = triples_intern(&a->history.keys, e->stack, f->symbol, f->height,
			       &a->key.items[frame]);

	if (r == 0 && align_has_caller(a, frame))
		r = history_count(&a->history, m, a->key.items[frame]);
	return r;
}

static void align_place(struct align *a, struct history_maker *m)
{
	for (size_t i = 0; i < a->samples.count; i++) {
		const struct align_entry *e = &a->samples.items[a->order[i]];
		uint32_t first = e->s.first;

		for (uint32_t f = first + !e->has_entry; f < first + e->s.n_frames; f++)
			history_place(&a->history, m, a->key.items[f], f, e->rank);
	}
}

/* Whether two frames with the same key have the same caller. */
static bool align_same_caller(const struct align *a, uint32_t x, uint32_t y)
{
	bool x_is_first = x == align_owner(a, x)->s.first;
	bool y_is_first = y == align_owner(a, y)->s.first;

	if (x_is_first || y_is_first) /* then it is the entry */
		return x_is_first && y_is_first;
	return a->frames.items[x - 1].id == a->frames.items[y - 1].id &&
	       a->frames.items[x - 1].height == a->frames.items[y - 1].height;
}

/* Notes the call that made a frame, which was seen so often. */
static int align_note_call(struct align *a, uint32_t frame, uint32_t count)
{
	const struct align_entry *e = align_owner(a, frame);
	const struct align_frame *f = &a->frames.items[frame], *caller = f - 1;
	struct census_caller one;
	int r;

	/* The entry's own height is not known: it is where the stack begins. */
	if (frame == e->s.first || f->height <= caller->height ||
	    (!caller->height && !(e->has_entry && frame == e->s.first + 1)))
		return 0;
	one = (struct census_caller){caller->id, caller->symbol, caller->height, count};
	r = calls_add(&a->calls, f->symbol, caller->id, caller->symbol, f->height - caller->height);
	return r == 0 ? census_add(&a->census, e->program, f->symbol, f->height, &one) : r;
}

/* Goes through a key's sightings: how often the caller changes, and the calls. */
static int align_learn(struct align *a, size_t key)
{
	const struct history *h = &a->history;
	uint32_t end = h->first[key + 1], from = h->first[key];
	int r = 0;

	for (uint32_t i = from; r == 0 && i < end; i++) {
		bool is_last =
			i + 1 == end || !align_same_caller(a, h->frames[i], h->frames[i + 1]);

		if (!is_last)
			continue;
		a->changes[key] += i + 1 < end;
		r = align_note_call(a, h->frames[from], i + 1 - from);
		from = i + 1;
	}
	return r;
}

static int align_learn_all(struct align *a)
{
	size_t n = a->history.keys.items.count;
	int r = 0;

	a->changes = calloc(n + 1, sizeof(*a->changes));
	if (!a->changes)
		return -ENOMEM;
	for (size_t k = 0; r == 0 && k < n; k++)
		r = align_learn(a, k);
	return r;
}

static int align_remember(struct align *a)
{
	struct history_maker m = {0};
	int r = VEC_RESERVE(&a->key, a->frames.count);

	for (uint32_t i = 0; r == 0 && i < a->frames.count; i++)
		r = align_note(a, &m, i);
	a->key.count = a->frames.count;
	if (r == 0)
		r = history_ready(&a->history, &m);
	if (r == 0) {
		align_place(a, &m);
		r = align_learn_all(a);
	}
	history_maker_fini(&m);
	return r;
}

/* --- deciding ------------------------------------------------------------------------------- */

/* A frame's caller, as it was decided. */
struct align_answer {
	struct align_frame frame;
	uint32_t confidence; /* 0: nobody knows */
	bool is_entry;	     /* there is none: the frame is the thread's entry */
};

/* A frame whose caller is asked for. */
struct align_question {
	uint32_t stack, program, rank;
	uint32_t symbol, height;
	uint32_t key;
	struct history_place sighted;
};

/* Whether a key's frame was seen shortly before and after a rank, called by the same. */
static bool align_stood(const struct align *a, uint32_t key, uint32_t rank)
{
	struct history_place p = history_find(&a->history, key, rank);

	return p.gap_before <= WEIGH_NEAR && p.gap_after <= WEIGH_NEAR &&
	       align_same_caller(a, p.before, p.after);
}

/* Whether a sighting tells this caller. */
static bool align_tells(const struct align *a, uint32_t frame, const struct align_frame *caller)
{
	return frame != HISTORY_NONE && frame > align_owner(a, frame)->s.first &&
	       a->frames.items[frame - 1].id == caller->id &&
	       a->frames.items[frame - 1].height == caller->height;
}

/* What the call graph says: counts the places that the routine is called from, and among them
 * those that stood where they would have to. `ret_one`: one of these; `ret_sighting`: a sighting
 * that tells one of these, else HISTORY_NONE. */
static void align_ask_calls(const struct align *a, const struct align_question *q,
			    struct weigh_signs *signs, struct align_frame *ret_one,
			    uint32_t *ret_sighting)
{
	uint32_t at = calls_of(&a->calls, q->symbol);

	*ret_sighting = HISTORY_NONE;
	for (; at != TRIPLES_NONE && signs->places < ALIGN_CALLERS;
	     at = a->calls.calls.items[at].next) {
		const struct call *c = &a->calls.calls.items[at];
		struct align_frame caller = {c->id, c->symbol, q->height - c->distance};
		uint32_t key;

		signs->places++;
		if (!q->height || c->distance > q->height ||
		    !near_has(&a->near, caller.symbol, caller.height))
			continue;
		key = triples_find(&a->history.keys, q->stack, caller.symbol, caller.height);
		if (key == TRIPLES_NONE || !align_stood(a, key, q->rank))
			continue;
		signs->standing++;
		*ret_one = caller;
		if (align_tells(a, q->sighted.before, &caller))
			*ret_sighting = q->sighted.before;
		else if (align_tells(a, q->sighted.after, &caller))
			*ret_sighting = q->sighted.after;
	}
	signs->is_standing = *ret_sighting != HISTORY_NONE;
}

/* The caller that a sighting tells. */
static struct align_answer align_sighted(const struct align *a, uint32_t frame, uint32_t confidence)
{
	struct align_answer answer = {.confidence = confidence};

	answer.is_entry = frame == align_owner(a, frame)->s.first;
	if (!answer.is_entry)
		answer.frame = a->frames.items[frame - 1];
	return answer;
}

static struct weigh_signs align_look(const struct align *a, const struct align_question *q)
{
	const struct history_place *p = &q->sighted;
	struct weigh_signs signs = {
		.both = p->before != HISTORY_NONE && p->after != HISTORY_NONE,
		.gap = p->gap_before < p->gap_after ? p->gap_before : p->gap_after,
		.has_changed = a->changes[q->key] > 0,
		.seen = a->history.first[q->key + 1] - a->history.first[q->key],
	};

	signs.agree = signs.both && align_same_caller(a, p->before, p->after);
	if (signs.agree && p->gap_before + p->gap_after - signs.gap > signs.gap)
		signs.gap = p->gap_before + p->gap_after - signs.gap;
	return signs;
}

/* What the sightings of this thread tell. */
static struct align_answer align_decide_here(const struct align *a, const struct align_question *q)
{
	const struct history_place *p = &q->sighted;
	struct weigh_signs signs = align_look(a, q);
	uint32_t nearer = p->gap_before <= p->gap_after ? p->before : p->after, standing;
	struct align_frame one = {0};

	if (!signs.agree || signs.gap > WEIGH_NEAR) {
		align_ask_calls(a, q, &signs, &one, &standing);
		if (signs.is_standing && !signs.agree)
			nearer = standing;
	}
	if (!signs.agree && !signs.is_standing && signs.standing == 1)
		return (struct align_answer){.frame = one, .confidence = WEIGH_STANDING_ALONE};
	if (nearer == HISTORY_NONE)
		return (struct align_answer){0};
	return align_sighted(a, nearer, weigh(&signs));
}

/* The same, and where that is not enough what all threads of the program tell. */
static struct align_answer align_decide(const struct align *a, const struct align_question *q)
{
	struct align_answer answer = align_decide_here(a, q);
	const struct census_caller *c;
	uint32_t total;

	if (answer.confidence >= WEIGH_CENSUS_TELLS || !q->height ||
	    (q->sighted.before == HISTORY_NONE && q->sighted.after == HISTORY_NONE))
		return answer;
	c = census_ask(&a->census, q->program, q->symbol, q->height, &total);
	if (!c || total < WEIGH_CENSUS || c->count < (uint64_t)total * 9 / 10)
		return answer;
	return (struct align_answer){.frame = {c->id, c->symbol, c->height},
				     .confidence = WEIGH_CENSUS_TELLS};
}

/* --- links ---------------------------------------------------------------------------------- */

/* The gap of a key that a rank falls into: before its first sighting, between two, after the
 * last. */
static uint32_t align_gap(uint32_t key, const struct history_place *p)
{
	return p->at + key;
}

/* Decides a gap, and enters its link, which waits for what is below. */
static int align_open_gap(struct align *a, uint32_t gap, const struct align_answer *answer)
{
	if (answer->confidence && answer->confidence >= a->threshold && answer->is_entry) {
		a->gaps[gap] = ALIGN_ENTRY;
		return 0;
	}
	a->gaps[gap] = ALIGN_OPEN;
	if (!answer->confidence || answer->confidence < a->threshold)
		return 0;
	if (VEC_RESERVE(&a->links, 1) < 0 || VEC_RESERVE(&a->pending, 1) < 0)
		return -ENOMEM;
	a->gaps[gap] = (uint32_t)a->links.count;
	a->pending.items[a->pending.count++] = gap;
	a->links.items[a->links.count++] = (struct align_link){
		.frame = answer->frame,
		.below = ALIGN_NONE,
		.confidence = answer->confidence,
		.path = answer->confidence,
	};
	return 0;
}

/* Completes the links that wait, the lowest first: `gap` is what the last one hangs on. */
static void align_close_gaps(struct align *a, uint32_t gap)
{
	while (a->pending.count) {
		uint32_t above = a->pending.items[--a->pending.count];
		struct align_link *link = &a->links.items[a->gaps[above]];
		uint32_t below = gap == ALIGN_NONE ? ALIGN_OPEN : a->gaps[gap];

		if (below == ALIGN_ENTRY) {
			link->is_whole = true;
		} else if (below != ALIGN_OPEN && offsets_join(&a->levels, above, gap, 1)) {
			const struct align_link *under = &a->links.items[below];

			link->below = below;
			link->level = under->level + 1;
			link->is_whole = under->is_whole;
			if (under->path < link->path)
				link->path = under->path;
		}
		gap = above;
	}
}

/* The gap of a frame at a rank, decided, with all that it hangs on. */
static int align_ask(struct align *a, struct align_question *q, uint32_t *ret_gap)
{
	uint32_t first = ALIGN_NONE;

	for (;;) {
		struct align_answer answer;
		uint32_t gap;
		int r;

		q->sighted = history_find(&a->history, q->key, q->rank);
		gap = align_gap(q->key, &q->sighted);
		if (first == ALIGN_NONE)
			first = gap;
		if (a->gaps[gap] == ALIGN_NONE) {
			answer = align_decide(a, q);
			r = align_open_gap(a, gap, &answer);
			if (r < 0)
				return r;
			if (a->gaps[gap] < ALIGN_ENTRY) {
				q->symbol = answer.frame.symbol;
				q->height = answer.frame.height;
				q->key = triples_find(&a->history.keys, q->stack, q->symbol,
						      q->height);
				if (q->key != TRIPLES_NONE)
					continue;
				gap = ALIGN_NONE;
			}
		}
		align_close_gaps(a, gap);
		*ret_gap = first;
		return 0;
	}
}

/* --- samples -------------------------------------------------------------------------------- */

/* Takes the links from `link` on, as far as they are sure enough. */
static void align_take(const struct align *a, struct align_sample *s, uint32_t link)
{
	const struct align_link *l = &a->links.items[link];

	s->below = link;
	s->n_lent = l->level + 1;
	s->confidence = l->path;
	s->is_whole = l->is_whole;
}

static int align_complete(struct align *a, struct align_entry *e)
{
	const struct align_frame *f = &a->frames.items[e->s.first];
	struct align_question q = {.stack = e->stack,
				   .program = e->program,
				   .rank = e->rank,
				   .symbol = f->symbol,
				   .height = f->height,
				   .key = a->key.items[e->s.first]};
	uint32_t gap;
	int r = align_ask(a, &q, &gap);

	if (r < 0)
		return r;
	if (a->gaps[gap] == ALIGN_ENTRY)
		e->s.is_whole = true;
	else if (a->gaps[gap] != ALIGN_OPEN)
		align_take(a, &e->s, a->gaps[gap]);
	return 0;
}

/* Puts what a sample tells into the frames that are near, or takes it out. */
static void align_show(struct align *a, uint32_t sample, bool is_near)
{
	const struct align_entry *e = &a->samples.items[sample];

	for (uint32_t i = !e->has_entry; i < e->s.n_frames; i++) {
		const struct align_frame *f = &a->frames.items[e->s.first + i];

		if (is_near)
			near_add(&a->near, f->symbol, f->height);
		else
			near_remove(&a->near, f->symbol, f->height);
	}
}

/* Completes the samples of one stack: those of `order` from `from` on. Where it ends. */
static int align_complete_stack(struct align *a, size_t from, size_t *ret_to)
{
	uint32_t stack = a->samples.items[a->order[from]].stack;
	size_t low = from, high = from, i = from, n = a->samples.count;
	int r = 0;

	for (; r == 0 && i < n && a->samples.items[a->order[i]].stack == stack; i++) {
		struct align_entry *e = &a->samples.items[a->order[i]];

		for (; high < n && high <= i + WEIGH_NEAR; high++) {
			if (a->samples.items[a->order[high]].stack != stack)
				break;
			align_show(a, a->order[high], true);
		}
		for (; low + WEIGH_NEAR < i; low++)
			align_show(a, a->order[low], false);
		if (!e->has_entry)
			r = align_complete(a, e);
	}
	for (; low < high; low++)
		align_show(a, a->order[low], false);
	*ret_to = i;
	return r;
}

int align_run(struct align *a)
{
	size_t n_gaps;
	int r = align_rank(a);

	if (r == 0)
		r = align_remember(a);
	if (r < 0)
		return r;
	n_gaps = a->history.first[a->history.keys.items.count] + a->history.keys.items.count;
	a->gaps = reallocarray(NULL, n_gaps + 1, sizeof(*a->gaps));
	if (!a->gaps)
		return -ENOMEM;
	memset(a->gaps, 0xff, (n_gaps + 1) * sizeof(*a->gaps));
	r = offsets_init(&a->levels, (uint32_t)n_gaps);
	for (size_t i = 0; r == 0 && i < a->samples.count;)
		r = align_complete_stack(a, i, &i);
	return r;
}

/* --- results -------------------------------------------------------------------------------- */

uint32_t align_count(const struct align *a)
{
	return (uint32_t)a->samples.count;
}

uint32_t align_ordered(const struct align *a, uint32_t n)
{
	return a->order[n];
}

uint32_t align_stack(const struct align *a, uint32_t sample)
{
	return a->samples.items[sample].stack;
}

const struct align_sample *align_sample(const struct align *a, uint32_t sample)
{
	return &a->samples.items[sample].s;
}

const struct align_frame *align_frame(const struct align *a, uint32_t frame)
{
	return &a->frames.items[frame];
}

const struct align_link *align_link(const struct align *a, uint32_t link)
{
	return &a->links.items[link];
}
