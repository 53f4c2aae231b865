/* SPDX-License-Identifier: MIT */
/* Branch records of every kind: calls and returns replayed, and joined with a walk. */
#include "lbr_fixture.h"

/* Newest first: 2 called 3, which returned; 2 called 4, which called 5; jumps in between. */
#define BRANCHES                                                                                   \
	{IN(5, 0x11), IN(5, 0x31)}, CALL(4, 0x20, 5), {IN(4, 0x5), IN(4, 0x18)}, CALL(2, 0x40, 4), \
		{IN(3, 0x3f), RETURN(2, 0x20)}, CALL(2, 0x20, 3),                                  \
	{                                                                                          \
		IN(1, 0xf), IN(2, 0x4)                                                             \
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
	/* A chain of the leaf alone does not contradict them. */
	f.in.walked = &(struct lbr_walked){IN(5, 0x33), 0, false, false, 0};
	f.in.n_walked = 1;
	replay();
	EXPECT(IN(5, 0x33), RETURN(4, 0x20), RETURN(2, 0x40));
}

/* The chain of frame pointers has no 4. */
static void replay_joined(void **state)
{
	const struct lbr_walked chain[] = {{IN(5, 0x33), 0, false, false, 0},
					   {RETURN(2, 0x40), 0, true, false, 0},
					   {RETURN(1, 0x70), 0, true, false, 0}};

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
	/* Calls that follow it are kept. */
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
	/* A callee jumps to a function that may have returned already. */
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
		T(replay_segment), T(replay_joined),  T(replay_returns),
		T(replay_longjmp), T(replay_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
