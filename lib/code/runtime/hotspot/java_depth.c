/* SPDX-License-Identifier: MIT */
/* Follows the code of a method from its entries; see java_depth.h. */
#include "runtime/hotspot/java_depth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "arch/java_entry.h"
#include "base/vec.h"

#define DEEPEST	   (1u << 22) /* bytes */
#define MOST_TIMES 4	      /* that an instruction is followed, on average */
#define ON_TOP	   8	      /* the return address is on top of the stack */
#define IS_SAVED   16	      /* and below it the caller's frame pointer, which was just pushed */

/* Where the caller's frame pointer is. */
enum fp {
	FP_LOST,
	FP_KEPT,   /* in the register, */
	FP_SAVED,  /* or right below the return address; */
	FP_FRAMED, /* then the register can have that place's address */
};

/* The state before an instruction. */
struct state {
	uint32_t depth; /* 0: not known */
	enum fp fp;
	uint8_t taken; /* 1 + the register into which an adapter has popped the return address */
	bool is_moved; /* it has pushed it again, elsewhere */
};

/* Makes a number that is not 0 of a state. */
static uint32_t number_of(struct state s)
{
	return s.depth / 8 << 9 | (uint32_t)s.is_moved << 8 | (uint32_t)s.taken << 3 |
	       (uint32_t)s.fp << 1 | 1;
}

static struct state state_of(uint32_t number)
{
	return (struct state){number >> 9 << 3, (enum fp)(number >> 1 & 3), number >> 3 & 31,
			      number >> 8 & 1};
}

enum mark { UNSEEN, INSIDE, BEGUN }; /* what a byte is of an instruction */

struct run {
	uint32_t at; /* the state is that of instructions from here on, up to the next run */
	uint32_t state;
};

struct java_depths {
	size_t len;
	size_t count;
	struct run *runs;
	uint8_t begun[]; /* a bit for each byte: an instruction begins there */
};

struct change {
	uint32_t at, state; /* for undo(): that before */
};

struct flow {
	const struct java_code *code;
	struct insn_decoder decoder;
	uint32_t *states; /* by offset; 0: no path leads there */
	uint8_t *marks;	  /* enum mark */
	VEC(uint32_t) todo;
	VEC(struct change)
	behind_calls;		    /* where calls return to, if they do, with the states there */
	VEC(struct change) changes; /* since the last attempt began */
	size_t left;		    /* instructions that may be followed yet */
	bool returns; /* it does, or jumps on with the return address on top of the stack */
	bool is_out_of_memory;
};

/* --- instructions ----------------------------------------------------------------------------- */

static struct state lower(struct state s, int64_t by)
{
	const int64_t depth = s.depth ? (int64_t)s.depth + by : 0;

	s.depth = depth >= ON_TOP && depth < DEEPEST && !(depth & 7) ? (uint32_t)depth : 0;
	return s;
}

/* The frame pointer's register gets a value that is not known. */
static void lose_fp(struct state *s)
{
	s->fp = s->fp == FP_SAVED || s->fp == FP_FRAMED ? FP_SAVED : FP_LOST;
}

static struct state push(struct state s, const struct insn *i)
{
	if (s.taken && i->src + 1 == s.taken)
		return (struct state){.depth = ON_TOP, .fp = s.fp, .is_moved = true};
	if (i->src == INSN_FP && s.depth == ON_TOP && s.fp == FP_KEPT)
		s.fp = FP_SAVED;
	return lower(s, 8);
}

static struct state pop(struct state s, const struct insn *i)
{
	if (i->dst == INSN_FP && s.depth == IS_SAVED && (s.fp == FP_SAVED || s.fp == FP_FRAMED))
		s.fp = FP_KEPT;
	else if (i->dst == INSN_FP)
		lose_fp(&s);
	s = lower(s, -8);
	if (i->dst == INSN_SP)
		s.depth = 0;
	return s;
}

/* Like pop(), in an adapter, where that can take the return address. */
static struct state pop_in_adapter(struct state s, const struct insn *i)
{
	const bool takes =
		s.depth == ON_TOP && i->dst < INSN_NO_REG && i->dst != INSN_SP && i->dst != INSN_FP;

