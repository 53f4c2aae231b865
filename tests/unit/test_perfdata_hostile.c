/* SPDX-License-Identifier: MIT */
/*
 * perf.data that is damaged, truncated or malicious: refused with an offset and a reason, never a
 * crash; and compressed records, valid or not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zstd.h>

#include "perf/perfdata.h"
#include "perfdata_make.h"

/* Reads all of it; returns the number of samples, or the error with its message. */
static int64_t read_all(const void *bytes, size_t len, char *ret_error, size_t size)
{
	struct perfdata_record record;
	struct perfdata *reader;
	char *error = NULL;
	int fd = make_fd(bytes, len), status = perfdata_open(fd, &reader, &error);
	int64_t samples = 0;

	snprintf(ret_error, size, "%s", error ? error : "");
	free(error);
	if (status) {
		close(fd);
		return status;
	}
	while ((status = perfdata_next(reader, &record)) == 1)
		samples += record.kind == PERFDATA_SAMPLE;
	snprintf(ret_error, size, "%s", perfdata_error(reader));
	if (status)
		assert_int_equal(perfdata_next(reader, &record), status); /* and stays so */
	perfdata_free(reader);
	close(fd);
	return status ? status : samples;
}

static void expect_refused(const void *bytes, size_t len, int wanted, const char *words)
{
	char error[512];
	int64_t r = read_all(bytes, len, error, sizeof(error));

	if (r != wanted || !strstr(error, words) || strncmp(error, "at offset ", 10))
		fail_msg("%lld, '%s' instead of %d, '%s'", (long long)r, error, wanted, words);
}

/* Two samples with call chains, a mapping, features. */
static void small(struct make *m)
{
	make_event(m, MAKE_PLAIN | PERF_SAMPLE_CALLCHAIN, 1);
	make_string_feature(m, PERFDATA_FEATURE_HOSTNAME, "host");
	make_mmap2(m, 1, 0x1000, 0x1000, 0, "/bin/x", NULL, 0, 1);
	for (uint64_t i = 0; i < 2; i++) {
		struct buf b = {0};

		make_words(&b, 3, (uint64_t)2, (uint64_t)PERF_CONTEXT_USER, (uint64_t)0x1010);
		make_sample(m, PERF_RECORD_MISC_USER, 0x1010, 1, 2 + i, &b);
	}
}

static void expect_header_refused(size_t at, uint64_t value, int wanted, const char *words)
{
	struct make m = {0};
	struct buf bytes = {0};

	small(&m);
	make_file(&m, &bytes);
	memcpy(bytes.data + at, &value, sizeof(value));
	expect_refused(bytes.data, bytes.len, wanted, words);
	buf_free(&bytes);
	make_free(&m);
}

static void test_headers(void **state)
{
	(void)state;
	expect_header_refused(0, 0x1234, -EBADMSG, "not a perf.data file");
	expect_header_refused(0, PERFDATA_MAGIC_SWAPPED, -ENOTSUP, "big-endian");
	expect_header_refused(0, PERFDATA_MAGIC_OLD, -ENOTSUP, "older than Linux 3.0");
	expect_header_refused(8, 1000, -EBADMSG, "header's size is 1000");
	expect_header_refused(16, 3, -EBADMSG, "attribute's size is 3");
	expect_header_refused(24, UINT64_MAX - 7, -EBADMSG, "list of events is beyond");
	expect_header_refused(32, 0, -EBADMSG, "describes no event");
	expect_header_refused(32, UINT64_MAX, -EBADMSG, "more than the limit");
	expect_header_refused(40, UINT64_MAX, -EBADMSG, "invalid offset");
	expect_header_refused(48, 0, -EBADMSG, "was killed before it completed");
	expect_header_refused(48, UINT64_MAX, -EBADMSG, "truncated");
	expect_header_refused(72, 1 << 24 | 1 << 3, -EBADMSG, "header feature");
}

/* Whatever length a file is cut to, it is refused. */
static void test_cut_files(void **state)
{
	struct make m = {0};
	struct buf bytes = {0};
	char error[512];
	(void)state;

	small(&m);
	make_file(&m, &bytes);
	assert_int_equal(read_all(bytes.data, bytes.len, error, sizeof(error)), 2);
	for (size_t len = 0; len < bytes.len; len++) {
		if (read_all(bytes.data, len, error, sizeof(error)) >= 0)
			fail_msg("%zu of %zu bytes were accepted", len, bytes.len);
		assert_true(!strncmp(error, "at offset ", 10));
	}
	buf_free(&bytes);
	make_free(&m);
}

/* A pipe has no end but that of a record. */
static void test_cut_pipes(void **state)
{
	struct make m = {0};
	struct buf bytes = {0};
	size_t n_accepted = 0;
	char error[512];
	(void)state;

	small(&m);
	make_pipe(&m, &bytes);
	for (size_t len = 0; len <= bytes.len; len++)
		n_accepted += read_all(bytes.data, len, error, sizeof(error)) >= 0;
	/* Behind the header, attribute, feature, mapping and the two samples. */
	assert_int_equal(n_accepted, 6);
	buf_free(&bytes);
	make_free(&m);
}

