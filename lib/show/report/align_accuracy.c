/* SPDX-License-Identifier: MIT */
/* Compares alignment with the truth; see align_accuracy.h. */
#include "report/align_accuracy.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "align/common_prefix.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/align_input.h"
#include "stackd_abi.h"

struct compare_truth {
	size_t first; /* index of its first frame in `frames` */
	uint32_t n_frames, n_left;
};

/* The state that stackd --depth keeps for a thread, as struct thread_state of bpf/prefix.bpf.h. */
struct compare_thread {
	uint32_t taken;	 /* samples so far */
	uint32_t credit; /* tokens for anchors (see is_new()) */
	/* hashes of the locations where segments ended, STACKD_ANCHOR_ENDS elements; or NULL */
	uint64_t *ends;
};

struct compare_state {
	struct profile *profile;
	struct align_input *input;
	struct align *align;
	struct common_prefix *prefix;
	struct align_accuracy *result;
	VEC(struct align_frame) frames;
	VEC(struct compare_truth) truths; /* by sample */
	struct compare_thread *threads;	  /* by number */
	uint32_t n_threads;
	/* by symbol: number + 1 of the last sample with the symbol in its true path, and in its
	 * aligned path */
	uint64_t *seen_truth, *seen_aligned;
};

void align_accuracy_free(struct align_accuracy *c)
{
	if (!c)
		return;
	free(c->routines);
	names_free(c->names);
	free(c);
}

static void release(struct compare_state *c)
{
	align_input_free(c->input);
	common_prefix_free(c->prefix);
	align_free(c->align);
	free(c->frames.items);
	free(c->truths.items);
	for (uint32_t i = 0; c->threads && i < c->n_threads; i++)
		free(c->threads[i].ends);
	free(c->threads);
	free(c->seen_truth);
	free(c->seen_aligned);
}

/* --- cutting -------------------------------------------------------------------------------- */

/*
 * Returns whether a segment (the top frames of a stack) ends at a location where no segment of its
 * thread did before, and the thread has credit for an anchor. `caller` is the first frame that the
 * segment lacks.
 *
 * This repeats segment_is_news() of bpf/segment.bpf.h and shares its constants (stackd_abi.h),
 * which are those of a token bucket. A segment with a known end adds one token, an anchor takes
 * PRICE:
 *
 *   anchors <= (CREDIT + segments) / (PRICE + 1)
 *
 * PRICE = 8: in the long run anchors are at most one sample in nine (11 %), which bounds the cost
 * for any program; a program whose stacks never repeat earns no tokens. Measured shares: python3 10
 * %, sqlite3 4.7 %, most others near 0, all below the bound. CREDIT = 64, eight times PRICE: a
 * thread that starts, or that enters another phase, can have eight anchors in a row.
 */
static bool is_new(struct compare_thread *t, const struct align_frame *caller)
{
	uint64_t hash = hash_mix64((uint64_t)caller->id << 32 | caller->height) | 1;
	uint64_t *end = &t->ends[hash / 2 % STACKD_ANCHOR_ENDS];

	if (*end == hash) {
		t->credit += t->credit < STACKD_ANCHOR_CREDIT;
		return false;
	}
	if (t->credit < STACKD_ANCHOR_PRICE)
		return false;
	t->credit -= STACKD_ANCHOR_PRICE;
	*end = hash;
	return true;
}

/* Returns whether stackd would walk the stack of this sample to the thread's entry
 * (bpf/segment.bpf.h). */
static int is_anchor(struct compare_thread *t, const struct align_frame *caller)
{
	uint32_t n = t->taken;

	if (n % STACKD_ANCHOR_EVERY == 0 || (n < STACKD_ANCHOR_EVERY && (n & (n - 1)) == 0))
		return true;
	if (!t->ends) {
		t->ends = calloc(STACKD_ANCHOR_ENDS, sizeof(*t->ends));
		t->credit = STACKD_ANCHOR_CREDIT;
	}
	return t->ends ? is_new(t, caller) : -ENOMEM;
}

