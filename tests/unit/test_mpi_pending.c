/* SPDX-License-Identifier: MIT */
/* Receives of MPI that wait to be completed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/recorder/mpi_pending.h"

static int set_up(void **state)
{
	struct mpi_pending *pending;

	assert_int_equal(mpi_pending_new(&pending), 0);
	*state = pending;
	return 0;
}

static int tear_down(void **state)
{
	mpi_pending_free(*state);
	return 0;
}

static int add(struct mpi_pending *pending, uint32_t tid, uint64_t enter_ns, uint64_t bytes)
{
	const struct store_sample row = {
		.time_ns = enter_ns + 1, .node = tid, .period = STACKD_MPI_AT_MOST | bytes};

	return mpi_pending_add(pending, tid, enter_ns, &row);
}

/* Buffers leave an instance one by one; what is no buffer of it, or is too large, is not there. */
static void test_take(void **state)
{
	struct mpi_pending *pending = *state;
	struct store_sample row;

	assert_int_equal(add(pending, 7, 100, 50), 0);
	assert_int_equal(add(pending, 7, 101, 60), 0);
	assert_int_equal(add(pending, 8, 100, 70), 0);
	assert_int_equal(add(pending, 8, 100, 80), 1);
	assert_false(mpi_pending_take(pending, 9, 100, 50, &row));
	assert_false(mpi_pending_take(pending, 7, 102, 50, &row));
	assert_false(mpi_pending_take(pending, 7, 100, 51, &row));
	assert_true(mpi_pending_take(pending, 7, 100, STACKD_MPI_AT_MOST | 30, &row));
	assert_int_equal(row.node, 7);
	assert_int_equal(row.time_ns, 101);
	assert_true(mpi_pending_take(pending, 7, 100, 20, &row));
	assert_false(mpi_pending_take(pending, 7, 100, 0, &row));
	assert_true(mpi_pending_take(pending, 8, 100, 70, &row));
	assert_int_equal(row.node, 8);
}

/* What is left at the end has its marks. */
static void test_take_any(void **state)
{
	struct mpi_pending *pending = *state;
	struct store_sample row;
	uint64_t bytes = 0;

	assert_int_equal(add(pending, 7, 100, 50), 0);
	assert_int_equal(add(pending, 7, 101, 60), 0);
	assert_true(mpi_pending_take(pending, 7, 101, 20, &row));
	while (mpi_pending_take_any(pending, &row)) {
		assert_true(row.period & STACKD_MPI_AT_MOST);
		bytes += STACKD_MPI_BYTES_OF(row.period);
	}
	assert_int_equal(bytes, 90);
	assert_int_equal(add(pending, 7, 100, 50), 0);
	mpi_pending_clear(pending);
	assert_false(mpi_pending_take_any(pending, &row));
}

static void test_most(void **state)
{
	struct mpi_pending *pending = *state;

	for (uint32_t i = 0; i < MPI_PENDING_MOST; i++)
		assert_int_equal(add(pending, 7, i, 1), 0);
	assert_int_equal(add(pending, 8, 0, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_take, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_take_any, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_most, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
