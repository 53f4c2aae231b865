/* SPDX-License-Identifier: MIT */
/* Peaks of sampled heaps: many small programs, each sampled many times, whose peaks are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "model/heap.h"
#include "model/heap_peak.h"

#define DISTANCE 524288.0
#define RUNS	 400
#define SIGMAS	 5
#define BINS	 20

/* A block that there is from one time to another one, 0: to the end. */
struct block {
	uint64_t made, freed;
	double size;
};

struct program {
	VEC(struct block) blocks;
	uint64_t now;
};

/* --- a store in memory ------------------------------------------------------------------------ */

struct store_reader {
	struct store_tables tables;
	struct store_thread thread;
	VEC(struct store_sample) series[SERIES_COUNT];
};

const struct store_tables *store_reader_tables(const struct store_reader *reader)
{
	return &reader->tables;
}

int store_reader_records(struct store_reader *reader, enum metric_series series,
			 int (*each)(void *arg, const struct store_sample *record), void *arg)
{
	int err = 0;

	for (size_t i = 0; i < reader->series[series].count && !err; i++)
		err = each(arg, &reader->series[series].items[i]);
	return err;
}

static void put(struct store_reader *r, enum metric_series series, uint64_t time, uint64_t value)
{
	assert_int_equal(VEC_RESERVE(&r->series[series], 1), 0);
	r->series[series].items[r->series[series].count++] =
		(struct store_sample){.time_ns = time, .period = value, .node = 1};
}

static int by_time(const void *a, const void *b)
{
	const struct store_sample *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static uint64_t seed = 1;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) * 0x1p-53;
}

/* Samples a program as the daemon stores it. Times of blocks differ, so the order of ends does not
 * matter. `distance` 0: all blocks are sampled. */
static void sample(const struct program *p, double distance, struct store_reader *r)
{
	for (size_t i = 0; i < SERIES_COUNT; i++)
		r->series[i].count = 0;
	for (size_t i = 0; i < p->blocks.count; i++) {
		const struct block *b = &p->blocks.items[i];
		double chance = distance > 0 ? -expm1(-b->size / distance) : 1;
		double weight = b->size / chance, error = sqrt(weight * (weight - b->size));

		if (uniform() >= chance)
			continue;
		put(r, SERIES_ALLOC_BYTES, b->made, (uint64_t)(weight + 0.5));
		put(r, SERIES_ALLOC_ERROR, b->made, (uint64_t)(error + 0.5));
		if (!b->freed)
			continue;
		put(r, SERIES_FREED_BYTES, b->freed, (uint64_t)(weight + 0.5));
		put(r, SERIES_FREED_ERROR, b->freed, (uint64_t)(error + 0.5));
		put(r, SERIES_FREED_AGE, b->freed, b->freed - b->made);
	}
	for (size_t i = 0; i < SERIES_COUNT; i++)
		if (r->series[i].count)
			qsort(r->series[i].items, r->series[i].count, sizeof(struct store_sample),
			      by_time);
	r->tables = (struct store_tables){.n_processes = 1, .n_threads = 1, .threads = &r->thread};
	r->tables.recording.start_ns = 1;
	r->tables.recording.end_ns = p->now + 1;
}

/* --- programs --------------------------------------------------------------------------------- */

static size_t make(struct program *p, double size)
{
	assert_int_equal(VEC_RESERVE(&p->blocks, 1), 0);
	p->blocks.items[p->blocks.count] = (struct block){.made = ++p->now + 1, .size = size};
	return p->blocks.count++;
}

static void end(struct program *p, size_t block)
{
	p->blocks.items[block].freed = ++p->now + 1;
}

/* Always has `n` blocks, and replaces one after the other, the oldest first. */
static void churn(struct program *p, size_t n, size_t times, double size)
{
	for (size_t i = 0; i < times; i++) {
		if (i >= n)
			end(p, i - n);
		make(p, size);
	}
}

static double true_peak(const struct program *p)
{
	double live = 0, peak = 0, *change = calloc(p->now + 2, sizeof(*change));

	assert_non_null(change);
	for (size_t i = 0; i < p->blocks.count; i++) {
		change[p->blocks.items[i].made] += p->blocks.items[i].size;
		if (p->blocks.items[i].freed)
			change[p->blocks.items[i].freed] -= p->blocks.items[i].size;
	}
	for (uint64_t t = 0; t < p->now + 2; t++) {
		live += change[t];
		peak = live > peak ? live : peak;
	}
	free(change);
	return peak;
}

/* The peak of one recording, which is the sum of its records' parts. */
static double peak_of(struct store_reader *r, uint64_t to_ns, double *ret_variance, double *ret_bin,
		      double *ret_live)
{
	struct heap heap;
	double sum = 0, peak;

	*ret_variance = *ret_bin = 0;
	assert_int_equal(heap_sum_up(r, to_ns, BINS, &heap), 0);
	for (size_t i = 0; i < r->series[SERIES_ALLOC_BYTES].count; i++) {
		const struct heap_part part = heap_part_at(&heap.made, i);
		const double e = (double)r->series[SERIES_ALLOC_ERROR].items[i].period;

		sum += (double)part.bytes;
		*ret_variance += part.share * e * e;
		assert_true(part.share >= 0 && part.share <= 1);
	}
	for (size_t i = 0; i < r->series[SERIES_FREED_BYTES].count; i++) {
		const struct heap_part part = heap_part_at(&heap.ended, i);
		const double e = (double)r->series[SERIES_FREED_ERROR].items[i].period;

		sum -= (double)part.bytes;
		*ret_variance -= part.share * e * e;
	}
	peak = (double)heap.processes[0].peak;
	assert_true(peak == sum);
	if (heap.processes[0].peak_variance > 0) /* the recording has errors */
		assert_true(fabs(heap.processes[0].peak_variance - *ret_variance) <=
			    1e-6 * *ret_variance + 1);
	*ret_variance = heap.processes[0].peak_variance;
	assert_true(heap_process_most(&heap.processes[0], BINS) >= heap.processes[0].peak);
	*ret_live = (double)heap_process_live(&heap.processes[0]);
	for (size_t i = 0; i < BINS; i++)
		if ((double)heap.processes[0].bins[i] > *ret_bin)
			*ret_bin = (double)heap.processes[0].bins[i];
	heap_release(&heap);
	return peak;
}

