/* SPDX-License-Identifier: MIT */
/* Shares by user of what processes cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/recorder/user_shares.h"

#define SECOND_NS UINT64_C(1000000000)
#define BUDGET	  0.01
#define BURST	  1024

static struct user_shares fresh(void)
{
	return (struct user_shares){.burst = BURST, .per_core = 50};
}

static unsigned take_all(struct user_shares *s, uid_t user, uint64_t now_ns)
{
	unsigned n = 0;

	while (user_shares_take(s, user, 1, BUDGET, now_ns))
		n++;
	return n;
}

static void test_burst_and_rate(void **state)
{
	struct user_shares s = fresh();
	(void)state;

	assert_int_equal(take_all(&s, 1000, SECOND_NS), BURST);
	assert_int_equal(take_all(&s, 1000, SECOND_NS), 0);
	assert_int_equal(s.refused, 2);
	/* One in two seconds, at 1 % of a core. */
	assert_int_equal(take_all(&s, 1000, 2 * SECOND_NS), 0);
	assert_int_equal(take_all(&s, 1000, 3 * SECOND_NS + 1), 1);
	assert_int_equal(take_all(&s, 1000, 203 * SECOND_NS + 2), 100);
	/* What is saved is no more than a burst. */
	assert_int_equal(take_all(&s, 1000, 1000000 * SECOND_NS), BURST);
	assert_int_equal(take_all(&s, 1000, SECOND_NS), 0); /* the clock goes back */
}

/* Nobody spends another's share: neither a user's with many ids of namespaces, nor many users'. */
static void test_users(void **state)
{
	struct user_shares s = fresh();
	(void)state;

	take_all(&s, 1000, SECOND_NS);
	assert_int_equal(take_all(&s, 0, SECOND_NS), 4 * BURST);
	assert_int_equal(take_all(&s, 1001, SECOND_NS), BURST);
	assert_int_equal(take_all(&s, (uid_t)-1, SECOND_NS), BURST);
	assert_int_equal(take_all(&s, 131072, SECOND_NS), BURST);
	assert_int_equal(take_all(&s, 131073, SECOND_NS), 0);
	assert_int_equal(take_all(&s, 131072 + 65535, SECOND_NS), 0);
	assert_int_equal(take_all(&s, 131072 + 65536, SECOND_NS), BURST);
	/* What costs more than is left is refused whole. */
	assert_false(user_shares_take(&s, 4000, BURST + 1, BUDGET, SECOND_NS));
	assert_true(user_shares_take(&s, 4000, BURST, BUDGET, SECOND_NS));
	/* Users who cause little displace none of those that have spent theirs. */
	for (uid_t user = 2000; user < 2000 + 1000; user++)
		assert_true(user_shares_take(&s, user, 1, BUDGET, SECOND_NS));
	assert_int_equal(take_all(&s, 1000, SECOND_NS), 0);
	assert_int_equal(take_all(&s, 131072, SECOND_NS), 0);
}

/* What is known only afterwards leads into debt. */
static void test_debt(void **state)
{
	struct user_shares s = {.burst = 3, .per_core = 0.05};
	(void)state;

	user_shares_spend(&s, 1000, 2, 1, SECOND_NS);
	assert_true(user_shares_has(&s, 1000, 1, SECOND_NS));
	user_shares_spend(&s, 1000, 2, 1, SECOND_NS);
	assert_false(user_shares_has(&s, 1000, 1, SECOND_NS));
	assert_true(user_shares_has(&s, 1001, 1, SECOND_NS));
	assert_false(user_shares_has(&s, 1000, 1, 20 * SECOND_NS));
	assert_true(user_shares_has(&s, 1000, 1, 22 * SECOND_NS));
}

static void test_no_budget(void **state)
{
	struct user_shares s = fresh();
	(void)state;

	for (unsigned i = 0; i < 100000; i++)
		assert_true(user_shares_take(&s, 1000, 1, 0, SECOND_NS));
	assert_int_equal(s.refused, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst_and_rate),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_debt),
		cmocka_unit_test(test_no_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
