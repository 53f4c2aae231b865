/* SPDX-License-Identifier: MIT */
/*
 * Call paths from branch records: what is kept, what is left out as stale, and what comes from
 * where. The code is made up: a function is a page (its number is the address >> 12), calls are
 * five bytes long, and a table says which functions jump into which.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lbr/lbr.h"

#define MAX    64
#define STACK  0x7fff0000
#define WORDS  64
#define THREAD 7

/* A call at `at` in function `f` to function `g`. */
#define CALL(f, at, g)                                                                             \
	{                                                                                          \
		((uint64_t)(f) << 12) + (at), (uint64_t)(g) << 12                                  \
	}
#define IN(f, at)     (((uint64_t)(f) << 12) + (at))
#define RETURN(f, at) (IN(f, at) + 5)
#define COUNT(x)      (sizeof(x) / sizeof((x)[0]))
#define ENTRIES(in, ...)                                                                           \
	set_entries(in, (const struct lbr_entry[]){__VA_ARGS__},                                   \
		    COUNT(((const struct lbr_entry[]){__VA_ARGS__})))

static struct fixture {
	struct lbr *lbr;
	struct lbr_input in;
	struct lbr_entry entries[MAX];
	uint64_t stack[WORDS];
	struct lbr_frame frames[MAX];
	struct lbr_result result;

	uint64_t jumps[2];	   /* from function, into function */
	uint64_t maybe;		   /* a function with an indirect jump */
	uint64_t unknown;	   /* a function of which nothing is known */
	uint64_t root;		   /* the function where the thread begins */
	uint64_t direct[2];	   /* a return address, and the function that its call is of */
	struct lbr_walked on[MAX]; /* what walk_on finds from the address `on_from` */
	size_t n_on;
	uint64_t on_from;
	enum stackd_end_reason on_end;
} f;

static enum lbr_fit fake_fit(void *arg, uint64_t to, uint64_t pc)
{
	(void)arg;
	if (to >> 12 == pc >> 12)
		return LBR_FIT_SAME;
	if (to >> 12 == f.unknown)
		return LBR_FIT_UNKNOWN;
	if (to >> 12 == f.jumps[0] && pc >> 12 == f.jumps[1])
		return LBR_FIT_JUMP;
	return to >> 12 == f.maybe ? LBR_FIT_MAYBE : LBR_FIT_NO;
}

static enum lbr_fit fake_call_fit(void *arg, uint64_t address, uint64_t pc)
{
	return address == f.direct[0] ? fake_fit(arg, f.direct[1] << 12, pc) : LBR_FIT_UNKNOWN;
}

static uint64_t fake_call_end(void *arg, uint64_t from)
{
	(void)arg;
	return from + 5;
}

/* By the last digit: calls at 0, returns at f, longjmp at e, unknown at d, jumps elsewhere. */
static enum lbr_kind fake_kind(void *arg, uint64_t from, uint64_t to)
{
	(void)arg;
	(void)to;
	switch (from & 0xf) {
	case 0:
		return LBR_KIND_CALL;
	case 0xf:
		return LBR_KIND_RETURN;
	case 0xe:
		return LBR_KIND_LONG_JUMP;
	case 0xd:
		return LBR_KIND_UNKNOWN;
	}
	return LBR_KIND_JUMP;
}

static enum stackd_end_reason fake_walk_on(void *arg, uint64_t address, uint64_t slot,
					   struct lbr_walked *frames, size_t max, size_t *ret_count)
{
	(void)arg;
	(void)slot;
	*ret_count = 0;
	if (address != f.on_from || max < f.n_on)
		return STACKD_END_NO_RECIPE;
	memcpy(frames, f.on, f.n_on * sizeof(f.on[0]));
	*ret_count = f.n_on;
	return f.on_end;
}

static bool fake_is_entry(void *arg, uint64_t address, bool is_return)
{
	(void)arg;
	(void)is_return;
	return f.root && address >> 12 == f.root;
}

