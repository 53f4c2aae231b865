/* SPDX-License-Identifier: MIT */
/* A budget of processor time, kept by the rate and by pauses: daemon/budget.c and
 * daemon/work_debt.c, with costs that are simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/budget.h"
#include "daemon/base/cpu_share.h"
#include "daemon/work_debt.h"

#define SECOND UINT64_C(1000000000)

struct run {
	struct budget budget;
	uint64_t now_ns, cost_ns, caused_ns;
	uint64_t waking_ns;	   /* what waking up costs a second at a pace of 1 */
	uint64_t waited, since_ns; /* seconds since the last look, and the cost of their samples */
};

/* The next look is due, as in session.c. */
static bool is_due(const struct run *r)
{
	return r->waited >= budget_pace(&r->budget) ||
	       budget_is_spent(&r->budget, r->waited * SECOND, r->since_ns);
}

/* Runs for some seconds in which a sample costs so much, and everything else `fixed_ns` a second.
 * Returns the share of a core that was spent. */
static double spend(struct run *r, unsigned seconds, uint64_t sample_ns, uint64_t fixed_ns)
{
	uint64_t before = r->cost_ns;

	for (unsigned i = 0; i < seconds; i++) {
		r->now_ns += SECOND;
		r->since_ns += r->budget.rate_hz * sample_ns;
		r->cost_ns += r->budget.rate_hz * sample_ns + fixed_ns +
			      r->waking_ns / budget_pace(&r->budget);
		r->waited++;
		if (is_due(r)) {
			budget_look(&r->budget, r->now_ns, r->cost_ns, r->caused_ns);
			r->waited = r->since_ns = 0;
		}
		assert_in_range(r->budget.rate_hz, 1, r->budget.full_hz);
	}
	return (double)(r->cost_ns - before) / (double)(seconds * SECOND);
}

static struct run begin(double share, uint64_t rate)
{
	struct run r = {.budget = budget_begin(share, rate), .now_ns = 5 * SECOND};

	budget_look(&r.budget, r.now_ns, 0, 0);
	return r;
}

static void stays_at_the_rate(void **state)
{
	struct run r = begin(0.01, 99);

	(void)state;
	spend(&r, 100, 20000, SECOND / 1000);
	assert_int_equal(r.budget.rate_hz, 99);
	assert_int_equal(r.budget.changes, 0);
}

static void lowers_and_raises(void **state)
{
	struct run r = begin(0.01, 997);

	(void)state;
	spend(&r, 10, 50000, 0); /* 5 % at the full rate */
	assert_true(spend(&r, 60, 50000, 0) < 0.01);
	assert_in_range(r.budget.rate_hz, 100, 199);
	/* A sample is cheap again: the rate comes back, and stays. */
	assert_true(spend(&r, 60, 5000, 0) < 0.01);
	assert_int_equal(r.budget.rate_hz, 997);
	assert_in_range(r.budget.changes, 3, 12);
}

static void rarely_changes(void **state)
{
	struct run r = begin(0.01, 997);

	(void)state;
	spend(&r, 20, 50000, 0);
	r.budget.changes = 0;
	for (unsigned i = 0; i < 1000; i++)
		spend(&r, 1, 45000 + 10000 * (i % 2), 0);
	assert_in_range(r.budget.changes, 0, 5);
}

static void survives_what_does_not_depend_on_it(void **state)
{
	struct run r = begin(0.01, 99);

	(void)state;
	spend(&r, 20, 20000, SECOND / 2); /* half a core for tables */
	assert_int_equal(r.budget.rate_hz, 1);
	spend(&r, 120, 20000, 0);
	assert_int_equal(r.budget.rate_hz, 99);
}

/* A machine that does many things: what a sample costs changes, each second has other work, and
 * each minute 200 ms go into names. Every minute is within the budget, and most of it is used. */
static void keeps_it_while_costs_change(void **state)
{
	struct run r = begin(0.02, 997);
	uint64_t chance = 1, rates = 0, sample_ns = 40000;

	(void)state;
	spend(&r, 30, sample_ns, 0);
	for (unsigned minute = 0; minute < 60; minute++) {
		uint64_t before = r.cost_ns;

		for (unsigned second = 0; second < 60; second++) {
			chance = chance * 6364136223846793005u + 1442695040888963407u;
			if (chance >> 60 == 0)
				sample_ns = 20000 + (chance >> 32) % 40000;
			spend(&r, 1, sample_ns,
			      (second == 30 ? SECOND / 5 : 0) + (chance >> 20) % (SECOND / 250));
			rates += r.budget.rate_hz;
		}
		assert_true((double)(r.cost_ns - before) < 60 * 0.02 * (double)SECOND);
	}
	assert_true((double)r.cost_ns > 3600 * 0.008 * (double)SECOND);
	assert_true(rates / 3600 > 100);
}

