/* SPDX-License-Identifier: MIT */
/* Readings as rows: differences in each thread, which go on from one window to the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/recorder/readings.h"

static struct {
	enum metric_series series;
	struct store_sample row;
} rows[64];
static size_t n_rows;

/* In the place of the daemon's. */
int outbox_keep_record(struct outbox *outbox, enum metric_series series,
		       const struct store_sample *row)
{
	assert_null(outbox);
	assert_true(n_rows < sizeof(rows) / sizeof(*rows));
	rows[n_rows].series = series;
	rows[n_rows++].row = *row;
	return 0;
}

/* Takes a reading of two counters, and the record that it belongs to. Returns the differences. */
static const uint64_t *read(struct readings *readings, uint32_t tid, uint32_t thread, uint64_t cpu,
			    uint64_t faults)
{
	static uint64_t times, differences[2];
	struct stackd_reading reading = {
		.header = {.kind = STACKD_RECORD_READING, .tid = tid, .time_ns = ++times},
		.n = 2,
		.known = 3,
		.values = {cpu, faults}};
	const struct store_sample row = {.thread = thread, .time_ns = times};

	n_rows = 0;
	readings_take(readings, &reading);
	assert_int_equal(readings_keep(readings, NULL, &reading.header, &row), 0);
	assert_int_equal(n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(rows[i].series, SERIES_READING + i);
		assert_int_equal(rows[i].row.thread, thread);
		differences[i] = rows[i].row.period;
	}
	return differences;
}

#define READ(tid, thread, cpu, faults, wanted_cpu, wanted_faults)                                  \
	do {                                                                                       \
		const uint64_t *found = read(readings, tid, thread, cpu, faults);                  \
		assert_int_equal(found[0], wanted_cpu);                                            \
		assert_int_equal(found[1], wanted_faults);                                         \
	} while (0)

static void rows_have_differences(void **state)
{
	struct readings *readings = readings_new();

	(void)state;
	assert_non_null(readings);
	READ(7, 0, 1000, 50, 0, 0);
	READ(8, 1, 9000, 10, 0, 0);
	READ(7, 0, 1300, 50, 300, 0);
	READ(8, 1, 9001, 13, 1, 3);
	/* Another thread that has got the id. */
	READ(7, 2, 1400, 60, 0, 0);
	READ(7, 2, 1500, 61, 100, 1);
	readings_free(readings);
}

static void windows_have_the_difference_between_them(void **state)
{
	struct readings *readings = readings_new();

	(void)state;
	assert_non_null(readings);
	READ(7, 4, 1000, 50, 0, 0);
	READ(8, 5, 3000, 10, 0, 0);
	readings_begin_anew(readings);
	READ(7, 0, 1700, 90, 700, 40);
	READ(7, 0, 1800, 90, 100, 0);
	/* Less CPU time: another thread. */
	READ(8, 1, 20, 1, 0, 0);
	readings_begin_anew(readings);
	READ(8, 0, 30, 1, 10, 0);
	readings_begin_anew(readings);
	/* That of a window before the last is forgotten. */
	READ(7, 3, 9000, 99, 0, 0);
	readings_free(readings);
	readings_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_differences),
		cmocka_unit_test(windows_have_the_difference_between_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
