/* SPDX-License-Identifier: MIT */
/*
 * The end of a thread's stack, as the unmodified kernel half finds it (bpf/stack_window.bpf.h):
 * that of its mapping, or of its part of a mapping that holds more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#include "fake_process.h"

#define LOW  STACKS_AT
#define HIGH (STACKS_AT + THREAD_STACK_BYTES)
#define SP   (LOW + 0x10000)

/* The end for the first thread with this stack pointer and this thread pointer. */
static uint64_t end_of(uint64_t sp, uint64_t thread_pointer)
{
	static struct scratch scratch;

	forget_stack_end((uint32_t)tasks[0].pid);
	tasks[0].thread.fsbase = thread_pointer;
	shim_task = &tasks[0];
	scratch.record.regs.r[STACKD_REG_SP] = sp;
	assert_int_equal(find_stack_end(&scratch), 0);
	return scratch.stack_end;
}

static void test_end_of_the_mapping(void **state)
{
	(void)state;
	assert_int_equal(end_of(SP, 0), HIGH);
	assert_int_equal(end_of(SP, LOW - 64), HIGH);
	assert_int_equal(end_of(SP, HIGH), HIGH);
	assert_int_equal(end_of(SP, HIGH + 0x1000), HIGH);
}

/* The mapping goes on above the control block: with a guard that no mapping shows, and with the
 * next thread's stack. */
static void test_end_at_the_control_block(void **state)
{
	(void)state;
	assert_int_equal(end_of(SP, SP + 0x4000), SP + 0x4000);
	assert_int_equal(end_of(SP, SP + 8), SP + 8);
}

/* On an alternate stack above its own, a thread's control block is below. */
static void test_stack_above_the_control_block(void **state)
{
	(void)state;
	assert_int_equal(end_of(SP, SP), HIGH);
	assert_int_equal(end_of(SP, SP - 0x4000), HIGH);
}

/* What is kept for a stack below the control block does not serve one above it. */
static void test_end_is_kept_for_one_stack(void **state)
{
	static struct scratch scratch;

	(void)state;
	assert_int_equal(end_of(SP, SP + 0x4000), SP + 0x4000);
	scratch.record.regs.r[STACKD_REG_SP] = SP + 0x8000;
	assert_int_equal(find_stack_end(&scratch), 0);
	assert_int_equal(scratch.stack_end, HIGH);
}

static void test_main_thread_ends_at_its_entry(void **state)
{
	(void)state;
	mm.start_stack = SP + 0x2000;
	assert_int_equal(end_of(SP, 0), SP + 0x2008);
	assert_int_equal(end_of(SP, SP + 0x4000), SP + 0x2008);
}

/* Is a return address of 0 the end, for a walk whose last frame of these was interrupted or not,
 * and was left by this rule? NULL: the cache has lost it. */
static int is_end_by(const struct stackd_rule *rule, uint32_t frames, bool was_interrupted,
		     uint64_t slot, uint64_t end)
{
	static struct scratch scratch;
	const uint32_t number = 7;
	const struct rule_range range = {0, 0x10000};
	struct rule_set *set;
	uint64_t hash;

	scratch.location = UINT64_C(5) << 48 | 0x1234;
	hash = block_hash(scratch.location);
	set = rule_set_of(&scratch, hash);
	assert_non_null(set);
	*set = (struct rule_set){0};
	if (rule) {
		*(struct stackd_rule *)bpf_map_lookup_elem(&rules, &number) = *rule;
		set->ways[1] = entry_of(hash, 0x1234, &range, number);
	}
	scratch.n_new = frames;
	scratch.marks[RECENT(frames - 1)].slot = SP | (was_interrupted ? MARK_EXACT : 0);
	scratch.walk.slot = slot;
	scratch.stack_end = end;
	return IS_WHOLE(end_at_zero(&scratch));
}

static int is_end(uint32_t frames, bool was_interrupted, uint64_t slot, uint64_t end)
{
	const struct stackd_rule rule = {.cfa = STACKD_CFA_REG, .reg = STACKD_REG_SP};

	return is_end_by(&rule, frames, was_interrupted, slot, end);
}

static void test_zero_is_the_end(void **state)
{
	(void)state;
	assert_true(is_end(2, false, SP, HIGH));      /* behind a frame that has called another */
	assert_true(is_end(1, true, HIGH - 8, HIGH)); /* at the stack's end */
	assert_true(is_end(3, true, HIGH - 8, HIGH));
	assert_true(is_end(1, true, SP, 0)); /* which is not known */
}

/* The leaf, and what a signal has interrupted, may be changing their stack. */
static void test_zero_is_any_word(void **state)
{
	(void)state;
	assert_false(is_end(1, true, SP, HIGH));
	assert_false(is_end(3, true, SP, HIGH));
}

/* A rule that was made from instructions does not prove that the word is a return address. */
static void test_zero_by_rules_of_code(void **state)
{
	const struct stackd_rule of_code = {
		.cfa = STACKD_CFA_REG, .reg = STACKD_REG_SP, .cfa_add = STACKD_OF_CODE};
	const struct stackd_rule realigned = {.cfa = STACKD_CFA_DEREF, .reg = STACKD_REG_FP};

	(void)state;
	assert_false(is_end_by(&of_code, 2, false, SP, HIGH));
	assert_true(is_end_by(&of_code, 2, false, HIGH - 8, HIGH));
	assert_false(is_end_by(&realigned, 2, false, SP, HIGH));
	assert_false(is_end_by(NULL, 2, false, SP, HIGH));
}

static int set_up(void **state)
{
	(void)state;
	roots = aligned_alloc(256, (size_t)256 * ROOTS);
	assert_non_null(roots);
	make_program(1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shim_free_regions();
	shim_free_maps();
	free(roots);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_end_of_the_mapping, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end_at_the_control_block, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stack_above_the_control_block, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_end_is_kept_for_one_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_main_thread_ends_at_its_entry, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_zero_is_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_zero_is_any_word, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_zero_by_rules_of_code, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
