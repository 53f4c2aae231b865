/* SPDX-License-Identifier: MIT */
/* What the judge of walks through made code takes for right, and for wrong: chains of frame
 * pointers and leaves before, in and behind their frames, of walks that take them for one or the
 * other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/recorder/judge_jit.h"

#define PID   77
#define CODE  UINT64_C(0x7f0000010000)
#define STACK UINT64_C(0x7ffc00001000)
#define WORDS 40
#define LEAF  (CODE + 0x1010) /* of the leaf's address */

/* Return addresses: the callers' of the leaf, of its caller, and so on. */
#define RETURN(n) (CODE + (uint64_t)(n)*0x100 + 0x25)
#define DEPTH	  4
#define OUTSIDE	  UINT64_C(0x401234) /* in a file */

static struct judge_jit *judge;
static struct object made = {.kind = OBJECT_JIT}, file = {.kind = OBJECT_ELF};
static struct stackd_code_mark marks[DEPTH + 1];
static uint64_t stack[WORDS];
static struct walk_frame frames[DEPTH + 2];
static bool is_confirmed[DEPTH + 2];

/* nop; the return addresses follow calls. */
static bool give_window(void *arg, pid_t pid, const struct stackd_code_mark *mark,
			uint8_t *ret_bytes)
{
	uint64_t from =
		(mark->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE) * STACKD_CODE_BLOCK;

	(void)arg;
	assert_int_equal(pid, PID);
	memset(ret_bytes, 0x90, STACKD_CODE_BYTES);
	for (int n = 0; n < DEPTH; n++) {
		if (RETURN(n) - 5 - from < STACKD_CODE_BYTES)
			ret_bytes[RETURN(n) - 5 - from] = 0xe8;
	}
	return true;
}

static bool find(void *arg, uint64_t address, const struct object **ret_object,
		 uint64_t *ret_offset)
{
	(void)arg;
	*ret_object = address - CODE < 0x10000 ? &made : &file;
	*ret_offset = address;
	return address - CODE < 0x10000 || address == OUTSIDE - 1;
}

static uint64_t at(int word)
{
	return STACK + (uint64_t)word * 8;
}

/* The leaf's frame, and those of its callers, of six words each: saved rbp at words 4, 10, 16, 22,
 * and the return address above. */
static int set_up(void **state)
{
	(void)state;
	memset(stack, 0, sizeof(stack));
	memset(is_confirmed, 0, sizeof(is_confirmed));
	for (int n = 0; n < DEPTH; n++) {
		stack[4 + 6 * n] = at(10 + 6 * n);
		stack[5 + 6 * n] = n + 1 < DEPTH ? RETURN(n) : OUTSIDE;
		marks[n].address = RETURN(n);
	}
	stack[28] = at(30);
	marks[DEPTH].address = LEAF;
	for (int n = 0; n <= DEPTH; n++) {
		for (int i = 0; i < STACKD_CODE_BLOCKS; i++)
			marks[n].hashes[i] = 1;
	}
	return judge_jit_new(give_window, NULL, &judge);
}

static int tear_down(void **state)
{
	(void)state;
	judge_jit_free(judge);
	return 0;
}

/* Judges a walk of a sample with these words at rsp and rbp, at this address, whose frames have
 * their return addresses in these words, up to 0. */
static void take(int rsp, int rbp, uint64_t pc, const int *slots)
{
	struct walk_input in = {.stack = (const uint8_t *)(stack + rsp),
				.stack_bytes = (size_t)(WORDS - rsp) * 8,
				.pid = PID,
				.has_code = true,
				.code = marks,
				.code_count = DEPTH + 1,
				.find = find};
	struct judge_jit_walk walk = {.in = &in, .frames = frames, .is_confirmed = is_confirmed};

	in.regs.r[STACKD_REG_SP] = at(rsp);
	in.regs.r[STACKD_REG_FP] = at(rbp);
	in.regs.r[STACKD_REG_PC] = pc;
	frames[0] = (struct walk_frame){.address = pc, .object = &made};
	for (walk.count = 1; *slots; slots++, walk.count++) {
		uint64_t word = stack[*slots];

		frames[walk.count] = (struct walk_frame){.address = word,
							 .object = word == OUTSIDE ? &file : &made,
							 .slot = at(*slots),
							 .is_return = true};
	}
	judge_jit_take(judge, &walk);
}

static void assert_counts(uint64_t right, uint64_t wrong, uint64_t nearest, uint64_t unproven)
{
	struct judge_jit_counts counts = judge_jit_counts(judge);

	assert_int_equal(counts.right, right);
	assert_int_equal(counts.wrong, wrong);
	assert_int_equal(counts.nearest, nearest);
	assert_int_equal(counts.unproven, unproven);
}

