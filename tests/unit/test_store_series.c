/* SPDX-License-Identifier: MIT */
/* Series of records beside samples: what is written comes back, in order of time, through many
 * commits, and no series has another's records. */
#include "store_fixture.h"

#define RECORDS 40000u /* more than two chunks */

struct sums {
	uint64_t records, value, last_ns;
	bool is_sorted;
};

static int add(void *arg, const struct store_sample *record)
{
	struct sums *s = arg;

	s->is_sorted = s->is_sorted && record->time_ns >= s->last_ns;
	s->last_ns = record->time_ns;
	s->records++;
	s->value += record->period;
	return 0;
}

static struct sums sum(struct store_reader *r, enum metric_series series)
{
	struct sums s = {.is_sorted = true};

	assert_int_equal(store_reader_records(r, series, add, &s), 0);
	assert_true(s.is_sorted);
	return s;
}

/* Instances end in order of their ends, some of them late. */
static void put(struct store_writer *w, enum metric_series series, uint32_t i, uint64_t value)
{
	struct store_sample record = {
		.time_ns = 1000 + (uint64_t)(i ^ 3) * 10, .period = value, .node = i % 2};

	assert_int_equal(store_writer_record(w, series, &record), 0);
}

static void series_come_back(void **state)
{
	char *folder = fixture_folder(), *path = fixture_path(folder, "s.db");
	struct recording f = fixture_make(100, 100, 9);
	struct store_writer *w = fixture_writer(path);
	struct store_recording info = fixture_info();
	struct store_reader *r;
	uint64_t series;

	(void)state;
	fixture_put(&f, w, 100);
	for (uint32_t i = 0; i < RECORDS; i++) {
		put(w, SERIES_REGION_TIME, i, i);
		if (i % 4 == 0)
			put(w, SERIES_MPI_SENT, i, 8);
		if (i % 5000 == 0)
			assert_int_equal(store_writer_commit(w, &info), 0);
	}
	info.finished = true;
	assert_int_equal(store_writer_commit(w, &info), 0);
	store_writer_free(w);
	r = fixture_open(path, 0);
	assert_int_equal(sum(r, SERIES_REGION_TIME).records, RECORDS);
	assert_int_equal(sum(r, SERIES_REGION_TIME).value, (uint64_t)RECORDS * (RECORDS - 1) / 2);
	assert_int_equal(sum(r, SERIES_MPI_SENT).value, RECORDS * 2);
	assert_int_equal(sum(r, SERIES_MPI_RECEIVED).records, 0);
	assert_int_equal(sum(r, SERIES_CPU).records, 100);
	assert_int_equal(store_reader_series(r, &series), 0);
	assert_int_equal(series,
			 1u << SERIES_CPU | 1u << SERIES_REGION_TIME | 1u << SERIES_MPI_SENT);
	store_reader_close(r);
	free_recording(&f);
	free(path);
	fixture_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(series_come_back)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
