/* SPDX-License-Identifier: MIT */
/*
 * The order of time: daemon/recorder/reorder.c. Every item is an allocation of its own, so that the
 * sanitizers see what is lost or handed out twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "daemon/capture/record_pool.h"
#include "daemon/recorder/reorder.h"
#include "base/hash.h"

#define ROUNDS 200

/* An item carries its number of arrival: a sample in `tid`, an event in `lost`. */
static void push(struct reorder *q, uint64_t time_ns, uint32_t number, bool is_event)
{
	struct reorder_item item = {.time_ns = time_ns};

	if (is_event) {
		item.event = record_pool_take(NULL, sizeof(*item.event));
		assert_non_null(item.event);
		*item.event = (struct sideband_event){.lost = number};
	} else {
		item.sample = record_pool_take(NULL, sizeof(*item.sample));
		assert_non_null(item.sample);
		*item.sample = (struct stackd_header){.tid = number};
	}
	assert_int_equal(reorder_push(q, &item), 0);
}

static uint32_t number_of(const struct reorder_item *item)
{
	assert_true(!item->event != !item->sample);
	return item->event ? (uint32_t)item->event->lost : item->sample->tid;
}

static void release(struct reorder_item *item)
{
	record_pool_give_back(item->sample);
	record_pool_give_back(item->event);
}

static void assert_pops(struct reorder *q, uint64_t horizon_ns, uint64_t time_ns, uint32_t number)
{
	struct reorder_item item;

	assert_true(reorder_pop(q, horizon_ns, &item));
	assert_int_equal(item.time_ns, time_ns);
	assert_int_equal(number_of(&item), number);
	release(&item);
}

static void assert_waits(struct reorder *q, uint64_t horizon_ns, size_t waiting)
{
	struct reorder_item item = {.time_ns = 4711};

	assert_false(reorder_pop(q, horizon_ns, &item));
	assert_int_equal(item.time_ns, 4711);
	assert_int_equal(reorder_waiting(q), waiting);
}

/* --- by hand --------------------------------------------------------------------------------- */

static void test_older_than_the_horizon_goes_out_in_order(void **state)
{
	struct reorder *q = NULL;

	(void)state;
	assert_int_equal(reorder_new(&q), 0);
	assert_waits(q, UINT64_MAX, 0);
	push(q, 30, 1, false);
	push(q, 10, 2, false);
	push(q, 20, 3, true);
	assert_waits(q, 10, 3);
	assert_pops(q, 11, 10, 2);
	assert_waits(q, 20, 2);
	assert_pops(q, 30, 20, 3);
	assert_waits(q, 30, 1);
	assert_pops(q, 31, 30, 1);
	assert_waits(q, UINT64_MAX, 0);
	assert_int_equal(reorder_late(q), 0);
	reorder_free(q);
}

/* At equal times, an event applies to the samples of that time. */
static void test_events_come_before_samples_of_the_same_time(void **state)
{
	struct reorder *q = NULL;

	(void)state;
	assert_int_equal(reorder_new(&q), 0);
	push(q, 5, 1, false);
	push(q, 5, 2, true);
	push(q, 5, 3, false);
	push(q, 5, 4, true);
	push(q, 4, 5, false);
	assert_pops(q, 6, 4, 5);
	assert_pops(q, 6, 5, 2);
	assert_pops(q, 6, 5, 4);
	assert_pops(q, 6, 5, 1);
	assert_pops(q, 6, 5, 3);
	reorder_free(q);
}

static void test_late_items_are_counted_and_handed_out(void **state)
{
	struct reorder *q = NULL;

	(void)state;
	assert_int_equal(reorder_new(&q), 0);
	push(q, 100, 1, false);
	assert_pops(q, 101, 100, 1);
	push(q, 100, 2, false); /* as old as that: in order */
	assert_int_equal(reorder_late(q), 0);
	push(q, 99, 3, true);
	assert_int_equal(reorder_late(q), 1);
	push(q, 50, 4, false);
	assert_int_equal(reorder_late(q), 2);
	assert_pops(q, 101, 50, 4);
	assert_pops(q, 101, 99, 3);
	/* Late entries do not move the clock back. */
	push(q, 99, 5, false);
	assert_int_equal(reorder_late(q), 3);
	reorder_free(q);
}

static void test_the_first_and_the_last_moment(void **state)
{
	struct reorder *q = NULL;

	(void)state;
	assert_int_equal(reorder_new(&q), 0);
	push(q, UINT64_MAX - 1, 1, false);
	push(q, 0, 2, false);
	assert_waits(q, 0, 2);
	assert_pops(q, 1, 0, 2);
	assert_pops(q, UINT64_MAX, UINT64_MAX - 1, 1);
	reorder_free(q);
}

