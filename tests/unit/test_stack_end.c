/* SPDX-License-Identifier: MIT */
/*
 * The end of a thread's stack, as the unmodified kernel half finds it (bpf/window.bpf.h): that of
 * its mapping, or of its part of a mapping that holds more.
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
	scratch.record.regs.r[STACKD_REG_RSP] = sp;
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
	scratch.record.regs.r[STACKD_REG_RSP] = SP + 0x8000;
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
