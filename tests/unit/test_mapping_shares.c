/* SPDX-License-Identifier: MIT */
/* Which events of mappings are left out, and who pays for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/hash.h"
#include "daemon/recorder/mapping_shares.h"

#define SECOND_NS UINT64_C(1000000000)
#define BUDGET	  0.01

static size_t slot_of(pid_t pid)
{
	return hash_mix64((uint64_t)pid) % MAPPING_SHARES_PROCESSES;
}

static unsigned take(struct mapping_shares *s, pid_t pid, unsigned n, uint64_t time_ns)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < n; i++)
		taken += mapping_shares_take(s, pid, BUDGET, time_ns);
	return taken;
}

static void test_many_are_left_out(void **state)
{
	struct mapping_shares s = {0};
	const unsigned many = 1000000;
	unsigned taken;
	(void)state;

	taken = take(&s, getpid(), many, 10 * SECOND_NS);
	assert_true(taken >= 1024 && taken < many / 10);
	/* A second later, few. */
	assert_int_equal(take(&s, getpid(), 10, 10 * SECOND_NS + SECOND_NS / 2), 0);
	taken = take(&s, getpid(), many, 12 * SECOND_NS);
	assert_true(taken >= MAPPING_SHARES_FREE && taken <= 32 * MAPPING_SHARES_FREE);
}

static void test_without_budget(void **state)
{
	struct mapping_shares s = {0};
	(void)state;

	for (unsigned i = 0; i < 100000; i++)
		assert_true(mapping_shares_take(&s, getpid(), 0, SECOND_NS));
}

/* Processes that take turns pay as one that makes all the events, and so do those of more than one
 * CPU, whose events are not in the order of time. */
static void test_in_one_slot(void **state)
{
	const unsigned many = 1000000;
	struct mapping_shares s = {0};
	pid_t pids[2] = {0x40000000, 0x40000001}; /* higher than any */
	unsigned taken = 0;
	(void)state;

	while (slot_of(pids[1]) != slot_of(pids[0]))
		pids[1]++;
	for (unsigned i = 0; i < many; i++)
		taken +=
			mapping_shares_take(&s, pids[i % 2], BUDGET, 10 * SECOND_NS - i % 2 * 1000);
	assert_in_range(taken, 1024, many / 10);
}

/* A process is not refused because another user's is, if it comes to the same slot. */
static void test_refused_alone(void **state)
{
	struct mapping_shares s = {0};
	pid_t other = 0x40000000; /* nobody's */
	(void)state;

	while (slot_of(other) != slot_of(getpid()))
		other++;
	take(&s, other, 1000000, 10 * SECOND_NS);
	assert_int_equal(take(&s, other, 1, 10 * SECOND_NS), 0);
	assert_int_equal(take(&s, getpid(), 10, 10 * SECOND_NS), 10);
}

static void test_reading_is_paid(void **state)
{
	struct mapping_shares s = {0};
	uid_t user;
	(void)state;

	assert_true(mapping_shares_may_read(&s, getpid(), BUDGET, 10 * SECOND_NS, &user));
	assert_int_equal(user, getuid());
	/* A burst of root's, in CPU time. */
	mapping_shares_have_read(&s, user, 2 * SECOND_NS, BUDGET, 10 * SECOND_NS);
	assert_false(mapping_shares_may_read(&s, getpid(), BUDGET, 10 * SECOND_NS, &user));
	assert_int_equal(take(&s, getpid(), 65, 10 * SECOND_NS), 64); /* mappings wait as well */
	assert_true(mapping_shares_may_read(&s, getpid(), BUDGET, 1000 * SECOND_NS, &user));
}

/* Of mappings that are applied none is free, and few cost nothing more than the look at their user.
 */
static void test_applied_are_paid(void **state)
{
	struct mapping_shares s = {0};
	unsigned taken = 0;
	(void)state;

	for (unsigned i = 0; i < 1000000; i++)
		taken += mapping_shares_pay(&s, getpid(), BUDGET, 10 * SECOND_NS);
	assert_in_range(taken, 1024, 100000);
	assert_int_equal(taken % MAPPING_SHARES_AT_ONCE, 0);
	/* In the ring some are free even so. */
	assert_int_equal(take(&s, getpid(), 1000, 10 * SECOND_NS), MAPPING_SHARES_FREE);
	assert_true(mapping_shares_pay(&s, getpid(), 0, 10 * SECOND_NS));
}

/* A process's refused mappings are reported once in each reading of the rings, even if another
 * process has taken the slot meanwhile. */
static void test_first_refusal(void **state)
{
	struct mapping_shares s = {0};
	pid_t other = 0x40000000;
	(void)state;

	while (slot_of(other) != slot_of(getpid()))
		other++;
	take(&s, getpid(), 1000000, 10 * SECOND_NS);
	assert_true(mapping_shares_is_first_refusal(&s, getpid(), 1));
	assert_false(mapping_shares_is_first_refusal(&s, getpid(), 1));
	assert_true(mapping_shares_is_first_refusal(&s, getpid(), 2));
	take(&s, other, 1000000, 10 * SECOND_NS);
	assert_true(mapping_shares_is_first_refusal(&s, other, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_are_left_out), cmocka_unit_test(test_without_budget),
		cmocka_unit_test(test_in_one_slot),	  cmocka_unit_test(test_refused_alone),
		cmocka_unit_test(test_reading_is_paid),	  cmocka_unit_test(test_first_refusal),
		cmocka_unit_test(test_applied_are_paid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
