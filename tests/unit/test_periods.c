/* SPDX-License-Identifier: MIT */
/* Samples that stand for several periods, in every view and export: of three samples in three
 * functions, two stand for one period and the third for five. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "export/export.h"
#include "fake_store.h"
#include "model/profile_variance.h"
#include "report/report.h"

#define PERIOD 1003009 /* of 997 Hz */

static const struct {
	const char *name;
	uint64_t periods;
} hits[] = {{"first", 1}, {"second", 1}, {"late", 5}};

#define HITS (sizeof(hits) / sizeof(*hits))

/* The samples of two threads, the last of the one being in the function of the other, too. */
static struct store_reader *recorded(void)
{
	struct recording r = fake_recording();
	uint32_t prog = add_object(&r, OBJECT_ELF, "/bin/prog");
	uint32_t process = add_process(&r, 12, "prog"), node;
	uint32_t start = add_function(&r, prog, 0x1020, true, "_start");

	node = add_node(&r, 0, start);
	for (uint32_t i = 0; i < HITS; i++) {
		uint32_t at = add_function(&r, prog, 0x2000 + i * 0x100, false, hits[i].name);
		uint32_t thread = add_thread(&r, process, 12 + (int32_t)i, hits[i].name);

		add_samples(&r, thread, add_node(&r, node, at), STACKD_END_ENTRY, 1);
		r.samples[i].period = PERIOD * hits[i].periods;
	}
	return fake_reader(&r);
}

typedef int (*exporter)(struct profile *, FILE *);

static char *exported(exporter write)
{
	struct store_reader *f = recorded();
	struct profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(write(p, out), 0);
	fclose(out);
	profile_free(p);
	fake_free(f);
	return text;
}

static char *reported(struct report_options options, bool is_json)
{
	struct store_reader *f = recorded();
	struct profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal((is_json ? report_write_json : report_write_text)(p, &options, out), 0);
	fclose(out);
	profile_free(p);
	fake_free(f);
	return text;
}

static void expect(char *text, const char *const *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strstr(text, wanted[i]))
			print_error("no \"%s\" in:\n%s\n", wanted[i], text);
		assert_non_null(strstr(text, wanted[i]));
	}
	free(text);
}

#define EXPECT(text, ...)                                                                          \
	expect(text, (const char *const[]){__VA_ARGS__},                                           \
	       sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* --- the model ------------------------------------------------------------------------------- */

static void test_profile_adds_up_periods(void **state)
{
	struct store_reader *f = recorded();
	const struct profile_entry *entries;
	struct profile *p;
	double variances[HITS];
	size_t n;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(profile_totals(p)->samples, 3);
	assert_int_equal(profile_totals(p)->periods, 7);
	assert_int_equal(profile_totals(p)->weight, 7 * PERIOD);
	assert_int_equal(profile_total(p), 7);
	entries = profile_entries(p, &n);
	assert_int_equal(n, HITS);
	assert_int_equal(profile_variances(p, variances), 0);
	for (size_t i = 0; i < n; i++) {
		const size_t hit = entries[i].thread;
		const double ns = (double)PERIOD * (double)hits[hit].periods;

		assert_int_equal(entries[i].samples, 1);
		assert_int_equal(profile_entry_amount(&entries[i]), hits[hit].periods);
		assert_int_equal(entries[i].weight, PERIOD * hits[hit].periods);
		/* One sample of five periods is one draw, not five. */
		assert_true(fabs(variances[i] - ns * ns) < 1);
		assert_int_equal(profile_amount(p, &f->made.samples[hit]), hits[hit].periods);
	}
	profile_free(p);
	fake_free(f);
}

static uint64_t periods_of(const char *event, uint64_t frequency, uint64_t period, uint64_t events)
{
	struct store_reader *f = recorded();
	struct profile *p;
	uint64_t periods;

	f->tables.recording.event = event;
	f->tables.recording.frequency_hz = frequency;
	f->tables.recording.period = period;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	periods = profile_periods(p, events);
	profile_free(p);
	fake_free(f);
	return periods;
}

static void test_only_clocks_have_periods(void **state)
{
	(void)state;
	assert_int_equal(periods_of("cpu-clock", 0, 500000, 500000), 1);
	assert_int_equal(periods_of("cpu-clock", 0, 500000, 1), 1);
	assert_int_equal(periods_of("cpu-clock", 0, 500000, 0), 1);
	assert_int_equal(periods_of("cpu-clock", 0, 500000, 749999), 1);
	assert_int_equal(periods_of("cpu-clock", 0, 500000, 750000), 2);
	assert_int_equal(periods_of("task-clock:u", 1000, 0, 9000000), 9);
	/* The period of an event is another from sample to sample where a rate was asked for. */
	assert_int_equal(periods_of("cycles", 1000, 0, 9000000), 1);
	/* Recordings of several rates, taken together. */
	assert_int_equal(periods_of("cpu-clock", 0, 0, 9000000), 1);
	assert_int_equal(periods_of("cpu-clock", 0, 3, UINT64_MAX), UINT64_MAX / 3);
}

static void test_a_filter_takes_its_part(void **state)
{
	struct profile_filter filter = {.from_ns = 2 * UINT64_C(1003009)};
	struct store_reader *f = recorded();
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(f, &filter, &p), 0);
	assert_int_equal(profile_total(p), 5);
	profile_free(p);
	fake_free(f);
}

