/* SPDX-License-Identifier: MIT */
/* What a window has counted: the differences of counts, and what there is as it is now; and the
 * lists of counters, which docs/COUNTERS.md and the store have the same of. After a change of a
 * list, `test_run_counters --write` writes the table there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "daemon/counter_list.h"
#include "daemon/run_counters.h"
#include "doc_table.h"

#define PAGE  "docs/COUNTERS.md"
#define BEGIN "<!-- from the lists of counters -->\n"
#define END   "<!-- end -->\n"

/* One of any list. */
struct listed {
	const char *name, *unit, *by, *meaning;
};

static const struct listed listed[] = {
#define LISTED(value, name, unit, meaning) {name, #unit, "kernel half", meaning},
	STACKD_COUNTERS(LISTED) STACKD_REGION_COUNTERS(LISTED) STACKD_WAIT_COUNTERS(LISTED)
#undef LISTED
#define LISTED(value, name, unit, meaning) {name, #unit, "daemon", meaning},
		DAEMON_COUNTERS(LISTED) PERIOD_COUNTERS(LISTED)
#undef LISTED
#define LISTED(value, name, unit, meaning) {name, #unit, "workers", meaning},
			WORKER_COUNTERS(LISTED)
#undef LISTED
};

#define N_LISTED (sizeof(listed) / sizeof(*listed))

static const char *unit_name(const char *unit)
{
	static const char *const units[][2] = {
		{"COUNT", "count"}, {"NS", "ns"}, {"BYTES", "bytes"}, {"HZ", "Hz"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(units[i][0], unit))
			return units[i][1];
	fail_msg("%s is no unit", unit);
	return "";
}

static void put_table(struct buf *b)
{
	text_put_raw(b,
		     BEGIN "| counter | unit | counted by | what it counts |\n|---|---|---|---|\n");
	for (size_t i = 0; i < N_LISTED; i++) {
		text_put_raw(b, "| `");
		text_put_raw(b, listed[i].name);
		text_put_raw(b, "` | ");
		text_put_raw(b, unit_name(listed[i].unit));
		text_put_raw(b, " | ");
		text_put_raw(b, listed[i].by);
		text_put_raw(b, " | ");
		text_put_raw(b, listed[i].meaning);
		text_put_raw(b, " |\n");
	}
	text_put_raw(b, END);
	buf_put_u8(b, '\0');
	assert_false(b->failed);
}

static void test_page_has_the_lists(void **state)
{
	struct buf b = {0};

	(void)state;
	put_table(&b);
	doc_table_check(PAGE, BEGIN, END, (const char *)b.data);
	buf_free(&b);
}

static void test_names_are_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_LISTED; i++) {
		const char *name = listed[i].name;

		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_."), strlen(name));
		assert_true(strlen(name) < sizeof(((struct batch_counter *)NULL)->name));
		assert_null(strchr(listed[i].meaning, '|'));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(listed[k].name, name);
	}
}

static const struct batch_counter *find(const struct batch *batch, const char *name)
{
	for (size_t i = 0; i < batch->n_counters; i++)
		if (!strcmp(batch->counters[i].name, name))
			return &batch->counters[i];
	fail_msg("there is no counter %s", name);
	return NULL;
}

/* Whether a counter's name begins with a family's, of which the page tells below the table. */
static bool is_of_family(const char *name)
{
	return !strncmp(name, "end.", 4) || !strncmp(name, "refused.", 8);
}

