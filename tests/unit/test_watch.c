/* SPDX-License-Identifier: MIT */
/* What the log says while a service runs: at once, and then at most once a minute, with the count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/watch.h"

#define MINUTE_NS UINT64_C(60000000000)

static FILE *said;
static int usual;

/* From here on, what is logged goes to a file. */
static int begin(void **state)
{
	(void)state;
	said = tmpfile();
	usual = dup(STDERR_FILENO);
	return !said || usual < 0 || dup2(fileno(said), STDERR_FILENO) < 0 ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	fflush(stderr);
	dup2(usual, STDERR_FILENO);
	close(usual);
	fclose(said);
	return 0;
}

/* Returns how often a text was logged since the last call. */
static unsigned count(const char *text)
{
	static char bytes[8192];
	unsigned n = 0;
	size_t len;

	fflush(stderr);
	rewind(said);
	len = fread(bytes, 1, sizeof(bytes) - 1, said);
	bytes[len] = '\0';
	for (const char *at = bytes; (at = strstr(at, text)); at++)
		n++;
	rewind(said);
	if (ftruncate(fileno(said), 0))
		return UINT32_MAX;
	lseek(STDERR_FILENO, 0, SEEK_SET);
	return n;
}

static void lost_events(void **state)
{
	struct watch watch = {0};
	struct run_counters counters = {0};
	uint64_t now = 5 * MINUTE_NS;
	(void)state;

	watch_look(&watch, &counters, now);
	assert_int_equal(count("lost"), 0);
	counters.recorded.sideband_lost = 7;
	watch_look(&watch, &counters, now);
	assert_int_equal(count("7 events of processes and mappings lost"), 1);
	counters.recorded.sideband_lost = 9;
	watch_look(&watch, &counters, now + MINUTE_NS - 1);
	assert_int_equal(count("lost"), 0);
	watch_look(&watch, &counters, now + MINUTE_NS);
	assert_int_equal(count("2 events of processes and mappings lost"), 1);
	counters.sampled.counters[STACKD_COUNT_LOST_RING] = 3;
	watch_look(&watch, &counters, now + MINUTE_NS + 1);
	assert_int_equal(count("3 samples lost"), 1);
	counters.recorded.files_over_share = 5;
	counters.recorded.mappings_over_share = 6;
	watch_look(&watch, &counters, now + MINUTE_NS + 2);
	assert_int_equal(count("5 are not read for now"), 1);
	watch_look(&watch, &counters, now + MINUTE_NS + 3);
	assert_int_equal(count("not read for now"), 0);
	counters.recorded.mappings_over_share = 8;
	watch_look(&watch, &counters, now + 2 * MINUTE_NS + 2);
	assert_int_equal(count("2 events are left out"), 1);
}

static void late_commits(void **state)
{
	struct watch watch = {0};
	struct archive_state archive = {.waiting = WATCH_MOST_BEHIND - 1};
	const uint64_t now = 5 * MINUTE_NS;
	(void)state;

	watch_store(&watch, "/x/store.db", &archive, now);
	assert_int_equal(count("wait to be written"), 0);
	archive.waiting = 25;
	watch_store(&watch, "/x/store.db", &archive, now);
	assert_int_equal(count("some 25 seconds wait to be written to /x/store.db"), 1);
	watch_store(&watch, "/x/store.db", &archive, now + MINUTE_NS - 1);
	assert_int_equal(count("wait to be written"), 0);
	watch_store(&watch, "/x/store.db", &archive, now + MINUTE_NS);
	assert_int_equal(count("wait to be written"), 1);
	/* While the store cannot be written to at all, that is said instead. */
	archive.err = -28;
	watch_store(&watch, "/x/store.db", &archive, now + 3 * MINUTE_NS);
	assert_int_equal(count("wait to be written"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lost_events, begin, end),
		cmocka_unit_test_setup_teardown(late_commits, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