/* Returns what is live at a program's end. */
static double true_live(const struct program *p)
{
	double live = 0;

	for (size_t i = 0; i < p->blocks.count; i++)
		live += p->blocks.items[i].freed ? 0 : p->blocks.items[i].size;
	return live;
}

/* Frees a program. Its peaks' mean is at most the true one, within the error of that mean, and at
 * least that less `misses` of the standard errors that are said. If its heap is largest at the end,
 * what is found live there exceeds the peak by chance only. */
static void check(struct program *p, const char *name, double misses)
{
	struct store_reader r = {0};
	double truth = true_peak(p), sum = 0, squares = 0, variances = 0, bin, mean, error, said;
	double live, more = 0, more_squares = 0;

	for (int i = 0; i < RUNS; i++) {
		double variance, peak;

		sample(p, DISTANCE, &r);
		peak = peak_of(&r, UINT64_MAX, &variance, &bin, &live);
		more += live - peak;
		more_squares += (live - peak) * (live - peak);
		sum += peak;
		squares += peak * peak;
		variances += variance;
	}
	mean = sum / RUNS;
	error = sqrt(fmax(squares / RUNS - mean * mean, 0) / RUNS);
	said = sqrt(variances / RUNS);
	print_message("%-28s %10.0f, found %10.0f +- %8.0f; an error is %8.0f, said %8.0f\n", name,
		      truth, mean, error, error * sqrt(RUNS), said);
	assert_true(said > 0);
	assert_true(mean <= truth + SIGMAS * error + 0.25 * said);
	assert_true(mean >= truth - SIGMAS * error - misses * said);
	error = sqrt(fmax(more_squares / RUNS - more / RUNS * more / RUNS, 0) / RUNS);
	if (true_live(p) == truth)
		assert_true(fabs(more / RUNS) <= SIGMAS * error + 0.25 * said);
	sample(p, 0, &r);
	assert_true(fabs(peak_of(&r, UINT64_MAX, &variances, &bin, &live) - truth) < 1);
	assert_true(live == true_live(p) && live <= truth);
	assert_true(fabs(bin - truth) < 1);
	for (size_t i = 0; i < SERIES_COUNT; i++)
		free(r.series[i].items);
	free(p->blocks.items);
}

static void test_small(void **state)
{
	struct program p = {0};

	(void)state;
	churn(&p, 5, 3000, 1024);
	check(&p, "5 KB, of 3 MB", 0);
	p = (struct program){0};
	churn(&p, 50, 2000, 100);
	check(&p, "5 KB, of 200 KB", 0);
	p = (struct program){0};
	churn(&p, 1, 300, 100000);
	check(&p, "100 KB, of 30 MB", 0);
	p = (struct program){0};
	for (int i = 0; i < 300; i++)
		make(&p, 1000);
	check(&p, "up to 300 KB", 0);
	p = (struct program){0};
	make(&p, 20000);
	check(&p, "one block", 0);
}

static void test_large(void **state)
{
	struct program p = {0};

	(void)state;
	churn(&p, 50, 1000, 100000);
	check(&p, "5 MB in 100 KB", 0);
	p = (struct program){0};
	churn(&p, 20, 400, 500000);
	check(&p, "10 MB in 500 KB", 0);
	p = (struct program){0};
	churn(&p, 6, 200, 4000000);
	check(&p, "24 MB in 4 MB", 0);
	p = (struct program){0};
	for (int i = 0; i < 2000; i++)
		make(&p, 10000);
	check(&p, "up to 20 MB", 0);
	p = (struct program){0};
	for (int i = 0; i < 2000; i++)
		make(&p, 10000);
	for (size_t i = 0; i < 2000; i++)
		end(&p, i);
	check(&p, "up to 20 MB, and down", 1);
}

/* Phases of nearly the same height: the wrong one may be chosen. */
static void test_phases(void **state)
{
	static const size_t blocks[] = {200, 320, 400, 360, 280, 380};
	struct program p = {0};
	size_t first = 0;

	(void)state;
	for (int phase = 0; phase < 6; phase++) {
		for (size_t i = 0; i < blocks[phase]; i++)
			make(&p, 64000);
		while (first < p.blocks.count)
			end(&p, first++);
	}
	check(&p, "phases up to 25 MB", 1);
}

/* What comes later is not looked at, and a recording without errors is taken as it is. */
static void test_plain(void **state)
{
	struct program p = {0};
	struct store_reader r = {0};
	double variance, bin, live;

	(void)state;
	for (int i = 0; i < 10; i++)
		make(&p, 1000);
	sample(&p, 0, &r);
	assert_true(peak_of(&r, 6, &variance, &bin, &live) == 5000);
	for (size_t i = 0; i < 10; i++)
		r.series[SERIES_ALLOC_ERROR].items[i].period = 900;
	r.series[SERIES_ALLOC_ERROR].items[9].time_ns++;
	assert_true(peak_of(&r, UINT64_MAX, &variance, &bin, &live) == 10000);
	for (size_t i = 0; i < SERIES_COUNT; i++)
		free(r.series[i].items);
	free(p.blocks.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
