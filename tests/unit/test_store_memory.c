/* SPDX-License-Identifier: MIT */
/* A recording in memory whose samples were added up before: the profile of it, and its tags. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/profile.h"
#include "proc/object.h"
#include "stack/location.h"
#include "stackd_abi.h"
#include "store/store_memory.h"

#define FILE_ID UINT64_C(0xff01020304050607)

/* main calls work; 3 billion samples of work, 2 of main, of another thread, whose root is inferred.
 */
static struct store_reader *make(void)
{
	static const struct store_recording recording = {.id = 1,
							 .start_ns = 5,
							 .end_ns = 9,
							 .host = "2 hosts",
							 .kernel = "",
							 .arch = "",
							 .command = "",
							 .target = "",
							 .event = "cpu-clock",
							 .note = "",
							 .samples = 3000000002};
	static const struct store_line lines[] = {
		{.location = 0, .function = "main", .file = "a.c", .line = 3},
		{.location = 1, .function = "work"}};
	struct store_labels labels = {.host = "a", .command = "x", .unit = "u", .rank = 4};
	struct store_reader *r;
	int err = store_memory_new(&recording, 7, 1u << SERIES_CPU, &r);

	assert_int_equal(err, 0);
	err |= store_memory_object(r, &(struct store_object){.path = "/bin/x", .file_id = FILE_ID});
	err |= store_memory_location(r, &(struct store_location){.offset = 16});
	err |= store_memory_location(r, &(struct store_location){.offset = 32});
	err |= store_memory_process(r, &(struct store_process){.comm = "a"});
	for (int i = 0; i < 100; i++) /* labels stay where they are pointed to */
		err |= store_memory_thread(r,
					   &(struct store_thread){.comm = "x", .labels = &labels});
	err |= store_memory_node(r, &(struct store_node){0, 0});
	err |= store_memory_node(r, &(struct store_node){1, 1});
	err |= store_memory_origin(r, 1, true);
	err |= store_memory_sum(
		r, &(struct store_sum){0, 2, 0, STACKD_END_ENTRY, 3000000000, 6000000000});
	err |= store_memory_sum(r, &(struct store_sum){99, 1, 1, STACKD_END_NO_RECIPE, 2, 4});
	err |= store_memory_sum(
		r, &(struct store_sum){0, 2, 0, STACKD_END_ENTRY, 1000000000, 2000000000});
	assert_int_equal(err, 0);
	assert_int_equal(store_memory_finish(r, lines, 2), 0);
	return r;
}

static void sums(void **state)
{
	struct store_reader *r = make();
	const struct profile_totals *totals;
	const struct profile_entry *e;
	const struct profile_frame *frames;
	struct profile *p;
	uint64_t series;
	size_t n;

	(void)state;
	assert_int_equal(store_reader_series(r, &series), 0);
	assert_int_equal(series, 1u << SERIES_CPU);
	assert_int_equal(profile_new(r, NULL, &p), 0);
	totals = profile_totals(p);
	assert_int_equal(totals->samples, 4000000002);
	assert_int_equal(totals->weight, 8000000004);
	assert_int_equal(totals->reconstructed, 2);
	e = profile_entries(p, &n);
	assert_int_equal(n, 2);
	assert_int_equal(e[0].samples, 4000000000); /* of one path, thread and end */
	assert_int_equal(e[0].weight, 8000000000);
	assert_int_equal(e[1].quality, PROFILE_RECONSTRUCTED);
	frames = profile_frames(p, e[0].node, e[0].end_reason, e[0].origin, &n);
	assert_int_equal(n, 2);
	assert_string_equal(frames[0].symbol->name, "main");
	assert_string_equal(frames[1].symbol->name, "work");
	assert_true(profile_error(p) < 0);
	profile_free(p);
	store_reader_close(r);
}

static void tables(void **state)
{
	struct store_reader *r = make();
	const struct store_tables *t = store_reader_tables(r);
	uint64_t tag =
		hash_chain(hash_chain(0, location_id(FILE_ID, 16)), location_id(FILE_ID, 32));
	const uint64_t *tags;

	(void)state;
	assert_int_equal(t->n_recordings, 7);
	assert_int_equal(t->last_recording, 7);
	assert_int_equal(t->n_threads, 100);
	assert_string_equal(t->threads[0].labels->host, "a");
	assert_string_equal(t->threads[99].labels->unit, "u");
	assert_null(t->threads[50].labels->container);
	assert_int_equal(t->line_first[2], 2);
	assert_int_equal(store_reader_tags(r, &tags), 0);
	assert_true(tags[2] == tag);
	store_reader_close(r);
}

static void filtered(void **state)
{
	const char *const symbols[] = {"main"};
	const struct profile_filter filter = {.symbols = {symbols, 1}};
	struct store_reader *r = make();
	struct profile *p;

	(void)state;
	assert_int_equal(profile_new(r, &filter, &p), 0);
	assert_int_equal(profile_totals(p)->samples, 2);
	profile_free(p);
	store_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(tables),
		cmocka_unit_test(filtered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