/* Returns whether the path of a sample is to be cut: 1 or 0; or -ENOMEM. */
static int compare_cuts(struct compare_state *c, uint32_t thread, const struct align_frame *path,
			uint32_t n)
{
	const struct align_accuracy_options *o = &c->result->options;
	int err;

	if (n <= o->frames)
		return 0;
	if (o->percent < 100)
		return hash_mix64(c->truths.count + 1) % 100 < o->percent;
	if (o->no_anchors)
		return 1;
	err = is_anchor(&c->threads[thread], &path[n - o->frames - 1]);
	return err < 0 ? err : !err;
}

static int compare_note(void *arg, const struct store_sample *sample)
{
	struct compare_state *c = arg;

	align_input_note(c->input, sample);
	return 0;
}

/* Adds a path, which the caller has checked to be complete, to the truth and to the alignment. */
static int enter(struct compare_state *c, const struct store_sample *s,
		 const struct align_frame *path, uint32_t n)
{
	struct compare_truth truth = {.first = c->frames.count, .n_frames = n, .n_left = n};
	bool no_heights = c->result->options.no_heights;
	int cuts;

	c->threads[s->thread].taken++;
	cuts = compare_cuts(c, s->thread, path, n);
	if (cuts < 0 || VEC_RESERVE(&c->frames, n) < 0 || VEC_RESERVE(&c->truths, 1) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		c->frames.items[truth.first + i] = path[i];
		if (no_heights)
			c->frames.items[truth.first + i].height = 0;
	}
	c->frames.count += n;
	if (cuts)
		truth.n_left = c->result->options.frames;
	c->truths.items[c->truths.count++] = truth;
	return align_add(c->align, s->thread, align_input_program(c->input, s->thread), s->time_ns,
			 c->frames.items + truth.first + n - truth.n_left, truth.n_left,
			 truth.n_left == n);
}

static int take(void *arg, const struct store_sample *sample)
{
	struct compare_state *c = arg;
	const struct align_frame *path;
	uint32_t n;
	int err;

	if (!align_input_is_complete(sample) || !profile_includes(c->profile, sample))
		return 0;
	err = align_input_path(c->input, sample, &path, &n);
	return err == 0 && n ? enter(c, sample, path, n) : err;
}

/* --- judging -------------------------------------------------------------------------------- */

static void compare_judge(struct compare_state *c, uint32_t number)
{
	const struct compare_truth *truth = &c->truths.items[number];
	const struct align_sample *s = align_sample(c->align, number);
	const struct align_frame *frames = c->frames.items + truth->first;
	uint32_t hidden = truth->n_frames - truth->n_left, link = s->caller;
	bool is_wrong = s->is_complete && s->n_inferred != hidden;
	struct align_accuracy *to = c->result;

	to->complete += s->is_complete;
	if (!hidden)
		return;
	to->cut++;
	to->aligned += s->n_inferred || s->is_complete;
	for (uint32_t i = 0; i < s->n_inferred; i++) {
		const struct align_frame *inferred = &align_link(c->align, link)->frame;
		const struct align_frame *own = i < hidden ? &frames[hidden - 1 - i] : NULL;

		to->inferred++;
		if (!own || inferred->id != own->id) {
			to->wrong_frames++;
			to->wrong_routines += !own || inferred->symbol != own->symbol;
			is_wrong = true;
		}
		link = align_link(c->align, link)->caller;
	}
	to->wrong += is_wrong;
	to->right += s->is_complete && !is_wrong;
}

/* --- time ----------------------------------------------------------------------------------- */

/* Adds one to a routine's count, unless this sample was counted already. */
static void compare_time(uint64_t *seen, uint32_t symbol, uint64_t sample, uint64_t *count)
{
	if (seen[symbol] == sample + 1)
		return;
	seen[symbol] = sample + 1;
	++*count;
}

