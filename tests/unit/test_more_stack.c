/* SPDX-License-Identifier: MIT */
/*
 * Stacks that are sent in parts, by the unmodified kernel half (bpf/more_stack.bpf.h): which parts
 * are sent, left out or sent again, what each is charged, and how time makes up for it.
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

#define PART	 ((uint64_t)STACKD_MORE_PART)
#define LOW	 (STACKS_AT + 0x800000) /* a stack of its own, below the second thread's */
#define PARTS	 32			/* behind the copy in the record */
#define HIGH	 (LOW + (PARTS + 2) * PART)
#define NEAR	 2 /* parts that are sent whatever the rate: up to stack_limit */
#define HOLE	 7 /* the part that was never written */
#define FIRST_AT 1000000000ull

static struct scratch scratch;
static struct stackd_more_stack parts[PARTS];
static uint32_t n_parts;

static long receive(const void *data, size_t size)
{
	const struct stackd_more_stack *more = data;

	assert_true(n_parts < PARTS);
	assert_int_equal(more->header.kind, STACKD_RECORD_MORE_STACK);
	assert_int_equal(size, sizeof(*more) + more->sent);
	parts[n_parts++] = *more;
	return 0;
}

/* Sends a sample's stack. Returns what it was charged, of bytes. */
static int64_t sample(void)
{
	const int64_t before = more_debt;

	n_parts = 0;
	scratch.record.header.tid = machine.threads[0].tid;
	scratch.record.header.time_ns = shim_time_ns;
	scratch.record.wanted = 1; /* a table that is not loaded */
	scratch.record.regs.r[STACKD_REG_SP] = LOW;
	assert_int_equal(send_more(&scratch), 0);
	return more_debt - before;
}

static void check_parts(uint32_t n, bool are_same)
{
	assert_int_equal(n_parts, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(parts[i].start, LOW + (2 + i) * PART);
		assert_int_equal(parts[i].bytes, PART);
		assert_int_equal(parts[i].is_same, are_same && i != HOLE);
		assert_int_equal(parts[i].sent, are_same || i == HOLE ? 0 : PART);
		assert_int_equal(parts[i].holes, i == HOLE ? 0xf : 0);
		assert_int_equal(parts[i].is_last, i == PARTS - 1);
	}
}

/* What is sent costs its bytes, what is left out a quarter, and what is not in memory a sixteenth:
 * that is looked for, and the same part is copied and hashed in full. */
static void test_charges(void **state)
{
	(void)state;
	assert_int_equal(sample(), (PARTS - 1) * PART + PART / 16);
	check_parts(PARTS, false);
	for (int i = 0; i < MORE_AGAIN; i++) {
		assert_int_equal(sample(), (PARTS - 1) * PART / 4 + PART / 16);
		check_parts(PARTS, true);
	}
	assert_int_equal(sample(), (PARTS - 1) * PART + PART / 16); /* the daemon may lack them */
	check_parts(PARTS, false);
}

static void test_changed_part_is_sent(void **state)
{
	(void)state;
	sample();
	shim_write_word(LOW + 5 * PART + 64, 1);
	assert_int_equal(sample(), PART + (PARTS - 2) * PART / 4 + PART / 16);
	for (uint32_t i = 0; i < PARTS; i++)
		assert_int_equal(parts[i].sent, i == 3 ? PART : 0);
}

/* The daemon does not keep a part for ever. */
static void test_old_part_is_sent(void **state)
{
	(void)state;
	sample();
	shim_time_ns += MORE_FRESH_NS - 1;
	sample();
	check_parts(PARTS, true);
	shim_time_ns += MORE_FRESH_NS;
	sample();
	check_parts(PARTS, false);
}

static void test_time_makes_up(void **state)
{
	(void)state;
	more_debt = 1000;
	shim_time_ns += 100 * MORE_NS_A_BYTE;
	assert_true(may_send_more());
	assert_int_equal(more_debt, 900);
	assert_true(may_send_more()); /* the same time makes up for nothing more */
	assert_int_equal(more_debt, 900);
	shim_time_ns += 1000 * MORE_NS_A_BYTE;
	assert_true(may_send_more());
	assert_int_equal(more_debt, 0);
	assert_int_equal(more_ns, shim_time_ns);
}

/* Another CPU has written a later time meanwhile. */
static void test_earlier_time_makes_up_for_nothing(void **state)
{
	(void)state;
	more_debt = 2 * MORE_AT_ONCE;
	shim_time_ns = more_ns - 1;
	assert_false(may_send_more());
	assert_int_equal(more_debt, 2 * MORE_AT_ONCE);
	assert_int_equal(more_ns, FIRST_AT);
}

/* Above the rate, a stack is sent as far as stack_limit, until time has made up for what was sent.
 */
static void test_rate(void **state)
{
	(void)state;
	more_debt = MORE_AT_ONCE;
	sample();
	check_parts(NEAR, false);
	more_debt = MORE_AT_ONCE + 1000;
	shim_time_ns += 1000 * MORE_NS_A_BYTE;
	sample();
	assert_int_equal(n_parts, NEAR);
	more_debt = MORE_AT_ONCE;
	shim_time_ns += MORE_NS_A_BYTE;
	sample();
	assert_int_equal(n_parts, PARTS);
	assert_true(more_debt > MORE_AT_ONCE);
}

static int set_up(void **state)
{
	static const uint8_t page[SHIM_PAGE] = {1};

	(void)state;
	roots = aligned_alloc(256, (size_t)256 * ROOTS);
	assert_non_null(roots);
	make_program(1);
	mappings[FAKE_MODULES].vm_start = LOW;
	mappings[FAKE_MODULES].vm_end = HIGH;
	change_mappings();
	shim_add_region(LOW, HIGH - LOW);
	for (uint64_t at = LOW; at < HIGH; at += sizeof(page)) {
		if ((at - LOW) / PART != HOLE + 2)
			shim_write(at, page, sizeof(page));
	}
	shim_make_array(&more_parts, STACKD_MORE_SLOTS);
	shim_task = &tasks[0];
	shim_ring = receive;
	shim_time_ns = more_ns = FIRST_AT;
	more_debt = 0;
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
		cmocka_unit_test_setup_teardown(test_charges, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changed_part_is_sent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_old_part_is_sent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_time_makes_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_earlier_time_makes_up_for_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_rate, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
