/* SPDX-License-Identifier: MIT */
/*
 * WALKED records as they arrive in the ring: the packed header, whose times have 48 bits, and
 * records that are truncated or have wrong counts.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

#define WRAP  (UINT64_C(1) << 48) /* nanoseconds: 78 hours */
#define A_DAY UINT64_C(86400000000000)

static struct record_reader *reader;

static struct {
	struct stackd_walked header;
	uint8_t bytes[64];
} sent;

static int set_up(void **state)
{
	(void)state;
	memset(&sent, 0, sizeof(sent));
	sent.header.form = STACKD_FORM_WALKED;
	return record_reader_new(&reader);
}

static int tear_down(void **state)
{
	(void)state;
	record_reader_free(reader);
	return 0;
}

/* The record with so many bytes behind its header; NULL: it is refused. */
static struct stackd_header *read_at(uint64_t now_ns, size_t bytes)
{
	struct stackd_header *read = NULL;
	uint8_t *exact =
		malloc(sizeof(sent.header) + bytes); /* the sanitizer sees reads beyond it */
	int err;

	assert_non_null(exact);
	memcpy(exact, &sent, sizeof(sent.header) + bytes);
	err = record_read(reader, exact, sizeof(sent.header) + bytes, now_ns, &read);
	assert_true(err == 0 || err == -EBADMSG);
	free(exact);
	return err ? NULL : read;
}

static void every_field_arrives(void **state)
{
	const uint8_t bytes[] = {0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55, 0x10, 0x0f,
				 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 1,	   2,	 3};
	const uint64_t kernel[] = {UINT64_C(0xffffffff81000001), UINT64_C(0xffffffff81000002)};
	struct stackd_header *read;
	struct record_frames frames;

	(void)state;
	sent.header = (struct stackd_walked){
		.form = STACKD_FORM_WALKED | STACKD_FORM_IN_KERNEL | STACKD_FORM_NOT_REMEMBERED |
			STACKD_HAS_PID | STACKD_HAS_PERIOD | STACKD_HAS_CGROUP,
		.end_reason = STACKD_END_TOO_DEEP,
		.sequence = 255,
		.n_kernel = 2,
		.kept = 1024,
		.tid = (1u << 22) - 1,
		.time_ns = 5,
		.cpu = UINT16_MAX,
	};
	memcpy(sent.bytes, bytes, sizeof(bytes));
	memcpy(sent.bytes + sizeof(bytes), kernel, sizeof(kernel));
	read = read_at(0, sizeof(bytes) + sizeof(kernel));
	assert_non_null(read);
	assert_int_equal(read->version, STACKD_ABI_VERSION);
	assert_int_equal(read->kind, STACKD_RECORD_WALKED | STACKD_HAS_PID | STACKD_HAS_PERIOD |
					     STACKD_HAS_CGROUP);
	assert_int_equal(read->flags, STACKD_HAS_REGS | STACKD_IN_KERNEL | STACKD_NOT_REMEMBERED);
	assert_int_equal(read->end_reason, STACKD_END_TOO_DEEP);
	assert_int_equal(read->sequence, 255);
	assert_int_equal(read->kept, 1024);
	assert_int_equal(read->tid, (1u << 22) - 1);
	assert_int_equal(read->time_ns, 5);
	assert_int_equal(read->cpu, UINT16_MAX);
	assert_int_equal(record_pid(read), 0x11223344);
	assert_int_equal(record_period(read, 1), 0x55667788);
	assert_true(record_cgroup(read) == UINT64_C(0x090a0b0c0d0e0f10));
	record_frames(read, false, &frames);
	assert_int_equal(frames.end - frames.at, 3);
	assert_memory_equal(frames.at, bytes + 16, 3);
	assert_int_equal(read->n_kernel, 2);
	assert_memory_equal(record_kernel(read), kernel, sizeof(kernel));
	record_pool_give_back(read);
}

static void time_is_nearest_possible(void **state)
{
	const uint64_t times[] = {0, 1, A_DAY, WRAP - 1, WRAP, WRAP + 1, 7 * WRAP - 1, 7 * WRAP};

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const uint64_t now[] = {times[i], times[i] + 1, times[i] + A_DAY,
					times[i] > A_DAY ? times[i] - A_DAY : 0};

		sent.header.time_ns = times[i];
		for (size_t n = 0; n < sizeof(now) / sizeof(now[0]); n++) {
			struct stackd_header *read = read_at(now[n], 0);

			assert_non_null(read);
			assert_true(read->time_ns == times[i]);
			record_pool_give_back(read);
		}
	}
}

static void truncated_record_is_refused(void **state)
{
	struct stackd_header *read;

	(void)state;
	for (size_t size = 0; size < sizeof(sent.header); size++)
		assert_int_equal(record_read(reader, &sent, size, 0, &read), -EBADMSG);
	sent.header.form |= STACKD_HAS_PID | STACKD_HAS_PERIOD;
	sent.header.n_kernel = 3;
	assert_null(read_at(0, 8 + 24 - 1));
	read = read_at(0, 8 + 24);
	assert_non_null(read);
	assert_int_equal(read->bytes, 8);
	record_pool_give_back(read);
}

static void too_many_frames_are_refused(void **state)
{
	size_t size = sizeof(sent.header) + UINT16_MAX + 1;
	uint8_t *large = calloc(1, size);
	struct stackd_header *read = NULL;

	(void)state;
	assert_non_null(large);
	memcpy(large, &sent, sizeof(sent.header));
	assert_int_equal(record_read(reader, large, size, 0, &read), -EBADMSG);
	assert_int_equal(record_read(reader, large, size - 1, 0, &read), 0);
	record_pool_give_back(read);
	free(large);
}

/* Records of all sizes lie apart, and stay as they are when others go, their pool included. */
static void records_wait_in_their_pool(void **state)
{
	enum { RECORDS = 3000 };
	struct record_pool *pool = NULL;
	uint8_t *records[RECORDS];

	(void)state;
	assert_int_equal(record_pool_new(&pool), 0);
	for (size_t i = 0; i < RECORDS; i++) {
		records[i] = record_pool_take(i % 7 ? pool : NULL, 1 + i * 7 % 9000);
		assert_non_null(records[i]);
		assert_int_equal((uintptr_t)records[i] % 8, 0);
		memset(records[i], (int)i, 1 + i * 7 % 9000);
		if (i % 3)
			continue;
		record_pool_give_back(records[i / 2]);
		records[i / 2] = NULL;
	}
	record_pool_free(pool);
	for (size_t i = 0; i < RECORDS; i++) {
		for (size_t at = 0; records[i] && at < 1 + i * 7 % 9000; at++)
			assert_int_equal(records[i][at], (uint8_t)i);
		record_pool_give_back(records[i]);
	}
	record_pool_give_back(NULL);
	record_pool_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_field_arrives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(time_is_nearest_possible, set_up, tear_down),
		cmocka_unit_test_setup_teardown(truncated_record_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_frames_are_refused, set_up, tear_down),
		cmocka_unit_test(records_wait_in_their_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