static void compare_times(struct compare_state *c, uint32_t number)
{
	const struct compare_truth *truth = &c->truths.items[number];
	const struct align_frame *frames = c->frames.items + truth->first, *prefix;
	const struct align_sample *s = align_sample(c->align, number);
	struct align_accuracy_routine *routines = c->result->routines;
	uint32_t link = s->caller,
		 n = s->is_complete ? 0 : common_prefix_of(c->prefix, number, &prefix);

	for (uint32_t i = 0; i < truth->n_frames; i++) {
		uint32_t symbol = frames[i].symbol;

		compare_time(c->seen_truth, symbol, number, &routines[symbol].truth);
		if (i >= truth->n_frames - truth->n_left)
			compare_time(c->seen_aligned, symbol, number, &routines[symbol].aligned);
	}
	for (uint32_t i = 0; i < s->n_inferred; i++) {
		const struct align_link *l = align_link(c->align, link);

		compare_time(c->seen_aligned, l->frame.symbol, number,
			     &routines[l->frame.symbol].aligned);
		link = l->caller;
	}
	for (uint32_t i = 0; i < n; i++)
		compare_time(c->seen_aligned, prefix[i].symbol, number,
			     &routines[prefix[i].symbol].aligned);
	routines[frames[truth->n_frames - 1].symbol].self++;
}

static int compare_order(const void *a, const void *b)
{
	const struct align_accuracy_routine *x = a, *y = b;

	if (x->truth != y->truth)
		return x->truth > y->truth ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->symbol->number < y->symbol->number ? -1 : x->symbol->number > y->symbol->number;
}

static int sum_up(struct compare_state *c)
{
	struct align_accuracy *to = c->result;
	size_t n = names_symbol_count(c->result->names), kept = 0;

	to->routines = calloc(n + 1, sizeof(*to->routines));
	c->seen_truth = calloc(n + 1, sizeof(*c->seen_truth));
	c->seen_aligned = calloc(n + 1, sizeof(*c->seen_aligned));
	if (!to->routines || !c->seen_truth || !c->seen_aligned)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->truths.count; i++) {
		compare_judge(c, i);
		compare_times(c, i);
	}
	for (size_t i = 0; i < n; i++) {
		struct align_accuracy_routine routine = to->routines[i];

		/* These are not the profile's symbols; two symbols of the same name and object are
		 * one function. */
		routine.symbol = names_symbol_at(c->result->names, (uint32_t)i);
		if (routine.truth || routine.aligned)
			to->routines[kept++] = routine;
	}
	to->n_routines = kept;
	to->samples = c->truths.count;
	if (kept)
		qsort(to->routines, kept, sizeof(*to->routines), compare_order);
	return 0;
}

static double compare_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare_align(struct compare_state *c)
{
	double start = compare_now();
	int err = align_run(c->align);

	c->result->align_seconds = compare_now() - start;
	return err == 0 ? common_prefix_new(c->align, &c->prefix) : err;
}

static int prepare(struct compare_state *c)
{
	const struct store_tables *t = store_reader_tables(profile_reader(c->profile));
	int err = names_new(t, &c->result->names);

	c->n_threads = t->n_threads;
	c->threads = calloc((size_t)t->n_threads + 1, sizeof(*c->threads));
	if (!c->threads)
		return -ENOMEM;
	if (err == 0)
		err = align_input_new(t, c->result->names, &c->input);
	if (err == 0)
		err = align_new(&c->align);
	return err;
}

int align_accuracy_new(struct profile *profile, const struct align_accuracy_options *options,
		       struct align_accuracy **ret_compare)
{
	struct compare_state c = {.profile = profile};
	struct store_reader *reader = profile_reader(profile);
	int err;

	c.result = calloc(1, sizeof(*c.result));
	if (!c.result)
		return -ENOMEM;
	c.result->options = *options;
	err = prepare(&c);
	/* Without heights, noting samples would only serve to find recursive routines, at which
	 * align_input_path() cuts paths. But these paths are the truth, so they must stay whole. */
	if (err == 0 && store_reader_tables(reader)->sizes)
		err = store_reader_samples(reader, compare_note, &c);
	if (err == 0)
		err = store_reader_samples(reader, take, &c);
	if (err == 0)
		err = compare_align(&c);
	if (err == 0)
		err = sum_up(&c);
	if (err == 0 && !c.result->cut)
		err = -ENODATA;
	if (err == 0)
		*ret_compare = c.result;
	else
		align_accuracy_free(c.result);
	release(&c);
	return err;
}