/* The store has each counter of the lists once, with its own value, and no others. */
static void test_store_has_the_lists(void **state)
{
	struct run_counters counters = {.has_periods = true, .has_waking = true};
	struct batch batch = {0};
	uint64_t *values = (uint64_t *)&counters.sampled;
	size_t n_families = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(counters.sampled) / sizeof(*values); i++)
		values[i] = 1000 + i;
	values = (uint64_t *)&counters.recorded;
	for (size_t i = 0; i < sizeof(counters.recorded) / sizeof(*values); i++)
		values[i] = 2000 + i;
	counters.workers.restarts = 3;
	counters.workers.forgotten[WORKER_FORGOTTEN_SYMBOLS] = 4;
	counters.late = 5;
	counters.tables.runtime_rows = 6;
	assert_int_equal(run_counters_put(&counters, &batch), 0);
	for (size_t i = 0; i < batch.n_counters; i++)
		n_families += is_of_family(batch.counters[i].name);
	assert_int_equal(batch.n_counters - n_families, N_LISTED);
	for (size_t i = 0; i < N_LISTED; i++)
		find(&batch, listed[i].name);
	assert_int_equal(find(&batch, "started")->value, 1000 + STACKD_COUNT_STARTED);
	assert_int_equal(find(&batch, "tasks_untimed")->value,
			 counters.sampled.counters[STACKD_COUNT_UNTIMED]);
	assert_int_equal(find(&batch, "regions_unmatched")->value,
			 counters.sampled.regions[STACKD_REGION_UNMATCHED]);
	assert_int_equal(find(&batch, "waits_lives_lost")->value,
			 counters.sampled.waits[STACKD_WAIT_LIVES_LOST]);
	assert_int_equal(find(&batch, "frees_missed")->value, counters.recorded.blocks.missed);
	assert_int_equal(find(&batch, "periods_ns")->value, counters.recorded.periods);
	assert_int_equal(find(&batch, "worker_restarts")->value, 3);
	assert_int_equal(find(&batch, "forgotten.symbols")->value, 4);
	assert_int_equal(find(&batch, "late_events")->value, 5);
	assert_int_equal(find(&batch, "table_go_rows")->value, 6);
	free(batch.counters);
}

static void test_counts_and_what_there_is(void **state)
{
	const struct run_counters start = {
		.tables = {.loaded = 5, .rows = 1000, .rules = 300, .inodes = 5, .most_files = 64},
		.workers = {.calls = 7, .resident_bytes = 9000},
		.objects = 6,
		.own_cpu_ns = 100,
		.rate_hz = 99,
	};
	const struct run_counters now = {
		.tables = {.loaded = 7, .rows = 400, .rules = 310, .inodes = 6, .most_files = 64},
		.workers = {.calls = 8, .resident_bytes = 4000},
		.objects = 8,
		.own_cpu_ns = 130,
		.rate_hz = 49,
	};
	const struct run_counters since = run_counters_since(&now, &start);

	(void)state;
	assert_int_equal(since.tables.loaded, 2);
	assert_int_equal(since.tables.rows, 400);
	assert_int_equal(since.tables.rules, 310);
	assert_int_equal(since.tables.inodes, 6);
	assert_int_equal(since.tables.most_files, 64);
	assert_int_equal(since.workers.calls, 1);
	assert_int_equal(since.workers.resident_bytes, 4000);
	assert_int_equal(since.objects, 8);
	assert_int_equal(since.own_cpu_ns, 30);
	assert_int_equal(since.rate_hz, 49);
}

/* Returns whether the warnings about these counters say something. */
static bool warns(const struct run_counters *counters, const struct run_counters_asked *asked,
		  const char *what)
{
	char text[4096] = "";
	const int before = dup(STDERR_FILENO);
	const int file = memfd_create("warnings", MFD_CLOEXEC);

	assert_true(before >= 0 && file >= 0);
	assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
	run_counters_warn(counters, asked);
	assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
	assert_true(pread(file, text, sizeof(text) - 1, 0) >= 0);
	close(before);
	close(file);
	return strstr(text, what);
}

/* Threads of other users have a sentence of their own, and each has the option that was given. */
static void test_threads_that_are_not_counted(void **state)
{
	const struct run_counters refused = {.recorded.tables.refused = 2};
	const struct run_counters foreign = {.recorded.tables.foreign = 1};
	const struct run_counters_asked mpi = {.mpi = true}, annotated = {.annotated = true};
	const struct run_counters_asked both = {.mpi = true, .annotated = true};

	(void)state;
	assert_true(warns(&refused, &mpi, "--mpi: 2 threads were not counted (512 are "));
	assert_true(warns(&refused, &mpi, ": use --mpi=probes"));
	assert_false(warns(&refused, &mpi, "another user"));
	assert_true(warns(&foreign, &mpi, "--mpi: 1 thread belongs to another user "));
	assert_true(warns(&foreign, &mpi, "and was not counted: use --mpi=probes"));
	assert_false(warns(&foreign, &mpi, "512"));
	assert_true(warns(&foreign, &annotated, ": --annotated: 1 thread belongs"));
	assert_false(warns(&foreign, &annotated, "--mpi"));
	assert_true(warns(&refused, &both, "--mpi, --annotated: 2 threads"));
	assert_false(warns(&refused, &both, "probes"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_and_what_there_is),
		cmocka_unit_test(test_page_has_the_lists),
		cmocka_unit_test(test_names_are_names),
		cmocka_unit_test(test_store_has_the_lists),
		cmocka_unit_test(test_threads_that_are_not_counted),
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
