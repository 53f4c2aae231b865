/* SPDX-License-Identifier: MIT */
/*
 * Call paths from branch records: entries that are kept, stale entries that are left out, and the
 * sources of frames.
 */
#include "lbr_fixture.h"

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

/* The path before the ring's oldest entry is unknown, and entries that fit nowhere are left out. */
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

/* 1 calls 2, which jumps into 3; then a function with an indirect jump, and an unknown one. */
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
	const struct lbr_walked walked[] = {{IN(4, 2), 0, false, false, 0},
					    {RETURN(3, 0x10), STACK + 8, true, false, 0},
					    {RETURN(2, 0x20), STACK + 40, true, false, 0},
					    {RETURN(1, 0x10), STACK + 80, true, false, 0}};

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
	const struct lbr_walked leaf = {IN(4, 2), 0, false, false, 0};

	(void)state;
	use_stack(false);
	f.stack[3] = RETURN(3, 0x10);
	f.stack[9] = RETURN(2, 0x20);
	f.in.walked = &leaf;
	f.in.n_walked = 1;
	f.in.walk_end = STACKD_END_NO_RECIPE;
	f.on_from = RETURN(3, 0x10);
	f.on[0] = (struct lbr_walked){RETURN(2, 0x20), STACK + 72, true, false, 0};
	f.on[1] = (struct lbr_walked){RETURN(1, 0x10), STACK + 96, true, false, 0};
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

/* An entry counts only above the slot of the one before, and memory that was read completely
 * disproves the others. */
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

/* A frame-pointer step that skips a caller is rejected. */
static void lbr_guess(void **state)
{
	const struct lbr_walked walked[] = {{IN(4, 2), 0, false, false, 0},
					    {RETURN(2, 0x20), STACK + 72, true, true, 0},
					    {RETURN(1, 0x10), STACK + 96, true, true, 0}};

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
	/* If the skipped call is unknown, the guess is kept. */
	ENTRIES(&f.in, CALL(2, 0x20, 3), CALL(1, 0x10, 2));
	reconstruct();
	EXPECT(IN(4, 2), RETURN(2, 0x20), RETURN(1, 0x10));
}

/* A retpoline's thunk, 4: it calls within itself, and the recipe's caller of the thunk is above
 * that call's return address, until that one has been written over. A call of the same kind that
 * has returned, or that another function made, is not added. */
static void lbr_local_call(void **state)
{
	const struct lbr_walked walked[] = {{IN(4, 0xc), 0, false, false, 0},
					    {RETURN(3, 0x10), STACK + 8, true, false, 0},
					    {RETURN(1, 0x10), STACK + 80, true, false, 0}};

	(void)state;
	use_stack(false);
	f.stack[0] = RETURN(4, 0);
	f.in.walked = walked;
	f.in.n_walked = COUNT(walked);
	f.in.walk_end = STACKD_END_ENTRY;
	ENTRIES(&f.in, {IN(4, 0), IN(4, 0xc)}, CALL(3, 0x10, 4), CALL(1, 0x10, 3));
	reconstruct();
	EXPECT(IN(4, 0xc), RETURN(4, 0), RETURN(3, 0x10), RETURN(1, 0x10));
	assert_int_equal(f.result.end, STACKD_END_ENTRY);
	assert_int_equal(f.frames[1].slot, STACK);
	assert_int_equal(f.frames[1].source, FRAME_SOURCE_BRANCH);
	assert_true(f.frames[1].is_verified && f.frames[1].is_return);
	assert_int_equal(f.result.n_stale, 0);
	f.stack[0] = IN(9, 0);
	reconstruct();
	EXPECT(IN(4, 0xc), RETURN(3, 0x10), RETURN(1, 0x10));
	f.stack[0] = RETURN(4, 0);
	ENTRIES(&f.in, {IN(4, 0), IN(4, 0)}, CALL(3, 0x10, 4), CALL(1, 0x10, 3));
	reconstruct();
	EXPECT(IN(4, 0xc), RETURN(3, 0x10), RETURN(1, 0x10));
	f.stack[0] = RETURN(5, 0);
	ENTRIES(&f.in, {IN(5, 0), IN(5, 0xc)}, CALL(3, 0x10, 4), CALL(1, 0x10, 3));
	reconstruct();
	EXPECT(IN(4, 0xc), RETURN(3, 0x10), RETURN(1, 0x10));
}

/* Over the return address of the leaf's caller another has been written, of a call that does not
 * lead to the leaf. */
static void lbr_replaced_return(void **state)
{
	const struct lbr_walked walked[] = {{IN(4, 2), 0, false, false, 0},
					    {RETURN(2, 0x20), STACK + 24, true, false, 0},
					    {RETURN(9, 0x20), STACK + 32, true, false, 0}};

	(void)state;
	use_stack(false);
	f.in.walked = walked;
	f.in.n_walked = COUNT(walked);
	f.in.walk_end = STACKD_END_ENTRY;
	f.direct[0] = RETURN(2, 0x20);
	f.direct[1] = 3;
	f.on_from = RETURN(3, 0x10);
	f.on[0] = (struct lbr_walked){RETURN(2, 0x20), STACK + 72, true, false, 0};
	f.on[1] = (struct lbr_walked){RETURN(1, 0x10), STACK + 96, true, false, 0};
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
	/* Nor does it stand against a call whose target is unknown. */
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
	/* The same entries at other indexes of the ring are other calls. */
	f.in.top = 1;
	reconstruct();
	assert_int_equal(f.result.n_frames, 5);
	/* Entries of another thread are not stitched to this one's. */
	f.in.top = 0;
	assert_int_equal(lbr_reconstruct(f.lbr, THREAD + 1, &f.in, f.frames, MAX, &f.result), 0);
	assert_int_equal(f.result.n_frames, 5);
	reconstruct();
	lbr_forget(f.lbr, THREAD);
	reconstruct();
	assert_int_equal(f.result.n_frames, 5);
}

/* A recursion deeper than the ring: the same call was at the same index twice. */
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
	const struct lbr_walked before[] = {{IN(4, 2), 0, false, false, 0},
					    {RETURN(3, 0x10), STACK + 8, true, false, 0},
					    {RETURN(2, 0x20), STACK + 40, true, false, 0},
					    {RETURN(1, 0x10), STACK + 9000, true, false, 0}};
	const struct lbr_walked now[] = {{IN(5, 2), 0, false, false, 0},
					 {RETURN(2, 0x20), STACK + 40, true, false, 0}};

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

/* Entries of the kernel alone, in a thread that was never seen before: no frame. */
static void lbr_no_frames(void **state)
{
	(void)state;
	f.in.ip = 0;
	ENTRIES(&f.in, {UINT64_C(0xffffffff81000010), UINT64_C(0xffffffff81000100)});
	assert_int_equal(lbr_reconstruct(f.lbr, THREAD + 1, &f.in, f.frames, MAX, &f.result), 0);
	assert_int_equal(f.result.n_frames, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(lbr_chain),	     T(lbr_longjmp),
		T(lbr_all_stale),    T(lbr_zero_length_call),
		T(lbr_tail_calls),   T(lbr_foreign_entries),
		T(lbr_no_frames),    T(lbr_unknown_leaf),
		T(lbr_limits),	     T(lbr_walk_confirmed),
		T(lbr_walk_goes_on), T(lbr_order_of_slots),
		T(lbr_guess),	     T(lbr_stitched),
		T(lbr_prefix),	     T(lbr_recursion),
		T(lbr_local_call),   T(lbr_replaced_return),
		T(lbr_origin_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