/* Where waking up is what comes near the budget, it is done less often, and the rate is kept. */
static void saves_before_it_lowers(void **state)
{
	struct run r = begin(0.01, 99);

	(void)state;
	r.waking_ns = 9 * (SECOND / 1000);
	assert_true(spend(&r, 20, 5000, 0) < 0.01);
	assert_true(r.budget.is_saving);
	assert_true(spend(&r, 600, 5000, 0) < 0.005);
	assert_true(r.budget.is_saving);
	assert_int_equal(r.budget.changes, 0);
	/* Waking up is cheap again. */
	r.waking_ns = SECOND / 1000;
	spend(&r, 120, 5000, 0);
	assert_false(r.budget.is_saving);
	spend(&r, 600, 5000, 0);
	assert_false(r.budget.is_saving);
	assert_int_equal(r.budget.changes, 0);
}

/* It is not given up while the rate is lowered. */
static void saves_while_it_lowers(void **state)
{
	struct run r = begin(0.01, 997);

	(void)state;
	r.waking_ns = 8 * (SECOND / 1000);
	spend(&r, 20, 50000, 0);
	assert_true(r.budget.is_saving);
	assert_in_range(r.budget.rate_hz, 1, 200);
	assert_true(spend(&r, 600, 50000, 0) < 0.01);
	assert_true(r.budget.is_saving);
}

/* One expensive second lowers it by no more than a step. */
static void is_not_upset_by_one_second(void **state)
{
	struct run r = begin(0.01, 400);

	(void)state;
	spend(&r, 30, 5000, 0);
	spend(&r, 1, 5000, SECOND / 2);
	assert_int_equal(r.budget.rate_hz, 100);
}

/* What was seen of the cost can be less for a moment, when a process ends: nothing follows from it,
 * and what comes then counts from before. */
static void is_not_upset_by_less(void **state)
{
	struct run r = begin(0.01, 400);
	uint64_t cost;

	(void)state;
	spend(&r, 30, 5000, 0);
	cost = r.cost_ns;
	r.now_ns += SECOND;
	assert_false(budget_look(&r.budget, r.now_ns, cost / 2, 0));
	assert_int_equal(r.budget.rate_hz, 400);
	spend(&r, 30, 5000, 0);
	assert_int_equal(r.budget.rate_hz, 400);
	assert_in_range(r.budget.cost_ns, cost, r.cost_ns);
}

/* What processes cause at any rate does not lower it, up to two fifths of the budget. */
static void is_not_lowered_by_others(void **state)
{
	struct run r = begin(0.01, 99);

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		r.caused_ns += SECOND * 4 / 1000;
		spend(&r, 1, 40000, SECOND * 4 / 1000);
	}
	assert_int_equal(r.budget.rate_hz, 99);
	for (unsigned i = 0; i < 100; i++) {
		r.caused_ns += SECOND / 20;
		spend(&r, 1, 40000, SECOND / 20);
	}
	assert_int_equal(r.budget.rate_hz, 1);
}

/* A round takes what is in the rings, however long they have filled, and as much again for what
 * users may cause: with pauses between the rounds, and smaller shares, the sum keeps the budget. */
static void pays_its_debts(void **state)
{
	const uint64_t round_ns = SECOND / 100, users_ns = SECOND / 20;
	struct work_debt debt = work_debt_begin(0.01, SECOND, SECOND);
	uint64_t now_ns = SECOND, spent_ns = SECOND;

	(void)state;
	assert_false(work_debt_is(&debt));
	while (now_ns < 1000 * SECOND) {
		uint64_t pause_ns = work_debt_pause_ns(&debt);

		assert_true(pause_ns <= WORK_DEBT_PAUSE_NS);
		now_ns += pause_ns + SECOND / 1000;
		spent_ns += round_ns / 2 + (uint64_t)((double)users_ns * work_debt_part(&debt));
		work_debt_look(&debt, spent_ns, now_ns);
	}
	assert_true((double)(spent_ns - SECOND) < 0.01 * 999 * (double)SECOND);
	assert_true((double)(spent_ns - SECOND) > 0.007 * 999 * (double)SECOND);
}

