/* SPDX-License-Identifier: MIT */
/* The views around one function and over time, and the parts of a report. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>

#include "fake_store.h"
#include "report/report.h"

typedef int (*writer)(struct profile *, const struct report_options *, FILE *);

static char *written(const struct profile_filter *filter, writer write,
		     const struct report_options *options)
{
	struct store_reader *f = fake_small();
	struct profile *p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(profile_new(f, filter, &p), 0);
	assert_int_equal(write(p, options, out), 0);
	fclose(out);
	profile_free(p);
	fake_free(f);
	return text;
}

/* Asserts the text after the header. */
static void check_text(const struct profile_filter *filter, const struct report_options *options,
		       const char *golden)
{
	char *text = written(filter, report_write_text, options), *body = strstr(text, "\n\n");

	assert_non_null(body);
	assert_string_equal(body + 2, golden);
	free(text);
}

static void test_views_around_function(void **state)
{
	struct report_options options = {
		.view = REPORT_AROUND, .around = "app::work", .by = PARTITION_BY_ALL};

	(void)state;
	check_text(NULL, &options,
		   "# all: 100 samples, 100.0% of all\n"
		   "# app::work: 61 samples with what it calls, 61.0% of all samples; "
		   "1 in the function itself, 1.0%\n"
		   "#  total  called by, in % of these 61 samples\n"
		   "  100.0%  app::work  [prog]\n"
		   "   98.4%  |- <- main\n"
		   "   98.4%  |  <- _start\n"
		   "    1.6%  `- <- [incomplete: no_recipe]\n"
		   "#  total    self  calls, in % of these 61 samples\n"
		   "  100.0%    1.6%  app::work  [prog]\n"
		   "   65.6%   65.6%  |- inl (inlined)\n"
		   "   32.8%   32.8%  `- memcpy  [libc.so.6]\n");
	/* recursion: a sample counts once, at the outermost call */
	options.around = "fact";
	options.by = PARTITION_BY_PROCESS;
	check_text(NULL, &options,
		   "# process 12 prog (/bin/prog): 80 samples, 80.0% of all\n"
		   "# fact: 10 samples with what it calls, 12.5% of this process's samples; "
		   "10 in the function itself, 12.5%\n"
		   "#  total  called by, in % of these 10 samples\n"
		   "  100.0%  fact  [prog]\n"
		   "  100.0%  <- main\n"
		   "  100.0%  <- _start\n"
		   "#  total    self  calls, in % of these 10 samples\n"
		   "  100.0%  100.0%  fact (x4)  [prog]\n");
	options.calls_apart = true;
	check_text(&(struct profile_filter){.pids = (int32_t[]){12}, .n_pids = 1}, &options,
		   "# process 12 prog (/bin/prog): 80 samples, 100.0% of all chosen\n"
		   "# fact: 10 samples with what it calls, 12.5% of this process's chosen "
		   "samples; 10 in the function itself, 12.5%\n"
		   "#  total  called by, in % of these 10 samples\n"
		   "  100.0%  fact  [prog]\n"
		   "  100.0%  <- main\n"
		   "  100.0%  <- _start\n"
		   "#  total    self  calls, in % of these 10 samples\n"
		   "  100.0%    0.0%  fact  [prog]\n"
		   "  100.0%    0.0%  fact\n"
		   "  100.0%    0.0%  fact\n"
		   "  100.0%  100.0%  fact\n");
}

static void test_find(void **state)
{
	struct store_reader *f = fake_small();
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(f, NULL, &p), 0);
	assert_int_equal(report_find(p, "inl"), 0);
	assert_int_equal(report_find(p, "app::w*"), 0);
	assert_int_equal(report_find(p, "nothing"), -ENOENT);
	profile_free(p);
	assert_int_equal(
		profile_new(f, &(struct profile_filter){.pids = (int32_t[]){99}, .n_pids = 1}, &p),
		0);
	assert_int_equal(report_find(p, "main"), 0);
	assert_int_equal(report_find(p, "inl"), -ENOENT);
	profile_free(p);
	fake_free(f);
}