static int set_up(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.in.top = -1;
	f.in.entries = f.entries;
	f.in.code = (struct lbr_code){.fit = fake_fit,
				      .call_end = fake_call_end,
				      .call_fit = fake_call_fit,
				      .kind = fake_kind,
				      .is_entry = fake_is_entry,
				      .walk_on = fake_walk_on};
	return lbr_new(&f.lbr);
}

static int tear_down(void **state)
{
	(void)state;
	lbr_free(f.lbr);
	return 0;
}

static void set_entries(struct lbr_input *in, const struct lbr_entry *entries, size_t n)
{
	memcpy(f.entries, entries, n * sizeof(*entries));
	in->n_entries = n;
}

static void use_stack(bool is_cut)
{
	f.in.memory = (struct lbr_memory){(const uint8_t *)f.stack, STACK, sizeof(f.stack), is_cut};
}

static void reconstruct(void)
{
	assert_int_equal(lbr_reconstruct(f.lbr, THREAD, &f.in, f.frames, MAX, &f.result), 0);
}

static void expect(size_t n, const uint64_t *addresses)
{
	assert_int_equal(f.result.n_frames, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(f.frames[i].address, addresses[i]);
}

#define EXPECT(...)                                                                                \
	expect(COUNT(((const uint64_t[]){__VA_ARGS__})), (const uint64_t[]){__VA_ARGS__})

/* --- branch records alone -------------------------------------------------------------------- */

static void lbr_chain(void **state)
{
	(void)state;
	f.root = 1;
	f.in.ip = IN(3, 0x77);
	ENTRIES(&f.in, CALL(2, 0x20, 3), CALL(1, 0x10, 2));
	reconstruct();
	EXPECT(IN(3, 0x77), RETURN(2, 0x20), RETURN(1, 0x10));
	assert_int_equal(f.result.end, STACKD_END_ENTRY);
	assert_true(f.frames[0].is_verified && !f.frames[0].is_return);
	assert_true(!f.frames[1].is_verified && f.frames[1].is_return);
	assert_int_equal(f.frames[1].source, FRAME_SOURCE_BRANCH);
	assert_int_equal(f.result.n_stale, 0);
}

/* 2 called 3 called 4, which jumped back into 2; 2 has called 5. */
static void lbr_longjmp(void **state)
{
	(void)state;
	f.root = 1;
	f.in.ip = IN(5, 0x10);
	ENTRIES(&f.in, CALL(2, 0x50, 5), CALL(3, 0x30, 4), CALL(2, 0x20, 3), CALL(1, 0x10, 2));
	reconstruct();
	EXPECT(IN(5, 0x10), RETURN(2, 0x50), RETURN(1, 0x10));
	assert_int_equal(f.result.n_stale, 2);
}

/* The path before the ring's oldest entry is not known, and what fits nowhere is not shown. */
static void lbr_all_stale(void **state)
{
	(void)state;
	f.in.ip = IN(5, 0x10);
	ENTRIES(&f.in, CALL(3, 0x30, 4), CALL(2, 0x20, 3));
	reconstruct();
	EXPECT(IN(5, 0x10));
	assert_int_equal(f.result.end, STACKD_END_STACK_CUT);
	assert_int_equal(f.result.n_stale, 2);
}

static void lbr_zero_length_call(void **state)
{
	(void)state;
	f.in.ip = IN(2, 0x90);
	ENTRIES(&f.in, {IN(2, 0x20), RETURN(2, 0x20)}, CALL(1, 0x10, 2));
	reconstruct();
	EXPECT(IN(2, 0x90), RETURN(1, 0x10));
}

/* 1 calls 2, which jumps into 3; then one that may have, and one of which nothing is known. */
static void lbr_tail_calls(void **state)
{
	(void)state;
	f.jumps[0] = 2;
	f.jumps[1] = 3;
	f.in.ip = IN(3, 0x8);
	ENTRIES(&f.in, CALL(1, 0x10, 2), CALL(9, 0x20, 1));
	reconstruct();
	EXPECT(IN(3, 0x8), RETURN(1, 0x10), RETURN(9, 0x20));
	f.jumps[0] = 0;
	f.maybe = 2;
	reconstruct();
	EXPECT(IN(3, 0x8), RETURN(1, 0x10), RETURN(9, 0x20));
	f.maybe = 0;
	f.unknown = 2;
	reconstruct();
	EXPECT(IN(3, 0x8), RETURN(1, 0x10), RETURN(9, 0x20));
}

static void lbr_foreign_entries(void **state)
{
	(void)state;
	f.in.ip = IN(2, 0x8);
	ENTRIES(&f.in, {0, 0}, {UINT64_C(0xffffffff81000000), IN(2, 0)}, CALL(1, 0x10, 2), {0, 0});
	reconstruct();
	EXPECT(IN(2, 0x8), RETURN(1, 0x10));
}

static void lbr_unknown_leaf(void **state)
{
	(void)state;
	ENTRIES(&f.in, CALL(2, 0x20, 3), CALL(1, 0x10, 2));
	reconstruct();
	EXPECT(IN(3, 0), RETURN(2, 0x20), RETURN(1, 0x10));
	assert_false(f.frames[0].is_verified);
	f.in.n_entries = 0;
	reconstruct();
	assert_int_equal(f.result.n_frames, 0);
}

static void lbr_limits(void **state)
{
	(void)state;
	f.in.ip = IN(9, 1);
	f.in.n_entries = LBR_MAX_ENTRIES + 1;
	assert_int_equal(lbr_reconstruct(f.lbr, THREAD, &f.in, f.frames, MAX, &f.result), -E2BIG);
	assert_int_equal(lbr_replay(&f.in, f.frames, MAX, &f.result), -E2BIG);
	ENTRIES(&f.in, CALL(3, 0x10, 9), CALL(2, 0x10, 3), CALL(1, 0x10, 2));
	assert_int_equal(lbr_reconstruct(f.lbr, THREAD, &f.in, f.frames, 2, &f.result), 0);
	assert_int_equal(f.result.n_frames, 2);
	assert_int_equal(f.result.end, STACKD_END_TOO_DEEP);
}

/* --- with the stack -------------------------------------------------------------------------- */

static void lbr_walk_confirmed(void **state)
{
	const struct lbr_walked walked[] = {{IN(4, 2), 0, false, false},
					    {RETURN(3, 0x10), STACK + 8, true, false},
					    {RETURN(2, 0x20), STACK + 40, true, false},
					    {RETURN(1, 0x10), STACK + 80, true, false}};

	(void)state;
	use_stack(false);
	f.in.walked = walked;
	f.in.n_walked = COUNT(walked);
	f.in.walk_end = STACKD_END_ENTRY;
	/* The second is stale, and the last was lost. */
	ENTRIES(&f.in, CALL(3, 0x10, 4), CALL(8, 0x10, 9), CALL(2, 0x20, 3));
	reconstruct();
	EXPECT(IN(4, 2), RETURN(3, 0x10), RETURN(2, 0x20), RETURN(1, 0x10));
	assert_int_equal(f.result.end, STACKD_END_ENTRY);
	assert_int_equal(f.frames[0].source, FRAME_SOURCE_WALKED);
	assert_int_equal(f.frames[1].source, FRAME_SOURCE_BRANCH);
	assert_int_equal(f.frames[2].source, FRAME_SOURCE_BRANCH);
	assert_int_equal(f.frames[3].source, FRAME_SOURCE_WALKED);
	assert_true(f.frames[2].is_verified);
	assert_int_equal(f.result.n_stale, 1);
}

/* The walk does not know the leaf's function: entries bridge it, and it goes on. */
static void lbr_walk_goes_on(void **state)
{
	const struct lbr_walked leaf = {IN(4, 2), 0, false, false};

	(void)state;
	use_stack(false);
	f.stack[3] = RETURN(3, 0x10);
	f.stack[9] = RETURN(2, 0x20);
	f.in.walked = &leaf;
	f.in.n_walked = 1;
	f.in.walk_end = STACKD_END_NO_RECIPE;
	f.on_from = RETURN(3, 0x10);
	f.on[0] = (struct lbr_walked){RETURN(2, 0x20), STACK + 72, true, false};
	f.on[1] = (struct lbr_walked){RETURN(1, 0x10), STACK + 96, true, false};
	f.n_on = 2;
	f.on_end = STACKD_END_ENTRY;
	ENTRIES(&f.in, CALL(8, 0x10, 4), CALL(3, 0x10, 4), CALL(2, 0x20, 3));
	reconstruct();
	EXPECT(IN(4, 2), RETURN(3, 0x10), RETURN(2, 0x20), RETURN(1, 0x10));
	assert_int_equal(f.result.end, STACKD_END_ENTRY);
	assert_int_equal(f.frames[1].slot, STACK + 24);
	assert_int_equal(f.frames[2].source, FRAME_SOURCE_BRANCH);
	assert_int_equal(f.frames[3].source, FRAME_SOURCE_WALKED);
}

/* An entry counts only above the slot of the one before, and whole memory disproves the rest. */
static void lbr_order_of_slots(void **state)
{
	(void)state;
	use_stack(false);
	f.in.ip = IN(4, 2);
	f.stack[5] = RETURN(3, 0x10);
	f.stack[2] = RETURN(2, 0x20); /* of an earlier call, below */
	f.stack[9] = RETURN(1, 0x10);
	ENTRIES(&f.in, CALL(3, 0x10, 4), CALL(2, 0x20, 3), CALL(1, 0x10, 2));
	reconstruct();
	EXPECT(IN(4, 2), RETURN(3, 0x10), RETURN(1, 0x10));
	assert_int_equal(f.result.n_stale, 1);
	assert_true(f.frames[2].is_verified);
}

/* A frame-pointer step that skips a caller is not believed. */
static void lbr_guess(void **state)
{
	const struct lbr_walked walked[] = {{IN(4, 2), 0, false, false},
					    {RETURN(2, 0x20), STACK + 72, true, true},
					    {RETURN(1, 0x10), STACK + 96, true, true}};

	(void)state;
	use_stack(false);
	f.stack[3] = RETURN(3, 0x10);
	f.stack[9] = RETURN(2, 0x20);
	f.stack[12] = RETURN(1, 0x10);
	f.in.walked = walked;
	f.in.n_walked = COUNT(walked);
	f.in.walk_end = STACKD_END_ENTRY;
	ENTRIES(&f.in, CALL(3, 0x10, 4), CALL(2, 0x20, 3), CALL(1, 0x10, 2));
	reconstruct();
	EXPECT(IN(4, 2), RETURN(3, 0x10), RETURN(2, 0x20), RETURN(1, 0x10));
	/* With the skipped call unknown, the guess is what there is. */
	ENTRIES(&f.in, CALL(2, 0x20, 3), CALL(1, 0x10, 2));
	reconstruct();
	EXPECT(IN(4, 2), RETURN(2, 0x20), RETURN(1, 0x10));
}

/* Over the return address of the leaf's caller another has been written, of a call that does not
 * lead to the leaf. */
static void lbr_replaced_return(void **state)
{
	const struct lbr_walked walked[] = {{IN(4, 2), 0, false, false},
					    {RETURN(2, 0x20), STACK + 24, true, false},
					    {RETURN(9, 0x20), STACK + 32, true, false}};

	(void)state;
	use_stack(false);
	f.in.walked = walked;
	f.in.n_walked = COUNT(walked);
	f.in.walk_end = STACKD_END_ENTRY;
	f.direct[0] = RETURN(2, 0x20);
	f.direct[1] = 3;
	f.on_from = RETURN(3, 0x10);
	f.on[0] = (struct lbr_walked){RETURN(2, 0x20), STACK + 72, true, false};
	f.on[1] = (struct lbr_walked){RETURN(1, 0x10), STACK + 96, true, false};
	f.n_on = 2;
	f.on_end = STACKD_END_ENTRY;
	ENTRIES(&f.in, CALL(3, 0x10, 4), CALL(2, 0x20, 3));
	reconstruct();
	EXPECT(IN(4, 2), RETURN(3, 0x10), RETURN(2, 0x20), RETURN(1, 0x10));
	assert_int_equal(f.result.end, STACKD_END_ENTRY);
	assert_false(f.frames[1].is_verified);
	assert_int_equal(f.frames[1].slot, STACK + 24);
	assert_true(f.frames[2].is_verified);
	/* A stale entry of the same function does not stand against a call that leads there. */
	f.direct[1] = 4;
	reconstruct();
	EXPECT(IN(4, 2), RETURN(2, 0x20), RETURN(9, 0x20));
	/* Nor against one of which nobody knows where it leads. */
	f.direct[0] = 0;
	reconstruct();
	EXPECT(IN(4, 2), RETURN(2, 0x20), RETURN(9, 0x20));
}

/* --- beyond the ring ------------------------------------------------------------------------- */

static void lbr_stitched(void **state)
{
	(void)state;
	f.root = 1;
	f.in.ip = IN(4, 2);
	f.in.ring = 4;
	f.in.top = 2;
	ENTRIES(&f.in, CALL(3, 0x10, 4), CALL(2, 0x20, 3), CALL(1, 0x10, 2));
	reconstruct();
	/* Two calls deeper, the oldest one is gone. */
	f.in.ip = IN(6, 2);
	f.in.top = 0;
	ENTRIES(&f.in, CALL(5, 0x10, 6), CALL(4, 0x20, 5), CALL(3, 0x10, 4), CALL(2, 0x20, 3));
	reconstruct();
	EXPECT(IN(6, 2), RETURN(5, 0x10), RETURN(4, 0x20), RETURN(3, 0x10), RETURN(2, 0x20),
	       RETURN(1, 0x10));
	assert_int_equal(f.frames[5].source, FRAME_SOURCE_STITCHED);
	assert_false(f.frames[5].is_verified);
	/* The same calls elsewhere in the ring are others. */
	f.in.top = 1;
	reconstruct();
	assert_int_equal(f.result.n_frames, 5);
	/* And another thread's are none of this one's. */
	f.in.top = 0;
	assert_int_equal(lbr_reconstruct(f.lbr, THREAD + 1, &f.in, f.frames, MAX, &f.result), 0);
	assert_int_equal(f.result.n_frames, 5);
	reconstruct();
	lbr_forget(f.lbr, THREAD);
	reconstruct();
	assert_int_equal(f.result.n_frames, 5);
}

/* A recursion deeper than the ring: the same call stood in the same place twice. */
static void lbr_recursion(void **state)
{
	(void)state;
	f.root = 1;
	f.in.ip = IN(2, 2);
	f.in.ring = 4;
	f.in.top = 2;
	ENTRIES(&f.in, CALL(2, 0x20, 2), CALL(2, 0x20, 2), CALL(1, 0x10, 2));
	reconstruct();
	assert_int_equal(f.result.n_frames, 4);
	f.in.top = 1;
	ENTRIES(&f.in, CALL(2, 0x20, 2), CALL(2, 0x20, 2), CALL(2, 0x20, 2), CALL(2, 0x20, 2));
	reconstruct();
	assert_int_equal(f.result.n_frames, 7);
	assert_int_equal(f.frames[6].source, FRAME_SOURCE_STITCHED);
	f.in.top = 2;
	ENTRIES(&f.in, CALL(2, 0x20, 2), CALL(2, 0x20, 2));
	reconstruct();
	assert_int_equal(f.result.n_frames, 3);
	assert_int_not_equal(f.result.end, STACKD_END_ENTRY);
}

static void lbr_prefix(void **state)
{
	const struct lbr_walked before[] = {{IN(4, 2), 0, false, false},
					    {RETURN(3, 0x10), STACK + 8, true, false},
					    {RETURN(2, 0x20), STACK + 40, true, false},
					    {RETURN(1, 0x10), STACK + 9000, true, false}};
	const struct lbr_walked now[] = {{IN(5, 2), 0, false, false},
					 {RETURN(2, 0x20), STACK + 40, true, false}};

	(void)state;
	use_stack(true);
	f.in.walked = before;
	f.in.n_walked = COUNT(before);
	f.in.walk_end = STACKD_END_ENTRY;
	reconstruct();
	f.in.walked = now;
	f.in.n_walked = COUNT(now);
	f.in.walk_end = STACKD_END_STACK_CUT;
	reconstruct();
	EXPECT(IN(5, 2), RETURN(2, 0x20), RETURN(1, 0x10));
	assert_int_equal(f.frames[2].source, FRAME_SOURCE_PREFIX);
	assert_int_equal(f.result.end, STACKD_END_ENTRY);
}

static void lbr_origin_runs(void **state)
{
	const struct lbr_frame frames[] = {
		{.source = FRAME_SOURCE_WALKED, .is_verified = true},
		{.source = FRAME_SOURCE_BRANCH, .is_verified = true},
		{.source = FRAME_SOURCE_BRANCH, .is_verified = true},
		{.source = FRAME_SOURCE_BRANCH},
		{.source = FRAME_SOURCE_STITCHED},
	};
	struct origin_run runs[COUNT(frames)];

	(void)state;
	assert_int_equal(lbr_runs(frames, COUNT(frames), runs), 4);
	assert_int_equal(runs[0].source, FRAME_SOURCE_STITCHED);
	assert_int_equal(runs[0].confidence, LBR_CONFIDENCE_STITCH);
	assert_int_equal(runs[1].confidence, LBR_CONFIDENCE_CHAIN);
	assert_int_equal(runs[2].frames, 2);
	assert_int_equal(runs[2].confidence, 100);
	assert_int_equal(runs[3].source, FRAME_SOURCE_WALKED);
	assert_int_equal(lbr_runs(frames, 0, runs), 0);
}

/* --- any branch ------------------------------------------------------------------------------ */

/* Newest first: 2 called 3, which returned; 2 called 4, which called 5; jumps in between. */
#define BRANCHES                                                                                   \
	{IN(5, 0x11), IN(5, 0x31)}, CALL(4, 0x20, 5), {IN(4, 0x5), IN(4, 0x18)}, CALL(2, 0x40, 4), \
		{IN(3, 0x3f), RETURN(2, 0x20)}, CALL(2, 0x20, 3),                                  \
	{                                                                                          \
		IN(1, 0xf), IN(2, 0x4)                                                             \
	}

/* Entries of the kernel alone, in a thread that was never seen before: no frame. */
static void lbr_no_frames(void **state)
{
	(void)state;
	f.in.ip = 0;
	ENTRIES(&f.in, {UINT64_C(0xffffffff81000010), UINT64_C(0xffffffff81000100)});
	assert_int_equal(lbr_reconstruct(f.lbr, THREAD + 1, &f.in, f.frames, MAX, &f.result), 0);
	assert_int_equal(f.result.n_frames, 0);
}

static void replay(void)
{
	assert_int_equal(lbr_replay(&f.in, f.frames, MAX, &f.result), 0);
}

static void replay_segment(void **state)
{
	(void)state;
	f.in.ip = IN(5, 0x33);
	ENTRIES(&f.in, BRANCHES);
	replay();
	EXPECT(IN(5, 0x33), RETURN(4, 0x20), RETURN(2, 0x40));
	assert_int_equal(f.result.end, STACKD_END_STACK_CUT);
	/* A chain of the leaf alone says nothing against them. */
	f.in.walked = &(struct lbr_walked){IN(5, 0x33), 0, false, false};
	f.in.n_walked = 1;
	replay();
	EXPECT(IN(5, 0x33), RETURN(4, 0x20), RETURN(2, 0x40));
}

/* The chain of frame pointers has no 4. */
static void replay_joined(void **state)
{
	const struct lbr_walked chain[] = {{IN(5, 0x33), 0, false, false},
					   {RETURN(2, 0x40), 0, true, false},
					   {RETURN(1, 0x70), 0, true, false}};

	(void)state;
	f.in.walked = chain;
	f.in.n_walked = COUNT(chain);
	f.in.walk_end = STACKD_END_ENTRY;
	ENTRIES(&f.in, BRANCHES);
	replay();
	EXPECT(IN(5, 0x33), RETURN(4, 0x20), RETURN(2, 0x40), RETURN(1, 0x70));
	assert_int_equal(f.frames[1].source, FRAME_SOURCE_BRANCH);
	assert_int_equal(f.frames[3].source, FRAME_SOURCE_WALKED);
	assert_int_equal(f.result.end, STACKD_END_ENTRY);
	/* With nothing that joins them, the chain stays as it is. */
	ENTRIES(&f.in, CALL(8, 0x20, 9));
	replay();
	EXPECT(IN(5, 0x33), RETURN(2, 0x40), RETURN(1, 0x70));
}

/* Returns that were called before the records began. */
static void replay_returns(void **state)
{
	(void)state;
	f.in.ip = IN(2, 0x90);
	ENTRIES(&f.in, {IN(3, 0x2f), RETURN(2, 0x80)}, CALL(3, 0x10, 4));
	replay();
	EXPECT(IN(2, 0x90));
	f.in.code.kind = NULL;
	replay();
	EXPECT(IN(2, 0x90));
}

/* 2 called 3, which called 4, which jumped back into 2. */
static void replay_longjmp(void **state)
{
	(void)state;
	f.in.ip = IN(2, 0x90);
	ENTRIES(&f.in, {IN(4, 0x2e), IN(2, 0x60)}, CALL(3, 0x10, 4), CALL(2, 0x20, 3),
		CALL(1, 0x10, 2));
	replay();
	EXPECT(IN(2, 0x90), RETURN(1, 0x10));
	/* Into a function that was called before the records began. */
	ENTRIES(&f.in, {IN(4, 0x2e), IN(1, 0x60)}, CALL(3, 0x10, 4), CALL(2, 0x20, 3));
	replay();
	EXPECT(IN(2, 0x90));
}

/* 2 called 8, whose code cannot be read. */
static void replay_unknown(void **state)
{
	(void)state;
	/* It may have called something. */
	f.in.ip = IN(8, 0x90);
	ENTRIES(&f.in, {IN(8, 0x3d), IN(8, 0x50)}, CALL(2, 0x20, 8), CALL(1, 0x10, 2));
	replay();
	EXPECT(IN(8, 0x90));
	/* What it called after that stands. */
	f.in.ip = IN(4, 0x90);
	ENTRIES(&f.in, CALL(3, 0x20, 4), {IN(8, 0x4d), IN(3, 0)}, {IN(8, 0x3d), IN(8, 0x50)},
		CALL(2, 0x20, 8), CALL(1, 0x10, 2));
	replay();
	EXPECT(IN(4, 0x90), RETURN(3, 0x20));
	/* It has returned, so 2 and its caller are as they were. */
	f.in.ip = IN(3, 0x90);
	ENTRIES(&f.in, CALL(2, 0x40, 3), {IN(8, 0x5d), RETURN(2, 0x20)}, {IN(8, 0x3d), IN(8, 0x50)},
		CALL(2, 0x20, 8), CALL(1, 0x10, 2));
	replay();
	EXPECT(IN(3, 0x90), RETURN(2, 0x40), RETURN(1, 0x10));
	/* A jump out of what it called, to somebody of whom nobody knows whether it still stood. */
	f.in.ip = IN(2, 0x90);
	ENTRIES(&f.in, {IN(4, 0x2e), IN(2, 0x60)}, CALL(3, 0x20, 4), {IN(8, 0x4d), IN(3, 0)},
		CALL(2, 0x20, 8), CALL(1, 0x10, 2));
	replay();
	EXPECT(IN(2, 0x90));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(lbr_chain),		T(lbr_longjmp),
		T(lbr_all_stale),	T(lbr_zero_length_call),
		T(lbr_tail_calls),	T(lbr_foreign_entries),
		T(lbr_no_frames),	T(lbr_unknown_leaf),
		T(lbr_limits),		T(lbr_walk_confirmed),
		T(lbr_walk_goes_on),	T(lbr_order_of_slots),
		T(lbr_guess),		T(lbr_stitched),
		T(lbr_prefix),		T(lbr_recursion),
		T(lbr_replaced_return), T(lbr_origin_runs),
		T(replay_segment),	T(replay_joined),
		T(replay_returns),	T(replay_longjmp),
		T(replay_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
