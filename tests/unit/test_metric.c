/* SPDX-License-Identifier: MIT */
/* The list of metrics, which docs/METRICS.md has as well. After a change of the list, `test_metric
 * --write` writes the table there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include "base/buf.h"
#include "base/text.h"
#include "doc_table.h"
#include "stack/metric.h"

#define PAGE  "docs/METRICS.md"
#define BEGIN "<!-- from the list of metrics -->\n"
#define END   "<!-- end -->\n"

static void put_table(struct buf *b)
{
	text_printf(b,
		    "%s| metric | unit | kind | measured with | what it is |\n"
		    "|---|---|---|---|---|\n",
		    BEGIN);
	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		const struct metric_info *info = metric_info(i);

		text_printf(b, "| `%s` | %s | %s | %s | %s |\n", info->name, metric_unit_words(i),
			    info->is_sampled ? "sampled" : "counted", info->options, info->meaning);
	}
	text_printf(b, "%s", END);
	buf_put_u8(b, '\0');
	assert_false(b->failed);
}

static void page_has_the_list(void **state)
{
	struct buf b = {0};

	(void)state;
	put_table(&b);
	doc_table_check(PAGE, BEGIN, END, (const char *)b.data);
	buf_free(&b);
}

static void names_are_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		const struct metric_info *info = metric_info(i);
		enum metric found = METRIC_COUNT;

		assert_int_equal(strspn(info->name, "abcdefghijklmnopqrstuvwxyz_."),
				 strlen(info->name));
		assert_true(metric_find(info->name, &found)); /* the first of that name */
		assert_int_equal(found, i);
		assert_true(*info->records && *info->options && *info->meaning);
		assert_null(strpbrk(info->meaning, "|`\n"));
	}
	assert_string_equal(metric_info(METRIC_CPU)->name, "cpu"); /* the default */
}

/* What a metric adds up, and takes off, is of its own kind. */
static void series_belong_together(void **state)
{
	(void)state;
	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		const struct metric_info *info = metric_info(i);

		assert_in_range(info->series, 0, SERIES_COUNT - 1);
		assert_true(info->series != SERIES_CPU || i == METRIC_CPU);
		if (info->is_peak)
			assert_int_not_equal(info->less, SERIES_CPU);
		if (info->error_less)
			assert_true(info->error && info->less);
		if (info->error)
			assert_true(info->is_sampled);
		if (info->is_count) {
			assert_int_equal(info->unit, METRIC_TIMES);
			assert_int_not_equal(metric_summed(i), i);
			assert_int_equal(metric_info(metric_summed(i))->series, info->series);
		}
		assert_true(metric_is_of(i, 1ull << info->series, true));
		assert_false(metric_is_of(i, 0, true));
	}
}

/* The table of --metric help: a line for each. */
static void all_are_shown(void **state)
{
	struct buf b = {0};
	const char *at;

	(void)state;
	metric_put_all(&b);
	buf_put_u8(&b, '\0');
	assert_false(b.failed);
	at = (const char *)b.data;
	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		const struct metric_info *info = metric_info(i);

		at = strchr(at, '\n');
		assert_non_null(at);
		at++;
		assert_memory_equal(at, info->name, strlen(info->name));
		assert_int_equal(at[strlen(info->name)], ' ');
		assert_memory_equal(strchr(at, '\n') - strlen(info->meaning), info->meaning,
				    strlen(info->meaning));
	}
	buf_free(&b);
}

/* One of them is in the singular. */
static void words_agree(void **state)
{
	char text[METRIC_AMOUNT_MAX];
	struct buf b = {0};

	(void)state;
	assert_string_equal(metric_amount(METRIC_CPU, 0, text), "0 samples");
	assert_string_equal(metric_amount(METRIC_CPU, 1, text), "1 sample");
	assert_string_equal(metric_amount(METRIC_CPU, 11, text), "11 samples");
	assert_string_equal(metric_amount(METRIC_REGION_VISITS, 1, text), "1 instance");
	metric_put_records(METRIC_WAIT, 1, &b);
	text_put_raw(&b, "; ");
	metric_put_records(METRIC_WALL, 1, &b);
	buf_put_u8(&b, '\0');
	assert_false(b.failed);
	assert_string_equal((const char *)b.data, "1 wait; 1 samples and waits");
	buf_free(&b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_has_the_list),
		cmocka_unit_test(names_are_names),
		cmocka_unit_test(series_belong_together),
		cmocka_unit_test(all_are_shown),
		cmocka_unit_test(words_agree),
	};

	if (argc > 1 && !strcmp(argv[1], "--write")) {
		struct buf b = {0};

		put_table(&b);
		doc_table_write(PAGE, BEGIN, END, (const char *)b.data);
		buf_free(&b);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