/* 40 samples of inl, 20 of memcpy, 10 of fact, 9 and 1 of pool, 20 of do_sys, a step apart. */
static void test_time(void **state)
{
	const uint64_t step = 1003009;
	struct profile_filter filter = {.to_ns = step * 100};
	struct report_options options = {
		.view = REPORT_TIME, .by = PARTITION_BY_ALL, .n_bins = 5, .percent_limit = 0};

	(void)state;
	check_text(&filter, &options,
		   "# all: 100 samples, 100.0% of all\n"
		   "#     from   samples  in % of all samples; the function hit most, in % of its "
		   "row; steps of 0.020 s\n"
		   "     0.000        20   20.0%  ##############################  100.0% inl\n"
		   "     0.020        20   20.0%  ##############################  100.0% inl\n"
		   "     0.040        20   20.0%  ##############################  100.0% memcpy\n"
		   "     0.060        20   20.0%  ##############################  50.0% fact\n"
		   "     0.080        20   20.0%  ##############################  100.0% do_sys\n");
	filter = (struct profile_filter){.from_ns = step * 50, .to_ns = step * 60};
	options.n_bins = 2;
	options.by = PARTITION_BY_THREAD;
	check_text(&filter, &options,
		   "# thread 12 prog of process 12 prog: 10 samples, 100.0% of all chosen\n"
		   "#     from   samples  in % of this thread's chosen samples; the function hit "
		   "most, in % of its row; steps of 0.005 s\n"
		   "     0.050         5   50.0%  ##############################  100.0% memcpy\n"
		   "     0.055         5   50.0%  ##############################  100.0% memcpy\n");
}

static uint64_t member(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	assert_true(json_is_integer(value));
	return (uint64_t)json_integer_value(value);
}

static uint64_t sum(const json_t *list, const char *name)
{
	const json_t *row;
	uint64_t n = 0;
	size_t i;

	json_array_foreach(list, i, row) n += member(row, name);
	return n;
}

/* Asserts that the rows of a part add up to it. */
static void check_part(const json_t *part, enum report_view view)
{
	switch (view) {
	case REPORT_TREE:
	case REPORT_CALLERS:
		assert_int_equal(sum(json_object_get(part, "nodes"), "self"),
				 member(part, "samples"));
		break;
	case REPORT_FLAT:
		assert_int_equal(sum(json_object_get(part, "functions"), "self"),
				 member(part, "samples"));
		break;
	case REPORT_TIME:
		assert_int_equal(sum(json_object_get(part, "bins"), "samples"),
				 member(part, "samples"));
		break;
	case REPORT_REGIONS:
	case REPORT_WAKERS:
	case REPORT_WAITS:
		break;
	case REPORT_AROUND:
		assert_int_equal(
			sum(json_object_get(json_object_get(part, "callers"), "nodes"), "self"),
			member(part, "total"));
		assert_int_equal(
			sum(json_object_get(json_object_get(part, "callees"), "nodes"), "self"),
			member(part, "total"));
		break;
	}
}

static void test_parts(void **state)
{
	static const size_t n_parts[] = {
		[PARTITION_BY_PROCESS] = 2,   [PARTITION_BY_THREAD] = 3,
		[PARTITION_BY_COMMAND] = 3,   [PARTITION_BY_CPU] = 2,
		[PARTITION_BY_UNIT] = 1,      [PARTITION_BY_CONTAINER] = 1,
		[PARTITION_BY_RANK] = 1,      [PARTITION_BY_HOST] = 1,
		[PARTITION_BY_REASON] = 1,    [PARTITION_BY_OBJECT] = 1,
		[PARTITION_BY_ALL] = 1,	      [PARTITION_BY_SERVICE] = 1,
		[PARTITION_BY_NAMESPACE] = 1, [PARTITION_BY_POD] = 1,
		[PARTITION_BY_LABEL] = 1,
	};

	(void)state;
	for (enum partition_by by = PARTITION_BY_PROCESS; by <= PARTITION_BY_ALL; by++) {
		struct profile_filter filter = {.by_cpu = by == PARTITION_BY_CPU,
						.by_label = "env"};

		for (enum report_view view = REPORT_TREE; view <= REPORT_TIME; view++) {
			struct report_options options = {
				.view = view, .by = by, .around = "main", .n_bins = 7};
			char *text = written(&filter, report_write_json, &options);
			json_t *json = json_loads(text, 0, NULL), *parts;
			const json_t *part;
			size_t i;

			if (view != REPORT_AROUND)
				options.around = NULL;
			assert_non_null(json);
			parts = json_object_get(json,
						by == PARTITION_BY_PROCESS ? "processes" : "parts");
			if (view != REPORT_AROUND) {
				assert_int_equal(json_array_size(parts), n_parts[by]);
				assert_int_equal(sum(parts, "samples"), 100);
			} else {
				assert_int_equal(sum(parts, "total"), 90);
			}
			json_array_foreach(parts, i, part) check_part(part, view);
			json_decref(json);
			free(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views_around_function),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