/* A sample of the given layout and words. */
static void expect_sample_refused(uint64_t type, const char *words, size_t n, ...)
{
	struct make m = {0};
	struct buf bytes = {0}, b = {0};
	va_list args;

	make_event(&m, MAKE_PLAIN | type, 1)->sample_regs_user = 0xff;
	va_start(args, n);
	for (size_t i = 0; i < n; i++)
		make_u64(&b, va_arg(args, uint64_t));
	va_end(args);
	make_sample(&m, PERF_RECORD_MISC_USER, 1, 1, 1, &b);
	make_file(&m, &bytes);
	expect_refused(bytes.data, bytes.len, -EBADMSG, words);
	buf_free(&bytes);
	make_free(&m);
}

static void test_samples(void **state)
{
	const char *longer = "its fields are longer than it is";
	(void)state;

	expect_sample_refused(PERF_SAMPLE_CALLCHAIN, longer, 1, (uint64_t)1);
	expect_sample_refused(PERF_SAMPLE_CALLCHAIN, longer, 2, UINT64_MAX, (uint64_t)0);
	expect_sample_refused(PERF_SAMPLE_CALLCHAIN, longer, 2, UINT64_MAX / 8 + 2, (uint64_t)0);
	expect_sample_refused(PERF_SAMPLE_BRANCH_STACK, longer, 3, (uint64_t)1, (uint64_t)0,
			      (uint64_t)0);
	expect_sample_refused(PERF_SAMPLE_BRANCH_STACK, longer, 1, UINT64_MAX / 3);
	expect_sample_refused(PERF_SAMPLE_RAW, longer, 1, (uint64_t)UINT32_MAX);
	expect_sample_refused(PERF_SAMPLE_RAW, "raw data of an odd size", 2, (uint64_t)3,
			      (uint64_t)0);
	expect_sample_refused(PERF_SAMPLE_REGS_USER, longer, 2, (uint64_t)2, (uint64_t)0);
	expect_sample_refused(PERF_SAMPLE_REGS_USER, longer, 1, (uint64_t)77);
	expect_sample_refused(PERF_SAMPLE_STACK_USER, longer, 2, (uint64_t)64, (uint64_t)0);
	expect_sample_refused(PERF_SAMPLE_STACK_USER, longer, 3, (uint64_t)8, (uint64_t)0,
			      (uint64_t)9);
	expect_sample_refused(PERF_SAMPLE_PERIOD, longer, 0);
}

/* A record of any bytes. */
static void expect_record_refused(uint32_t type, const char *words, const char *body, size_t size)
{
	struct make m = {0};
	struct buf bytes = {0}, b = {0};

	make_event(&m, MAKE_PLAIN, 1);
	buf_put(&b, body, size);
	make_take(&m, type, 0, &b);
	make_file(&m, &bytes);
	expect_refused(bytes.data, bytes.len, -EBADMSG, words);
	buf_free(&bytes);
	make_free(&m);
}

static void test_records(void **state)
{
	static const char zeros[64] = {0}, ones[64] = {[0 ... 63] = 1};
	(void)state;

	expect_record_refused(PERF_RECORD_COMM, "too short for its event", zeros, 8);
	expect_record_refused(PERF_RECORD_COMM, "is truncated", ones, 40); /* a name without end */
	expect_record_refused(PERF_RECORD_MMAP, "is truncated", zeros, 32);
	expect_record_refused(PERFDATA_RECORD_ATTR, "size of an event's attribute", zeros, 64);
	expect_record_refused(PERFDATA_RECORD_FEATURE, "without a number", zeros, 4);
	expect_record_refused(PERFDATA_RECORD_BUILD_ID, "build-id table", zeros, 8);
	expect_record_refused(PERFDATA_RECORD_AUXTRACE, "without a size", zeros, 0);
	expect_record_refused(PERFDATA_RECORD_AUXTRACE, "extend beyond the records", ones, 48);
	expect_record_refused(PERFDATA_RECORD_EVENT_UPDATE, "of no event", zeros, 8);
}

static void test_record_without_size(void **state)
{
	struct make m = {0};
	struct buf bytes = {0};
	(void)state;

	make_event(&m, MAKE_PLAIN, 1);
	make_u64(&m.records, PERF_RECORD_SAMPLE);
	make_file(&m, &bytes);
	expect_refused(bytes.data, bytes.len, -EBADMSG, "a record's size is 0");
	buf_free(&bytes);
	make_free(&m);
}

static void test_events_without_ids(void **state)
{
	struct make m = {0};
	struct buf bytes = {0};
	(void)state;

	make_event(&m, MAKE_PLAIN, 1);
	make_event(&m, MAKE_PLAIN | PERF_SAMPLE_PERIOD, 2);
	make_sample(&m, PERF_RECORD_MISC_USER, 1, 1, 1, NULL);
	make_file(&m, &bytes);
	expect_refused(bytes.data, bytes.len, -EBADMSG, "different layouts");
	buf_free(&bytes);
	make_free(&m);
}