/* --- reports --------------------------------------------------------------------------------- */

static void test_views_show_shares_of_periods(void **state)
{
	(void)state;
	EXPECT(reported((struct report_options){.view = REPORT_TREE}, false),
	       "# samples: 3, which count as 7", "71.4%", "14.3%");
	EXPECT(reported((struct report_options){.view = REPORT_FLAT}, false), "71.4%", "14.3%");
	EXPECT(reported((struct report_options){.view = REPORT_CALLERS}, false), "71.4%", "14.3%");
	EXPECT(reported((struct report_options){.view = REPORT_FLAT, .by = PARTITION_BY_THREAD},
			false),
	       "71.4%", "14.3%");
	EXPECT(reported((struct report_options){.view = REPORT_AROUND, .around = "late"}, false),
	       "5 samples with what it calls", "71.4%");
}

/* Returns the object in an array whose "name" or function's name is this. */
static json_int_t total_of(const json_t *report, const json_t *functions, const char *name)
{
	for (size_t i = 0; i < json_array_size(functions); i++) {
		const json_t *row = json_array_get(functions, i);
		size_t symbol = (size_t)json_integer_value(json_object_get(row, "symbol"));
		const json_t *known = json_array_get(json_object_get(report, "symbols"), symbol);

		if (!strcmp(json_string_value(json_object_get(known, "name")), name))
			return json_integer_value(json_object_get(row, "total"));
	}
	return -1;
}

static void test_json_has_both(void **state)
{
	char *text = reported((struct report_options){.view = REPORT_FLAT, .by = PARTITION_BY_ALL},
			      true);
	json_t *report = json_loads(text, 0, NULL);
	const json_t *whole;

	(void)state;
	assert_non_null(report);
	assert_int_equal(json_integer_value(json_object_get(report, "samples")), 3);
	assert_int_equal(json_integer_value(json_object_get(report, "periods")), 7);
	whole = json_object_get(json_array_get(json_object_get(report, "parts"), 0), "functions");
	if (!whole)
		whole = json_object_get(report, "functions");
	assert_non_null(whole);
	for (size_t i = 0; i < HITS; i++)
		assert_int_equal(total_of(report, whole, hits[i].name), hits[i].periods);
	assert_int_equal(total_of(report, whole, "_start"), 7);
	json_decref(report);
	free(text);
}

static void test_bins_have_periods(void **state)
{
	struct report_options options = {.view = REPORT_TIME, .by = PARTITION_BY_ALL, .n_bins = 1};

	(void)state;
	EXPECT(reported(options, true), "\"samples\":7,\"symbol\"");
}

/* --- exports --------------------------------------------------------------------------------- */

static void test_exports(void **state)
{
	(void)state;
	EXPECT(exported(export_folded), "first;_start;first 1\n", "second;_start;second 1\n",
	       "late;_start;late 5\n");
	EXPECT(exported(export_perf_script), "   1003009 cpu-clock:", "   5015045 cpu-clock:");
	EXPECT(exported(export_tags), "\tfirst\t1\t1003009\t", "\tsecond\t1\t1003009\t",
	       "\tlate\t1\t5015045\t");
	EXPECT(exported(export_json), "\"samples\":1,\"weight\":1003009}",
	       "\"samples\":1,\"weight\":5015045}");
	/* seconds on the CPU, without the gap before them */
	EXPECT(exported(export_speedscope), "\"unit\":\"seconds\"", "0.001003009]", "0.005015045]");
	EXPECT(exported(export_firefox), "\"weight\":null", "\"weight\":[5]",
	       "\"threadCPUDelta\":[5015045]");
	EXPECT(exported(export_callgrind), "totals: 7\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profile_adds_up_periods),
		cmocka_unit_test(test_only_clocks_have_periods),
		cmocka_unit_test(test_a_filter_takes_its_part),
		cmocka_unit_test(test_views_show_shares_of_periods),
		cmocka_unit_test(test_json_has_both),
		cmocka_unit_test(test_bins_have_periods),
		cmocka_unit_test(test_exports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