/* Everything at once: the rings are always full, tables and names are always wanted, each for a
 * fiftieth of a second, and users cause what their shares let them. Once the start is over, any two
 * minutes keep the budget, though much had been saved for tables and names. */
static void bounds_all_work_together(void **state)
{
	enum { TABLES_OF_ROOT, TABLES_OF_USERS, NAMES, KINDS, MOST_ROUNDS = 100000 };
	static const double parts[KINDS] = {0.25, 0.25, 0.5};
	static uint64_t at_ns[MOST_ROUNDS], spent_by_ns[MOST_ROUNDS];
	struct cpu_share work[KINDS];
	struct work_debt debt = work_debt_begin(0.01, 0, SECOND);
	uint64_t now_ns = SECOND, spent_ns = 0, before_ns;
	unsigned rounds = 0, first = 0;

	(void)state;
	for (int i = 0; i < KINDS; i++)
		work[i] = cpu_share_begin(0.01 * parts[i], 20 * SECOND, now_ns);
	while (now_ns < 2000 * SECOND) {
		now_ns += work_debt_pause_ns(&debt) + SECOND / 1000;
		before_ns = spent_ns;
		spent_ns += SECOND / 100 + (uint64_t)(3e6 * work_debt_part(&debt)); /* users */
		for (int i = 0; i < KINDS; i++) {
			cpu_share_change(&work[i], 0.01 * parts[i] * work_debt_part(&debt),
					 work_debt_keeps_savings(&debt));
			if (cpu_share_wait_ns(&work[i], now_ns))
				continue;
			cpu_share_spend(&work[i], SECOND / 50, now_ns);
			spent_ns += SECOND / 50;
		}
		assert_true(spent_ns > before_ns && rounds < MOST_ROUNDS);
		work_debt_look(&debt, spent_ns, now_ns);
		at_ns[rounds] = now_ns;
		spent_by_ns[rounds++] = spent_ns;
	}
	while (at_ns[first] < 120 * SECOND)
		first++;
	assert_true(spent_by_ns[first] > SECOND); /* of what was saved, the start has used some */
	for (unsigned to = first; to < rounds; to++) {
		while (at_ns[to] - at_ns[first] > 120 * SECOND)
			first++;
		assert_true(spent_by_ns[to] - spent_by_ns[first] < 120 * SECOND / 100);
	}
}

/* One expensive task does not slow it down for more than two minutes. */
static void forgets_large_debts(void **state)
{
	struct work_debt debt = work_debt_begin(0.01, 0, SECOND);

	(void)state;
	work_debt_look(&debt, 1000 * SECOND, SECOND);
	assert_true(work_debt_is(&debt));
	assert_int_equal(work_debt_pause_ns(&debt), WORK_DEBT_PAUSE_NS);
	assert_true(work_debt_part(&debt) < 0.2);
	work_debt_look(&debt, 999 * SECOND, 60 * SECOND); /* it can seem to be less for a moment */
	work_debt_look(&debt, 1000 * SECOND, 120 * SECOND);
	assert_false(work_debt_is(&debt));
	assert_true(work_debt_part(&debt) == 1);
}

static void without_debt(void **state)
{
	struct work_debt debt = work_debt_begin(0, 0, SECOND);

	(void)state;
	work_debt_look(&debt, 1000 * SECOND, 2 * SECOND);
	assert_false(work_debt_is(&debt));
	assert_int_equal(work_debt_pause_ns(&debt), 0);
	assert_true(work_debt_part(&debt) == 1);
}

static void without_budget(void **state)
{
	struct run r = begin(0, 99);

	(void)state;
	spend(&r, 20, SECOND / 99, 0);
	assert_int_equal(r.budget.rate_hz, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays_at_the_rate),
		cmocka_unit_test(lowers_and_raises),
		cmocka_unit_test(rarely_changes),
		cmocka_unit_test(survives_what_does_not_depend_on_it),
		cmocka_unit_test(keeps_it_while_costs_change),
		cmocka_unit_test(saves_before_it_lowers),
		cmocka_unit_test(saves_while_it_lowers),
		cmocka_unit_test(is_not_upset_by_one_second),
		cmocka_unit_test(is_not_upset_by_less),
		cmocka_unit_test(is_not_lowered_by_others),
		cmocka_unit_test(pays_its_debts),
		cmocka_unit_test(bounds_all_work_together),
		cmocka_unit_test(forgets_large_debts),
		cmocka_unit_test(without_debt),
		cmocka_unit_test(without_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