static const int whole[] = {5, 11, 17, 23, 0}, without_caller[] = {11, 17, 23, 0};

/* Learns the distances of calls: as many samples in the leaf's frame as it takes. */
static void learn(void)
{
	for (int i = 0; i < 2; i++)
		take(2, 4, LEAF + 8, whole);
	assert_counts(8, 0, 0, 0);
}

static void leaf_in_its_frame(void **state)
{
	(void)state;
	take(2, 4, LEAF, whole);
	assert_counts(4, 0, 0, 0); /* the last one's caller is in a file */
}

static void walk_without_a_caller_of_the_chain(void **state)
{
	static const int without_second[] = {5, 17, 23, 0};

	(void)state;
	take(2, 4, LEAF, without_second);
	assert_counts(0, 1, 0, 0);
}

/* Before its frame is made, the leaf's caller has rbp: walks by that leave it out. */
static void leaf_taken_for_framed(void **state)
{
	(void)state;
	learn();
	for (unsigned n = 1; n < JUDGE_JIT_AT_LEAST; n++) {
		take(5, 10, LEAF, without_caller);
		assert_counts(8 + 2 * n, 0, 0, n);
	}
	take(5, 10, LEAF, without_caller);
	assert_counts(8 + 2 * JUDGE_JIT_AT_LEAST, JUDGE_JIT_AT_LEAST, 0, 0);
	/* With rbp pushed. */
	stack[4] = at(10);
	for (int n = 0; n < JUDGE_JIT_AT_LEAST; n++)
		take(4, 10, LEAF + 1, without_caller);
	assert_counts(8 + 4 * JUDGE_JIT_AT_LEAST, 2 * JUDGE_JIT_AT_LEAST, 0, 0);
}

/* Where the frame is made, an old word can look like a return address, but not in all samples. */
static void leaf_that_looks_bare_now_and_then(void **state)
{
	(void)state;
	learn();
	for (int n = 0; n < JUDGE_JIT_AT_LEAST; n++)
		take(5, 10, LEAF, without_caller);
	assert_int_equal(judge_jit_counts(judge).wrong, JUDGE_JIT_AT_LEAST);
	take(6, 10, LEAF, without_caller);
	assert_int_equal(judge_jit_counts(judge).wrong, 0);
	assert_int_equal(judge_jit_counts(judge).unproven, JUDGE_JIT_AT_LEAST);
	take(5, 10, LEAF, without_caller);
	assert_int_equal(judge_jit_counts(judge).wrong, 0);
}

/* A leaf that is left by its return address is right where its caller's frame is known, and wrong
 * where the word is an old one: its distance is another, always. */
static void leaf_taken_for_bare(void **state)
{
	static const int stale[] = {3, 11, 17, 23, 0};

	(void)state;
	learn();
	take(5, 10, LEAF, whole);
	assert_counts(12, 0, 0, 0);
	take(4, 10, LEAF + 1, whole);
	take(4, 4, LEAF + 2, whole);
	assert_counts(20, 0, 0, 0);
	stack[3] = RETURN(0);
	for (int n = 0; n < 40; n++)
		take(2, 4, LEAF + 8, whole);
	for (int n = 0; n < JUDGE_JIT_AT_LEAST; n++)
		take(3, 10, LEAF + 3, stale);
	assert_int_equal(judge_jit_counts(judge).wrong, JUDGE_JIT_AT_LEAST);
}

/* Calls whose frames differ, as an interpreter's, say nothing. */
static void distances_that_differ(void **state)
{
	(void)state;
	learn();
	stack[4] = at(11);
	stack[11] = at(16);
	take(2, 4, LEAF + 8, whole);
	stack[4] = at(10);
	stack[11] = RETURN(1);
	for (int n = 0; n < 40; n++)
		take(5, 10, LEAF, without_caller);
	assert_int_equal(judge_jit_counts(judge).wrong, 0);
}

/* Without frame pointers: the nearest return address leaves no caller out; and a caller that calls
 * the leaf directly is its caller. */
static void without_frame_pointers(void **state)
{
	static const int near[] = {5, 0}, far[] = {11, 0};

	(void)state;
	take(2, 0, LEAF, near);
	assert_counts(0, 0, 1, 0);
	take(2, 0, LEAF, far);
	assert_counts(0, 0, 1, 1);
	is_confirmed[0] = true;
	take(2, 0, LEAF, far);
	assert_counts(1, 0, 1, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(leaf_in_its_frame),	   T(walk_without_a_caller_of_the_chain),
		T(leaf_taken_for_framed),  T(leaf_that_looks_bare_now_and_then),
		T(leaf_taken_for_bare),	   T(distances_that_differ),
		T(without_frame_pointers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
