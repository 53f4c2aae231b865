/* SPDX-License-Identifier: MIT */
/* What is done while a store cannot be written to: daemon/archive/outage.c, with a clock of ours.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/archive/outage.h"

#define SECOND UINT64_C(1000000000)
#define HOUR   (3600 * SECOND)

/* Commits that fail for less than ten seconds lose nothing. */
static void short_failure(void **state)
{
	struct outage o = {.window_ns = HOUR, .waiting = 500};

	(void)state;
	assert_false(outage_committed(&o, -ENOSPC, false, 100 * SECOND));
	assert_false(outage_committed(&o, -ENOSPC, false, 109 * SECOND));
	assert_int_equal(o.err, -ENOSPC);
	assert_false(outage_wants_window(&o, 109 * SECOND));
	assert_false(outage_committed(&o, 0, false, 110 * SECOND));
	assert_int_equal(o.err, 0);
	assert_int_equal(o.waiting + o.unwritten, 0);
	/* The next failure is another one. */
	assert_false(outage_committed(&o, -ENOSPC, false, 111 * SECOND));
	assert_true(outage_committed(&o, -ENOSPC, false, 121 * SECOND));
}

/* Memory is bounded, and what is in a deleted file is lost at once. */
static void given_up_at_once(void **state)
{
	struct outage much = {.window_ns = HOUR, .waiting = OUTAGE_MOST_SAMPLES};
	struct outage lost = {.window_ns = HOUR, .waiting = 7};

	(void)state;
	assert_true(outage_committed(&much, -EROFS, false, SECOND));
	assert_true(outage_committed(&lost, 0, true, SECOND));
	outage_begin(&lost, -ENOENT, SECOND);
	assert_int_equal(lost.unwritten, 7);
	assert_true(lost.is_out);
}

/* Another program's lock is waited for much longer. */
static void busy(void **state)
{
	struct outage o = {.window_ns = HOUR, .waiting = 1};

	(void)state;
	for (uint64_t s = 1; s < 300; s++)
		assert_false(outage_committed(&o, -EBUSY, false, s * SECOND));
	assert_true(outage_committed(&o, -EBUSY, false, 301 * SECOND));
}

/* An outage of three hours and a half: attempts each five seconds, a window dropped each hour. */
static void long_outage(void **state)
{
	struct outage o = {.window_ns = HOUR, .waiting = 10};
	unsigned attempts = 0, drops = 0;

	(void)state;
	outage_begin(&o, -ENOSPC, HOUR);
	for (uint64_t s = 3600; s < 4 * 3600 + 1800; s++) {
		if (!outage_wants_window(&o, s * SECOND))
			continue;
		attempts++;
		drops += outage_goes_on(&o, -ENOSPC, s * SECOND);
	}
	assert_int_equal(attempts, 12600 / 5);
	assert_int_equal(drops, 4);
	outage_end(&o);
	assert_false(o.is_out);
	assert_false(outage_wants_window(&o, 5 * HOUR));
	assert_int_equal(o.unwritten, 10);
}

/* Windows are dropped for room alone. */
static void drops_for_room_alone(void **state)
{
	struct outage o = {.window_ns = HOUR};

	(void)state;
	outage_begin(&o, -EROFS, HOUR);
	assert_false(outage_goes_on(&o, -EROFS, 2 * HOUR));
	assert_false(outage_goes_on(&o, -EBUSY, 3 * HOUR));
	assert_true(outage_goes_on(&o, -ENOSPC, 4 * HOUR));
}

/* A commit that was under way when the queue overflowed does not end the outage. */
static void late_commit(void **state)
{
	struct outage o = {.window_ns = HOUR, .waiting = 3};

	(void)state;
	outage_begin(&o, -ETIMEDOUT, HOUR);
	assert_false(outage_committed(&o, 0, false, HOUR + SECOND));
	assert_int_equal(o.err, -ETIMEDOUT);
	assert_true(o.is_out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_failure), cmocka_unit_test(given_up_at_once),
		cmocka_unit_test(busy),		 cmocka_unit_test(long_outage),
		cmocka_unit_test(late_commit),	 cmocka_unit_test(drops_for_room_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