static void test_full_queue_is_freed_with_its_entries(void **state)
{
	struct reorder *q = NULL;

	(void)state;
	assert_int_equal(reorder_new(&q), 0);
	for (uint32_t i = 0; i < 5000; i++)
		push(q, hash_mix64(i), i, i & 1);
	assert_int_equal(reorder_waiting(q), 5000);
	assert_non_null(reorder_ahead(q, UINT64_MAX, 100));
	assert_int_equal(reorder_waiting(q), 5000);
	reorder_free(q);
	reorder_free(NULL);
}

/* --- at random ------------------------------------------------------------------------------- */

#define MOST 8192

struct arrival {
	uint64_t time_ns;
	bool is_event, is_gone;
};

/* The expected next arrival: ordered by time, then events first, then arrival. MOST: none. */
static uint32_t next_of(const struct arrival *all, uint32_t n, uint64_t horizon_ns)
{
	uint32_t best = MOST;

	for (uint32_t i = 0; i < n; i++) {
		const struct arrival *a = &all[i], *b = &all[best < MOST ? best : 0];

		if (a->is_gone || a->time_ns >= horizon_ns)
			continue;
		if (best == MOST || a->time_ns < b->time_ns ||
		    (a->time_ns == b->time_ns && a->is_event && !b->is_event))
			best = i;
	}
	return best;
}

/* Compares what reorder_ahead() gives, for the first `most` items, with what will be handed out. */
static void check_ahead(struct reorder *q, struct arrival *all, uint32_t n, uint64_t horizon_ns,
			size_t most)
{
	static uint32_t seen[REORDER_AHEAD];
	size_t k = 0;

	for (; k < most; k++) {
		const struct reorder_item *item = reorder_ahead(q, horizon_ns, k);

		seen[k] = next_of(all, n, horizon_ns);
		if (seen[k] == MOST) {
			assert_null(item);
			break;
		}
		assert_non_null(item);
		assert_int_equal(number_of(item), seen[k]);
		all[seen[k]].is_gone = true;
	}
	while (k > 0)
		all[seen[--k]].is_gone = false;
}

/* Rounds of reading, as the daemon makes them: each brings times of some span, out of order, and
 * then everything goes out that is older than the round's start. Now and then someone looks ahead,
 * also at what is younger than that. */
static void test_random_rounds(void **state)
{
	static struct arrival all[MOST];
	struct reorder *q = NULL;
	uint64_t youngest = 0, late = 0;
	uint32_t n = 0, out = 0, i;

	(void)state;
	assert_int_equal(reorder_new(&q), 0);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t horizon_ns = round + 1 < ROUNDS ? round * 64 : UINT64_MAX;

		uint64_t many = round % 50 == 7 ? 2 * REORDER_AHEAD : hash_mix64(round) % 20;

		for (uint64_t k = many; k; k--, n++) {
			uint64_t random = hash_mix64(round << 32 | k);

			all[n] = (struct arrival){.time_ns = round * 64 + random % 100,
						  .is_event = random >> 40 & 1};
			if (random % 37 == 0 && all[n].time_ns > 90)
				all[n].time_ns -= 90;
			late += all[n].time_ns < youngest;
			push(q, all[n].time_ns, n, all[n].is_event);
			if (random % 64 == 0)
				check_ahead(q, all, n + 1, round * 64 + random % 90,
					    hash_mix64(random) % REORDER_AHEAD);
		}
		check_ahead(q, all, n, horizon_ns, round % 8 ? 3 : REORDER_AHEAD);
		while ((i = next_of(all, n, horizon_ns)) < MOST) {
			assert_pops(q, horizon_ns, all[i].time_ns, i);
			all[i].is_gone = true;
			if (all[i].time_ns > youngest)
				youngest = all[i].time_ns;
			out++;
		}
		assert_waits(q, horizon_ns, n - out);
	}
	assert_int_equal(out, n);
	assert_true(n > 1000);
	assert_int_equal(reorder_late(q), late);
	assert_true(late > 0);
	reorder_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_older_than_the_horizon_goes_out_in_order),
		cmocka_unit_test(test_events_come_before_samples_of_the_same_time),
		cmocka_unit_test(test_late_items_are_counted_and_handed_out),
		cmocka_unit_test(test_the_first_and_the_last_moment),
		cmocka_unit_test(test_full_queue_is_freed_with_its_entries),
		cmocka_unit_test(test_random_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