	s = pop(s, i);
	if (takes)
		s.taken = (uint8_t)(i->dst + 1);
	return s;
}

/* dst = src + disp */
static struct state copy(struct state s, const struct insn *i)
{
	if (i->dst == INSN_SP && i->src == INSN_SP)
		return lower(s, -(int64_t)i->disp);
	if (i->dst == INSN_SP) {
		const bool is_framed = i->src == INSN_FP && s.fp == FP_FRAMED;

		s.depth = is_framed ? IS_SAVED : 0;
		return is_framed ? lower(s, -(int64_t)i->disp) : s;
	}
	if (i->dst == INSN_FP) {
		lose_fp(&s);
		if (i->src == INSN_SP && s.fp == FP_SAVED && (int64_t)s.depth - i->disp == IS_SAVED)
			s.fp = FP_FRAMED;
	}
	return s;
}

/* Returns whether memory at src + disp is the place right below the return address. */
static bool is_saved_place(const struct state *s, unsigned base, int32_t disp)
{
	return base == INSN_SP && s->depth && (int64_t)s->depth - disp == IS_SAVED;
}

static struct state load(struct state s, const struct insn *i)
{
	if (i->dst == INSN_SP)
		s.depth = 0;
	if (i->dst != INSN_FP)
		return s;
	if (s.fp == FP_SAVED && is_saved_place(&s, i->src, i->disp))
		s.fp = FP_KEPT;
	else
		lose_fp(&s);
	return s;
}

static struct state store(struct state s, const struct insn *i)
{
	if (i->src == INSN_FP && s.fp == FP_KEPT && is_saved_place(&s, i->dst, i->disp))
		s.fp = FP_SAVED;
	return s;
}

static struct state leave(struct state s)
{
	const bool is_framed = s.fp == FP_FRAMED;

	return (struct state){.depth = is_framed ? ON_TOP : 0, .fp = is_framed ? FP_KEPT : FP_LOST};
}

/* Returns the state behind an instruction of an adapter, if it is one of those that only adapters
 * have: it puts the return address elsewhere, or takes the stack pointer back. */
static bool is_adapters(struct state *s, const struct insn *i)
{
	if (i->op == INSN_POP) {
		*s = pop_in_adapter(*s, i);
		return true;
	}
	if (i->op == INSN_STORE && s->taken && i->src + 1 == s->taken && i->dst == INSN_SP &&
	    !i->disp) {
		*s = (struct state){.depth = ON_TOP, .fp = s->fp, .is_moved = true};
		return true;
	}
	if (i->op == INSN_COPY && i->dst == INSN_SP && i->src == JAVA_ENTRY_SENDER && !i->disp) {
		s->depth = ON_TOP;
		return true;
	}
	if (s->taken && (i->written >> (s->taken - 1) & 1 || i->dst + 1 == s->taken ||
			 i->flow == INSN_CALL || i->flow == INSN_CALL_INDIRECT))
		s->taken = 0;
	return false;
}