static void test_file_through_pipe(void **state)
{
	struct make m = {0};
	struct buf bytes = {0};
	struct perfdata *reader;
	char *error;
	int ends[2];
	(void)state;

	small(&m);
	make_file(&m, &bytes);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes.data, bytes.len), bytes.len);
	assert_int_equal(perfdata_open(ends[0], &reader, &error), -ENOTSUP);
	assert_non_null(strstr(error, "give the file's name"));
	free(error);
	close(ends[0]);
	close(ends[1]);
	buf_free(&bytes);
	make_free(&m);
}

/* --- compressed ------------------------------------------------------------------------------ */

/* Replaces the records by compressed ones of `piece` bytes each. */
static void compress(struct make *m, size_t piece, uint32_t type)
{
	size_t room = ZSTD_compressBound(m->records.len);
	uint8_t *packed = malloc(room);
	size_t len = ZSTD_compress(packed, room, m->records.data, m->records.len, 3);

	assert_false(ZSTD_isError(len));
	buf_free(&m->records);
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		struct buf b = {0};

		if (type == PERFDATA_RECORD_COMPRESSED2)
			make_u64(&b, n);
		buf_put(&b, packed + at, n);
		if (type == PERFDATA_RECORD_COMPRESSED2)
			make_pad(&b);
		make_take(m, type, 0, &b);
	}
	free(packed);
}

static void test_compressed(void **state)
{
	static const uint32_t types[] = {PERFDATA_RECORD_COMPRESSED, PERFDATA_RECORD_COMPRESSED2};
	char error[512];
	(void)state;

	for (size_t piece = 1; piece < 60000; piece = piece * 3 + 2) {
		for (size_t i = 0; i < 2; i++) {
			struct make m = {0};
			struct buf bytes = {0};

			make_event(&m, MAKE_PLAIN, 1);
			srandom(3);
			for (uint64_t j = 1; j <= 3000; j++)
				make_sample(&m, PERF_RECORD_MISC_USER, (uint64_t)random(), 1, j,
					    NULL);
			compress(&m, piece, types[i]);
			make_file(&m, &bytes);
			assert_int_equal(read_all(bytes.data, bytes.len, error, sizeof(error)),
					 3000);
			buf_free(&bytes);
			make_free(&m);
		}
	}
}

static void expect_packed_refused(struct make *m, const char *words)
{
	struct buf bytes = {0};

	make_file(m, &bytes);
	expect_refused(bytes.data, bytes.len, -EBADMSG, words);
	buf_free(&bytes);
	make_free(m);
}

static void test_compressed_and_damaged(void **state)
{
	struct make m = {0};
	struct buf b = {0};
	(void)state;

	small(&m);
	buf_put(&b, "this was never compressed", 25);
	make_take(&m, PERFDATA_RECORD_COMPRESSED, 0, &b);
	expect_packed_refused(&m, "compressed data is damaged");

	small(&m); /* ends within a record */
	m.records.len -= 8;
	compress(&m, 60000, PERFDATA_RECORD_COMPRESSED);
	expect_packed_refused(&m, "truncated within a compressed record");

	small(&m); /* within one another */
	compress(&m, 60000, PERFDATA_RECORD_COMPRESSED);
	compress(&m, 60000, PERFDATA_RECORD_COMPRESSED);
	expect_packed_refused(&m, "within another");

	small(&m);
	make_u64(&b, UINT64_MAX);
	make_take(&m, PERFDATA_RECORD_COMPRESSED2, 0, &b);
	expect_packed_refused(&m, "longer than its record");
}

/* 64 MiB of empty rounds, in a few KiB. */
static void test_decompression_bomb(void **state)
{
	struct make m = {0};
	(void)state;

	make_event(&m, MAKE_PLAIN, 1);
	for (size_t i = 0; i < (8u << 20); i++)
		make_round(&m);
	compress(&m, 60000, PERFDATA_RECORD_COMPRESSED);
	expect_packed_refused(&m, "times its size");
}

/* --- chance ---------------------------------------------------------------------------------- */

/* Flips bits and changes lengths of a valid file: reading always ends. */
static void test_random_damage(void **state)
{
	struct make m = {0};
	struct buf bytes = {0};
	char error[512];
	(void)state;

	small(&m);
	make_task(&m, PERF_RECORD_FORK, 3, 3, 1, 5);
	make_comm(&m, 3, 3, "x", true, 6);
	make_file(&m, &bytes);
	srandom(11);
	for (int i = 0; i < 4000; i++) {
		uint8_t *copy = malloc(bytes.len);

		memcpy(copy, bytes.data, bytes.len);
		for (long n = random() % 4; n >= 0; n--)
			copy[(size_t)random() % bytes.len] ^= (uint8_t)(1u << random() % 8);
		read_all(copy, bytes.len, error, sizeof(error));
		free(copy);
	}
	buf_free(&bytes);
	make_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_cut_files),
		cmocka_unit_test(test_cut_pipes),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_record_without_size),
		cmocka_unit_test(test_events_without_ids),
		cmocka_unit_test(test_file_through_pipe),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_compressed_and_damaged),
		cmocka_unit_test(test_decompression_bomb),
		cmocka_unit_test(test_random_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
