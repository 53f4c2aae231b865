/* SPDX-License-Identifier: MIT */
/*
 * The common prefix; see common_prefix.h. Each pair of consecutive complete samples of a stack is
 * compared once, if there are partial ones between: linear in the frames of complete samples.
 *
 * A function that nearly always calls one other function probably has that function above it, so
 * the prefix is extended along such calls. Direct recursion does not count: a function that calls
 * itself does so on the way to what it calls. The limits were chosen by hand with the recordings of
 * bench/align.py: without this, the time of g++'s execute_one_pass() was 18 points short.
 */
#include "align/common_prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/vec.h"

#define COMMON_PREFIX_MAX_EXTENSION 8u
/* a function with fewer calls than this is not extended by its usual callee */
#define COMMON_PREFIX_MIN_CALLS 16u
/* percent of a function's calls that must go to the same callee */
#define COMMON_PREFIX_MIN_PERCENT 97u

struct common_prefix_path {
	struct align_frame *items;
	size_t count, cap;
};

struct common_prefix_stack {
	struct common_prefix_path last; /* path of the last complete sample */
	VEC(uint32_t) partial;		/* partial samples since that one */
	bool has_last;
};

/* The prefix of a sample: frames[first .. first + count). */
struct common_prefix_span {
	uint32_t first, count;
	uint32_t n_extension; /* functions at its end that extend() has added */
};

/* The calls that a function makes. */
struct common_prefix_caller {
	uint32_t total;
	uint32_t most; /* index of the most frequent call in `calls` */
};

struct common_prefix_call {
	uint32_t callee, count;
};

struct common_prefix {
	const struct align *align;
	VEC(struct align_frame) frames;
	struct common_prefix_span *spans; /* by sample */
	struct int_map caller_numbers;	  /* symbol -> index */
	VEC(struct common_prefix_caller) callers;
	struct int_map call_numbers; /* (caller's index, callee's symbol) -> index */
	VEC(struct common_prefix_call) calls;
	struct int_map stack_numbers; /* stack -> index */
	VEC(struct common_prefix_stack) stacks;
	struct common_prefix_path path;
};

void common_prefix_free(struct common_prefix *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->stacks.count; i++) {
		free(p->stacks.items[i].last.items);
		free(p->stacks.items[i].partial.items);
	}
	free(p->stacks.items);
	free(p->frames.items);
	free(p->spans);
	free(p->path.items);
	free(p->callers.items);
	free(p->calls.items);
	int_map_fini(&p->caller_numbers);
	int_map_fini(&p->call_numbers);
	int_map_fini(&p->stack_numbers);
	free(p);
}

/* --- callees that functions always call ------------------------------------------------------- */

/* Counts a call in the statistics of common_prefix_callee(), except of a function by itself. */
static int common_prefix_count(struct common_prefix *p, uint32_t caller, uint32_t callee)
{
	uint32_t next_caller = (uint32_t)p->callers.count, next_call = (uint32_t)p->calls.count;
	struct common_prefix_caller *c;
	uint32_t number, call;

	if (caller == callee)
		return 0;
	if (VEC_RESERVE(&p->callers, 1) < 0 || VEC_RESERVE(&p->calls, 1) < 0 ||
	    int_map_enter(&p->caller_numbers, caller, next_caller, &number) < 0 ||
	    int_map_enter(&p->call_numbers, (uint64_t)number << 32 | callee, next_call, &call) < 0)
		return -ENOMEM;
	if (number == next_caller)
		p->callers.items[p->callers.count++] = (struct common_prefix_caller){.most = call};
	if (call == next_call)
		p->calls.items[p->calls.count++] = (struct common_prefix_call){.callee = callee};
	c = &p->callers.items[number];
	c->total++;
	if (++p->calls.items[call].count > p->calls.items[c->most].count)
		c->most = call;
	return 0;
}

/* Counts the calls between a sample's own frames. */
static int learn(struct common_prefix *p, const struct align_sample *sample)
{
	int err = 0;

	for (uint32_t i = 1; err == 0 && i < sample->n_frames; i++)
		err = common_prefix_count(p, align_frame(p->align, sample->first + i - 1)->symbol,
					  align_frame(p->align, sample->first + i)->symbol);
	return err;
}

/* Returns the function that nearly all calls of `symbol` go to; ALIGN_NONE if there is none. */
static uint32_t common_prefix_callee(const struct common_prefix *p, uint32_t symbol)
{
	uint32_t number = int_map_find(&p->caller_numbers, symbol);
	const struct common_prefix_caller *c;
	const struct common_prefix_call *most;

	if (number == INT_MAP_NONE)
		return ALIGN_NONE;
	c = &p->callers.items[number];
	most = &p->calls.items[c->most];
	if (c->total < COMMON_PREFIX_MIN_CALLS ||
	    most->count < (uint64_t)c->total * COMMON_PREFIX_MIN_PERCENT / 100)
		return ALIGN_NONE;
	return most->callee;
}

/* --- prefixes ------------------------------------------------------------------------------- */