static struct state after(struct state s, const struct insn *i)
{
	switch (i->op) {
	case INSN_PUSH:
		return push(s, i);
	case INSN_POP:
		return pop(s, i);
	case INSN_COPY:
		return copy(s, i);
	case INSN_LOAD:
		return load(s, i);
	case INSN_STORE:
		return store(s, i);
	case INSN_LEAVE:
		return leave(s);
	case INSN_ALIGN:
		s.depth = 0;
		return s;
	}
	if (i->flow == INSN_CALL || i->flow == INSN_CALL_INDIRECT)
		return s;
	if (i->written >> INSN_SP & 1 || i->dst == INSN_SP)
		s.depth = 0;
	if (i->written >> INSN_FP & 1 || i->dst == INSN_FP)
		lose_fp(&s);
	return s;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Gives the state of two paths that meet. Returns false if they cannot both be right. */
static bool join(struct state a, struct state b, struct state *ret_state)
{
	const bool is_saved = a.fp >= FP_SAVED && b.fp >= FP_SAVED;

	*ret_state = (struct state){
		.depth = a.depth == b.depth && a.is_moved == b.is_moved ? a.depth : 0,
		.taken = a.taken == b.taken ? a.taken : 0,
		.is_moved = a.is_moved && b.is_moved};
	ret_state->fp = a.fp == b.fp ? a.fp : is_saved ? FP_SAVED : FP_LOST;
	return a.depth == b.depth || !a.depth || !b.depth;
}

static bool set_state(struct flow *f, uint32_t at, uint32_t number)
{
	if (VEC_RESERVE(&f->changes, 1) || VEC_RESERVE(&f->todo, 1)) {
		f->is_out_of_memory = true;
		return false;
	}
	f->changes.items[f->changes.count++] = (struct change){at, f->states[at]};
	f->todo.items[f->todo.count++] = at;
	f->states[at] = number;
	return true;
}

/* A path leads to an instruction. Returns false on a contradiction, or without memory. */
static bool lead(struct flow *f, uint64_t at, struct state s)
{
	uint32_t number = number_of(s);

	if (at >= f->code->len)
		return true;
	if (f->states[at] && f->states[at] != number) {
		if (!join(state_of(f->states[at]), s, &s))
			return false;
		number = number_of(s);
	}
	return f->states[at] == number || set_state(f, (uint32_t)at, number);
}

/* Marks the bytes of an instruction. Returns false if some are those of another one. */
static bool mark(struct flow *f, size_t at, size_t length)
{
	if (length > f->code->len - at || f->marks[at] == INSIDE)
		return false;
	f->marks[at] = BEGUN;
	for (size_t k = 1; k < length; k++) {
		if (f->marks[at + k] == BEGUN || f->states[at + k])
			return false;
		f->marks[at + k] = INSIDE;
	}
	return true;
}

/* Follows a call. What a method calls in its own piece is a stub that jumps on. */
static bool follow_call(struct flow *f, const struct insn *i, size_t at, struct state s)
{
	const struct java_code *code = f->code;
	const struct state called = {.depth = ON_TOP, .fp = FP_KEPT};
	const size_t next = at + i->length;

	if (i->flow == INSN_CALL && i->target == next) /* it takes its own address */
		return lead(f, next, lower(s, 8));
	if (i->flow == INSN_CALL && code->kind == JAVA_CODE_METHOD && i->target >= code->stubs &&
	    !lead(f, i->target, called))
		return false;
	if (at < code->stubs && next >= code->stubs)
		return true;
	if (VEC_RESERVE(&f->behind_calls, 1)) {
		f->is_out_of_memory = true;
		return false;
	}
	f->behind_calls.items[f->behind_calls.count++] =
		(struct change){(uint32_t)next, number_of(s)};
	return true;
}

/* Follows an instruction to those behind it. */
static bool follow(struct flow *f, size_t at)
{
	const struct java_code *code = f->code;
	const struct state before = state_of(f->states[at]);
	struct state s;
	struct insn i;

	if (!insn_decode(&f->decoder, code->bytes + at, code->len - at, at, &i) ||
	    !mark(f, at, i.length))
		return false;
	s = before;
	if (code->kind != JAVA_CODE_ADAPTER || !is_adapters(&s, &i))
		s = after(s, &i);
	f->returns |= i.flow == INSN_JUMP_INDIRECT && before.depth == ON_TOP;
	if (i.flow == INSN_RETURN) {
		f->returns = true;
		return before.depth == ON_TOP || (!before.depth && code->kind != JAVA_CODE_METHOD);
	}
	if (i.flow == INSN_CALL || i.flow == INSN_CALL_INDIRECT)
		return follow_call(f, &i, at, s);
	if ((i.flow == INSN_JUMP || i.flow == INSN_BRANCH) && !lead(f, i.target, s))
		return false;
	return i.flow == INSN_JUMP || i.flow == INSN_JUMP_INDIRECT || i.flow == INSN_STOP ||
	       (at < code->stubs && at + i.length >= code->stubs) || lead(f, at + i.length, s);
}

/* Returns the offset behind the instructions from `at` on that do nothing. */
static size_t skip_padding(const struct flow *f, size_t at)
{
	const struct java_code *code = f->code;
	struct insn i;

	while (at < code->len && f->marks[at] == UNSEEN &&
	       insn_decode(&f->decoder, code->bytes + at, code->len - at, at, &i) && i.is_padding)
		at += i.length;
	return at;
}

static bool is_start(const struct flow *f, size_t at)
{
	return f->code->len - at >= JAVA_ENTRY_START_BYTES &&
	       java_entry_is_start(f->code->bytes + at);
}

/* Takes the lowest place behind a call, from which the path goes on; but not if other paths lead
 * there with another state, so the call does not return. Such calls are in the code for what is
 * rare, behind the code that leads to it. Returns false if there is none left, or as lead(). */
static bool go_on_behind_call(struct flow *f, bool *ret_is_right)
{
	struct change lowest, *items = f->behind_calls.items;
	size_t best = 0, at;
	struct state s;

	*ret_is_right = true;
	if (!f->behind_calls.count)
		return false;
	for (size_t i = 1; i < f->behind_calls.count; i++)
		best = items[i].at < items[best].at ? i : best;
	lowest = items[best];
	items[best] = items[--f->behind_calls.count];
	f->left -= f->left < f->behind_calls.count ? f->left : f->behind_calls.count;
	at = lowest.at < f->code->len ? skip_padding(f, lowest.at) : lowest.at;
	if (at >= f->code->len || f->marks[at] == INSIDE || is_start(f, at) ||
	    (f->states[at] && !join(state_of(f->states[at]), state_of(lowest.state), &s)))
		return true;
	*ret_is_right = lead(f, lowest.at, state_of(lowest.state));
	return *ret_is_right;
}

/* Follows all paths that are begun. */
static bool follow_all(struct flow *f)
{
	bool is_right = true;

	do {
		for (; f->todo.count && f->left; f->left--) {
			if (!follow(f, f->todo.items[--f->todo.count]))
				return false;
		}
	} while (f->left && go_on_behind_call(f, &is_right));
	return is_right && f->left;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Begins behind the first instruction of a method that is not to be entered any more. */
static bool begin_closed(struct flow *f, size_t entry)
{
	const struct java_code *code = f->code;
	bool is_made;
	size_t at = java_entry_is_closed(code->bytes + entry, code->len - entry, &is_made);

	if (!at || (is_made && !code->frame_bytes))
		return true;
	return lead(f, entry + at,
		    (struct state){.depth = is_made ? code->frame_bytes : ON_TOP, .fp = FP_KEPT});
}

static bool begin(struct flow *f)
{
	const struct state entered = {.depth = ON_TOP, .fp = FP_KEPT};

	return lead(f, 0, entered) && lead(f, f->code->entry, entered) &&
	       begin_closed(f, f->code->entry);
}

/* Forgets what was found since the last attempt began. */
static void undo(struct flow *f)
{
	f->todo.count = 0;
	f->behind_calls.count = 0;
	while (f->changes.count) {
		const struct change *c = &f->changes.items[--f->changes.count];

		f->states[c->at] = c->state;
		if (c->state || f->marks[c->at] != BEGUN)
			continue;
		f->marks[c->at] = UNSEEN;
		for (size_t at = c->at + 1; at < f->code->len && f->marks[at] == INSIDE; at++)
			f->marks[at] = UNSEEN;
	}
}

/* Tries to follow code to which no path leads: the frame is made there, unless it is one more
 * entry. Else nothing is known of it. */
static void attempt(struct flow *f, size_t at)
{
	const struct java_code *code = f->code;
	const struct state entered = {.depth = ON_TOP, .fp = FP_KEPT},
			   made = {.depth = code->frame_bytes, .fp = FP_SAVED};
	const bool is_entry = code->kind == JAVA_CODE_ADAPTER || is_start(f, at);

	f->changes.count = 0;
	if (!lead(f, at, is_entry ? entered : made) || !follow_all(f))
		undo(f);
}

static void follow_rest(struct flow *f)
{
	const size_t end = f->code->stubs;
	size_t at = 0;

	while (at < end && f->left && !f->is_out_of_memory) {
		if (f->marks[at] == UNSEEN)
			at = skip_padding(f, at);
		if (at < end && f->marks[at] == UNSEEN)
			attempt(f, at);
		do
			at++;
		while (at < end && f->marks[at] == UNSEEN && f->marks[at - 1] == UNSEEN);
	}
}

/* --- results ---------------------------------------------------------------------------------- */

/* Counts the runs; enters them if `runs` is not NULL. */
static size_t enter_runs(const struct flow *f, struct run *runs)
{
	uint32_t last = 0;
	size_t count = 0;

	for (size_t at = 0; at < f->code->len; at++) {
		if (f->marks[at] != BEGUN || f->states[at] == last)
			continue;
		last = f->states[at];
		if (runs)
			runs[count] = (struct run){(uint32_t)at, last};
		count++;
	}
	return count;
}

static struct java_depths *keep(const struct flow *f)
{
	const size_t len = f->code->len, count = enter_runs(f, NULL);
	struct java_depths *d = calloc(1, sizeof(*d) + len / 8 + 1);

	if (!d)
		return NULL;
	d->runs = calloc(count + 1, sizeof(*d->runs));
	if (!d->runs) {
		free(d);
		return NULL;
	}
	d->len = len;
	d->count = enter_runs(f, d->runs);
	for (size_t at = 0; at < len; at++)
		d->begun[at / 8] |= (uint8_t)((f->marks[at] == BEGUN) << at % 8);
	return d;
}

int java_depths_find(const struct java_code *code, struct java_depths **ret_depths)
{
	struct flow f = {.code = code, .left = code->len * MOST_TIMES};
	bool is_known = false;
	int err = -ENOMEM;

	if (!code->len || code->len > JAVA_DEPTH_MOST_BYTES || code->entry >= code->len ||
	    code->stubs > code->len)
		return -ENOENT;
	insn_decoder_init(&f.decoder);
	f.states = calloc(code->len, sizeof(*f.states));
	f.marks = calloc(code->len, 1);
	if (f.states && f.marks) {
		is_known = begin(&f) && follow_all(&f);
		if (is_known && (code->kind == JAVA_CODE_ADAPTER ||
				 (code->kind == JAVA_CODE_METHOD && code->frame_bytes)))
			follow_rest(&f);
		if (code->kind == JAVA_CODE_STUB)
			is_known = is_known && f.returns;
		*ret_depths = is_known ? keep(&f) : NULL;
		err = f.is_out_of_memory || (is_known && !*ret_depths) ? -ENOMEM
		      : is_known				       ? 0
								       : -ENOENT;
	}
	free(f.states);
	free(f.marks);
	free(f.todo.items);
	free(f.behind_calls.items);
	free(f.changes.items);
	return err;
}

void java_depths_free(struct java_depths *d)
{
	if (d)
		free(d->runs);
	free(d);
}

size_t java_depths_bytes(const struct java_depths *d)
{
	return sizeof(*d) + d->len / 8 + 1 + (d->count + 1) * sizeof(*d->runs);
}

struct runtime_depth java_depths_at(const struct java_depths *d, size_t offset)
{
	size_t low = 0, high = d->count;
	struct state s;

	if (offset >= d->len || !(d->begun[offset / 8] >> offset % 8 & 1))
		return (struct runtime_depth){0};
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (d->runs[middle].at <= offset)
			low = middle;
		else
			high = middle;
	}
	s = state_of(d->runs[low].state);
	return (struct runtime_depth){.bytes = s.depth,
				      .keeps_fp = s.fp == FP_KEPT,
				      .saves_fp = s.fp == FP_SAVED || s.fp == FP_FRAMED,
				      .sender = s.is_moved ? JAVA_ENTRY_SENDER_REG : 0};
}