/* Reads the whole path of a complete sample, root first, into `p`. */
static int common_prefix_read(struct common_prefix *p, const struct align_sample *sample)
{
	size_t n = (size_t)sample->n_inferred + sample->n_frames;
	uint32_t link = sample->caller;

	p->path.count = 0;
	if (VEC_RESERVE(&p->path, n) < 0)
		return -ENOMEM;
	p->path.count = n;
	for (uint32_t i = sample->n_inferred; i-- > 0;) {
		p->path.items[i] = align_link(p->align, link)->frame;
		link = align_link(p->align, link)->caller;
	}
	for (uint32_t i = 0; i < sample->n_frames; i++)
		p->path.items[sample->n_inferred + i] = *align_frame(p->align, sample->first + i);
	return 0;
}

/* Returns how many frames two paths share from the root on. The last shared frames may be at
 * different locations of the same function. */
static size_t length(const struct common_prefix_path *a, const struct common_prefix_path *b)
{
	size_t n = a->count < b->count ? a->count : b->count, i = 0;

	for (; i < n && a->items[i].symbol == b->items[i].symbol &&
	       a->items[i].height == b->items[i].height;
	     i++)
		if (a->items[i].id != b->items[i].id)
			return i + 1;
	return i;
}

/* Extends a prefix, which is at the end of `frames`, by the chain of functions that its last
 * function nearly always calls. */
static int extend(struct common_prefix *p, struct common_prefix_span *span)
{
	while (span->count && span->n_extension < COMMON_PREFIX_MAX_EXTENSION) {
		const struct align_frame *last = &p->frames.items[p->frames.count - 1];
		uint32_t symbol = common_prefix_callee(p, last->symbol);

		if (symbol == ALIGN_NONE)
			break;
		if (VEC_RESERVE(&p->frames, 1) < 0)
			return -ENOMEM;
		p->frames.items[p->frames.count++] = (struct align_frame){.symbol = symbol};
		span->n_extension++;
	}
	return 0;
}

/* Ends a group of partial samples at the complete sample that was just read into p->path: gives
 * them the prefix that this path shares with the path of the stack's last complete sample. The path
 * just read then becomes the last one. */
static int common_prefix_close(struct common_prefix *p, struct common_prefix_stack *stack)
{
	struct common_prefix_path swap = stack->last;
	struct common_prefix_span span = {.first = (uint32_t)p->frames.count};

	if (stack->has_last && stack->partial.count) {
		span.count = (uint32_t)length(&stack->last, &p->path);
		if (VEC_RESERVE(&p->frames, span.count) < 0)
			return -ENOMEM;
		memcpy(p->frames.items + span.first, p->path.items,
		       span.count * sizeof(*p->path.items));
		p->frames.count += span.count;
		if (extend(p, &span) < 0)
			return -ENOMEM;
		for (size_t i = 0; i < stack->partial.count; i++)
			p->spans[stack->partial.items[i]] = span;
	}
	stack->partial.count = 0;
	stack->has_last = true;
	stack->last = p->path;
	p->path = swap;
	return 0;
}

static int common_prefix_stack(struct common_prefix *p, uint32_t number,
			       struct common_prefix_stack **ret_stack)
{
	uint32_t next = (uint32_t)p->stacks.count, index;

	if (VEC_RESERVE(&p->stacks, 1) < 0 ||
	    int_map_enter(&p->stack_numbers, number, next, &index) < 0)
		return -ENOMEM;
	if (index == next)
		p->stacks.items[p->stacks.count++] = (struct common_prefix_stack){0};
	*ret_stack = &p->stacks.items[index];
	return 0;
}

static int common_prefix_add(struct common_prefix *p, uint32_t number)
{
	const struct align_sample *sample = align_sample(p->align, number);
	struct common_prefix_stack *stack = NULL;
	int err = common_prefix_stack(p, align_stack(p->align, number), &stack);

	if (err < 0)
		return err;
	if (sample->is_complete) {
		err = common_prefix_read(p, sample);
		return err < 0 ? err : common_prefix_close(p, stack);
	}
	if (VEC_RESERVE(&stack->partial, 1) < 0)
		return -ENOMEM;
	stack->partial.items[stack->partial.count++] = number;
	return 0;
}

int common_prefix_new(const struct align *align, struct common_prefix **ret_prefix)
{
	struct common_prefix *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->align = align;
	p->spans = calloc((size_t)align_count(align) + 1, sizeof(*p->spans));
	if (!p->spans)
		err = -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < align_count(align); i++)
		err = learn(p, align_sample(align, i));
	for (uint32_t i = 0; err == 0 && i < align_count(align); i++)
		err = common_prefix_add(p, align_ordered(align, i));
	if (err < 0) {
		common_prefix_free(p);
		return err;
	}
	*ret_prefix = p;
	return 0;
}

uint32_t common_prefix_of(const struct common_prefix *p, uint32_t number,
			  const struct align_frame **ret_frames)
{
	const struct align_sample *sample = align_sample(p->align, number);
	struct common_prefix_span span = p->spans[number];
	uint32_t height = align_frame(p->align, sample->first)->height, link = sample->caller;

	for (uint32_t i = 0; i < sample->n_inferred; i++) {
		height = align_link(p->align, link)->frame.height;
		link = align_link(p->align, link)->caller;
	}
	*ret_frames = p->frames.items + span.first;
	/* Frames at or above the height of the sample's first frame are not its callers. */
	while (height && span.count && (*ret_frames)[span.count - 1].height >= height) {
		span.count--;
		span.n_extension = 0;
	}
	return span.count + span.n_extension;
}
