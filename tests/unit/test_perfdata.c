/* SPDX-License-Identifier: MIT */
/*
 * Reading perf.data: every field of every record, the order of time, events identified by ids,
 * header features, the form for pipes.
 */
#include <asm/perf_regs.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perf/perfdata.h"
#include "perfdata_make.h"

/* An open reader over what a test has made. */
struct fixture {
	struct make make;
	struct perfdata *reader;
	int fd;
};

static void open_bytes(struct fixture *f, struct buf *bytes)
{
	char *error = NULL;
	int err;

	f->fd = make_fd(bytes->data, bytes->len);
	buf_free(bytes);
	err = perfdata_open(f->fd, &f->reader, &error);
	if (err)
		fail_msg("not opened: %s", error);
}

static void open_file(struct fixture *f)
{
	struct buf bytes = {0};

	make_file(&f->make, &bytes);
	open_bytes(f, &bytes);
}

static void open_pipe(struct fixture *f)
{
	struct buf bytes = {0};

	make_pipe(&f->make, &bytes);
	open_bytes(f, &bytes);
}

static struct perfdata_record next(struct fixture *f)
{
	struct perfdata_record r;

	if (perfdata_next(f->reader, &r) != 1)
		fail_msg("no record: %s", perfdata_error(f->reader));
	return r;
}

static void expect_end(struct fixture *f)
{
	struct perfdata_record r;

	assert_int_equal(perfdata_next(f->reader, &r), 0);
	assert_string_equal(perfdata_error(f->reader), "");
}

static void close_fixture(struct fixture *f)
{
	perfdata_free(f->reader);
	close(f->fd);
	make_free(&f->make);
}

/* --- samples --------------------------------------------------------------------------------- */

#define ALL_FIELDS                                                                                 \
	(MAKE_PLAIN | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |                 \
	 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |         \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |                      \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |                     \
	 PERF_SAMPLE_DATA_SRC)

/* A value of the read format GROUP | ID | both times, of two counters. */
static void put_group(struct buf *b)
{
	make_words(b, 7, (uint64_t)2, (uint64_t)90, (uint64_t)91, (uint64_t)5, (uint64_t)77,
		   (uint64_t)6, (uint64_t)78);
}

static void put_stacks(struct buf *b)
{
	make_words(b, 4, (uint64_t)3, (uint64_t)PERF_CONTEXT_USER, (uint64_t)0x401000,
		   (uint64_t)0x402000);
	make_u32(b, 4); /* raw data */
	make_u32(b, 0xdeadbeef);
	make_words(b, 8, (uint64_t)2, (uint64_t)7, /* branches, and the ring's index */
		   (uint64_t)0x401100, (uint64_t)0x401200, (uint64_t)(1 | 9 << 4 | 3 << 20),
		   (uint64_t)0x401300, (uint64_t)0x401400, (uint64_t)2);
	make_words(b, 2, (uint64_t)11, (uint64_t)12); /* their counters */
	make_words(b, 4, (uint64_t)PERFDATA_REGS_64, (uint64_t)0xb, (uint64_t)0x7ffe0000,
		   (uint64_t)0x401000);
	make_words(b, 4, (uint64_t)16, (uint64_t)0x1111, (uint64_t)0x2222, (uint64_t)8);
	make_words(b, 2, (uint64_t)1, (uint64_t)2); /* weight, data source */
}

static void test_every_field(void **state)
{
	const uint64_t regs = 1 << PERF_REG_X86_BX | 1 << PERF_REG_X86_SP | 1 << PERF_REG_X86_IP;
	struct fixture f = {0};
	struct perf_event_attr *attr = make_event(&f.make, ALL_FIELDS, 77);
	struct perfdata_record r;
	struct stackd_regs user;
	struct buf b = {0};
	(void)state;

	attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			    PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr->branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK | PERFDATA_BRANCH_TYPE_HW_INDEX |
				   PERFDATA_BRANCH_TYPE_COUNTERS;
	attr->sample_regs_user = regs;
	make_words(&b, 2, (uint64_t)77, (uint64_t)0x401000);
	make_u32(&b, 10);
	make_u32(&b, 11);
	make_words(&b, 4, (uint64_t)123456, (uint64_t)0xadd7, (uint64_t)77, (uint64_t)1);
	make_u32(&b, 3);
	make_u32(&b, 0);
	make_u64(&b, 4242); /* period */
	put_group(&b);
	put_stacks(&b);
	make_take(&f.make, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &b);
	open_file(&f);
	r = next(&f);
	assert_int_equal(r.kind, PERFDATA_SAMPLE);
	assert_true(r.pid == 10 && r.tid == 11 && r.time_ns == 123456 && r.cpu == 3);
	assert_int_equal(r.event, 0);
	assert_int_equal(r.sample.ip, 0x401000);
	assert_int_equal(r.sample.period, 4242);
	assert_int_equal(r.sample.mode, PERFDATA_MODE_USER);
	assert_true(r.sample.has_callchain && r.sample.n_callchain == 3);
	assert_int_equal(r.sample.callchain[2], 0x402000);
	assert_true(r.sample.has_branches && r.sample.n_branches == 2);
	assert_int_equal(r.sample.hw_index, 7);
	assert_int_equal(r.sample.branches[1].from, 0x401300);
	assert_int_equal(PERFDATA_BRANCH_CYCLES(r.sample.branches[0].flags), 9);
	assert_int_equal(PERFDATA_BRANCH_TYPE(r.sample.branches[0].flags), 3);
	assert_true(r.sample.branches[1].flags & PERFDATA_BRANCH_PREDICTED);
	assert_true(r.sample.stack_room == 16 && r.sample.stack_bytes == 8);
	assert_memory_equal(r.sample.stack, "\x11\x11\0\0\0\0\0\0\x22\x22", 10);
	assert_true(perfdata_user_regs(&r.sample, &user));
	assert_int_equal(user.r[3], 0xb);
	assert_int_equal(user.r[STACKD_REG_SP], 0x7ffe0000);
	assert_int_equal(user.r[STACKD_REG_PC], 0x401000);
	assert_int_equal(user.r[0], 0);
	expect_end(&f);
	assert_int_equal(perfdata_counts(f.reader)->samples, 1);
	close_fixture(&f);
}

static void test_registers_of_a_32_bit_task(void **state)
{
	struct fixture f = {0};
	struct perf_event_attr *attr = make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_REGS_USER, 0);
	struct perfdata_record r;
	struct stackd_regs user;
	struct buf b = {0};
	(void)state;

	attr->sample_regs_user = 1 << PERF_REG_X86_SP | 1 << PERF_REG_X86_IP;
	make_words(&b, 3, (uint64_t)PERFDATA_REGS_32, (uint64_t)1, (uint64_t)2);
	make_sample(&f.make, PERF_RECORD_MISC_USER, 1, 1, 1, &b);
	make_u64(&b, PERFDATA_REGS_NONE); /* a kernel thread */
	make_sample(&f.make, PERF_RECORD_MISC_KERNEL, 1, 1, 2, &b);
	open_file(&f);
	r = next(&f);
	assert_int_equal(r.sample.regs_abi, PERFDATA_REGS_32);
	assert_false(perfdata_user_regs(&r.sample, &user));
	r = next(&f);
	assert_int_equal(r.sample.regs_mask, 0);
	assert_false(perfdata_user_regs(&r.sample, &user));
	expect_end(&f);
	close_fixture(&f);
}

/* --- the order of time ----------------------------------------------------------------------- */

static void test_rounds_are_sorted(void **state)
{
	static const uint64_t times[] = {10, 30, 20, 0 /* round */, 35, 25, 40, 0, 50, 45};
	static const uint64_t sorted[] = {10, 20, 25, 30, 35, 40, 45, 50};
	struct fixture f = {0};
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 0);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		if (times[i])
			make_sample(&f.make, PERF_RECORD_MISC_USER, times[i], 1, times[i], NULL);
		else
			make_round(&f.make);
	}
	open_file(&f);
	for (size_t i = 0; i < sizeof(sorted) / sizeof(*sorted); i++) {
		struct perfdata_record r = next(&f);

		assert_int_equal(r.time_ns, sorted[i]);
		assert_int_equal(r.sample.ip, sorted[i]);
	}
	expect_end(&f);
	assert_int_equal(perfdata_counts(f.reader)->out_of_order, 0);
	close_fixture(&f);
}

/* A record that comes later than its round promised is still returned, and counted. */
static void test_late_records_are_counted(void **state)
{
	struct fixture f = {0};
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 0);
	make_sample(&f.make, PERF_RECORD_MISC_USER, 1, 1, 100, NULL);
	make_round(&f.make);
	make_round(&f.make);
	make_sample(&f.make, PERF_RECORD_MISC_USER, 2, 1, 50, NULL);
	open_file(&f);
	assert_int_equal(next(&f).time_ns, 100);
	assert_int_equal(next(&f).time_ns, 50);
	expect_end(&f);
	assert_int_equal(perfdata_counts(f.reader)->out_of_order, 1);
	close_fixture(&f);
}

/* Many of random times, more than a block of the queue holds: nothing is lost or changed. */
static void test_long_queue(void **state)
{
	enum { COUNT = 60000 };
	struct fixture f = {0};
	uint64_t last = 0, sum = 0, wanted = 0;
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 0);
	srandom(7);
	for (int i = 0; i < COUNT; i++) {
		uint64_t time = 1 + (uint64_t)random();

		wanted += time;
		make_sample(&f.make, PERF_RECORD_MISC_USER, time, 1, time, NULL);
	}
	open_file(&f);
	for (int i = 0; i < COUNT; i++) {
		struct perfdata_record r = next(&f);

		assert_true(r.time_ns >= last && r.sample.ip == r.time_ns);
		last = r.time_ns;
		sum += r.time_ns;
	}
	assert_int_equal(sum, wanted);
	expect_end(&f);
	close_fixture(&f);
}

/* --- several events -------------------------------------------------------------------------- */

static void put_identified(struct make *m, uint64_t id, uint64_t ip, uint64_t time)
{
	struct buf b = {0};

	make_words(&b, 2, id, ip);
	make_trailer(&b, 1, 1, time);
	if (id == 8)
		make_words(&b, 2, (uint64_t)1, (uint64_t)0x99); /* a call chain */
	make_take(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &b);
}

static void test_events_by_identifier(void **state)
{
	struct fixture f = {0};
	struct perfdata_record r;
	(void)state;

	make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_IDENTIFIER, 7);
	make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CALLCHAIN, 8);
	put_identified(&f.make, 8, 0x10, 1);
	put_identified(&f.make, 7, 0x20, 2);
	put_identified(&f.make, 99, 0x30, 3); /* of an event that nobody described */
	open_file(&f);
	r = next(&f);
	assert_true(r.event == 1 && r.sample.ip == 0x10 && r.sample.n_callchain == 1);
	assert_string_equal(perfdata_event(f.reader, r.event)->name, "instructions");
	r = next(&f);
	assert_true(r.event == 0 && r.sample.ip == 0x20 && !r.sample.has_callchain);
	expect_end(&f);
	assert_int_equal(perfdata_counts(f.reader)->unknown_records, 1);
	close_fixture(&f);
}

/* The id behind the time, as perf wrote before IDENTIFIER. */
static void test_events_by_id(void **state)
{
	struct fixture f = {0};
	(void)state;

	make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_ID, 7);
	make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD, 8);
	for (uint64_t id = 7; id <= 8; id++) {
		struct buf b = {0};

		make_words(&b, 2, id, (uint64_t)5555);
		if (id == 7)
			b.len -= 8;
		make_sample(&f.make, PERF_RECORD_MISC_USER, id, 1, id, &b);
	}
	open_file(&f);
	assert_int_equal(next(&f).sample.period, 1000); /* the event's own */
	assert_int_equal(next(&f).sample.period, 5555);
	expect_end(&f);
	close_fixture(&f);
}

/* --- other records --------------------------------------------------------------------------- */

static void test_mappings(void **state)
{
	static const uint8_t id[20] = {1, 2, 3};
	struct fixture f = {0};
	struct buf b = {0};
	struct perfdata_record r;
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 0);
	make_build_id(&b, "/lib/b.so", "abcdefgh", 8);
	make_build_id(&b, "/lib/a.so", "12345678901234567890", 20);
	make_feature(&f.make, PERFDATA_FEATURE_BUILD_ID, &b);
	make_mmap2(&f.make, 5, 0x1000, 0x2000, 0x3000, "/bin/x", id, 20, 1);
	make_mmap2(&f.make, 5, 0x1000, 0x2000, 0x3000, "/lib/b.so", NULL, 0, 2);
	make_kernel_mmap(&f.make, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
			 "[kernel.kallsyms]_text");
	open_file(&f);
	r = next(&f); /* it has no time */
	assert_true(r.kind == PERFDATA_MMAP && r.mmap.mode == PERFDATA_MODE_KERNEL);
	r = next(&f);
	assert_true(r.pid == 5 && r.mmap.start == 0x1000 && r.mmap.len == 0x2000);
	assert_true(r.mmap.offset == 0x3000 && r.mmap.is_code && !r.mmap.inode);
	assert_string_equal(r.mmap.path, "/bin/x");
	assert_int_equal(r.mmap.build_id_len, 20);
	assert_memory_equal(r.mmap.build_id, id, 20);
	r = next(&f); /* by the table */
	assert_int_equal(r.mmap.build_id_len, 8);
	assert_memory_equal(r.mmap.build_id, "abcdefgh", 8);
	expect_end(&f);
	close_fixture(&f);
}

/* The kernel marks records as having a build-id that have device and inode, where another event on
 * the machine has asked for build-ids. */
static void test_false_build_id_flag(void **state)
{
	static const uint8_t device_and_inode[20] = {3, 0, 0, 0, 77};
	struct fixture f = {0};
	struct perfdata_record r;
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 0)->build_id = 0;
	make_mmap2(&f.make, 5, 0x1000, 0x2000, 0x3000, "/bin/x", device_and_inode, 20, 1);
	/* The helper has put the length first: make it the device's major number. */
	f.make.records.data[40] = 254;
	make_mmap2(&f.make, 5, 0x1000, 0x2000, 0x3000, "/bin/x", "12345678901234567890", 20, 2);
	open_file(&f);
	r = next(&f);
	assert_null(r.mmap.build_id);
	assert_true(r.mmap.dev_major == 254 && r.mmap.dev_minor == 3 && r.mmap.inode == 77);
	r = next(&f); /* perf inject adds some */
	assert_int_equal(r.mmap.build_id_len, 20);
	expect_end(&f);
	close_fixture(&f);
}

static void test_tasks(void **state)
{
	struct fixture f = {0};
	struct perfdata_record r;
	struct buf b = {0};
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 0);
	make_comm(&f.make, 5, 6, "a name that is longer than 15", true, 1);
	make_task(&f.make, PERF_RECORD_FORK, 7, 8, 5, 2);
	make_task(&f.make, PERF_RECORD_EXIT, 7, 8, 5, 3);
	make_words(&b, 2, (uint64_t)0, (uint64_t)17);
	make_trailer(&b, 0, 0, 4);
	make_take(&f.make, PERF_RECORD_LOST, 0, &b);
	make_u64(&b, 3);
	make_trailer(&b, 0, 0, 5);
	make_take(&f.make, PERF_RECORD_LOST_SAMPLES, 0, &b);
	open_file(&f);
	r = next(&f);
	assert_true(r.kind == PERFDATA_COMM && r.pid == 5 && r.tid == 6 && r.comm.is_exec);
	assert_string_equal(r.comm.comm, "a name that is longer than 15");
	r = next(&f);
	assert_true(r.kind == PERFDATA_FORK && r.pid == 7 && r.tid == 8);
	assert_true(r.task.parent_pid == 5 && r.task.parent_tid == 5 && !r.task.is_running);
	assert_int_equal(next(&f).kind, PERFDATA_EXIT);
	r = next(&f);
	assert_true(r.kind == PERFDATA_LOST && r.lost == 17);
	assert_int_equal(next(&f).lost, 3);
	expect_end(&f);
	assert_int_equal(perfdata_counts(f.reader)->lost, 20);
	close_fixture(&f);
}

/* AUX traces, switches and kinds that are not known: over them, and counted. */
static void test_skipped_records(void **state)
{
	static const uint32_t types[] = {PERF_RECORD_AUX, PERF_RECORD_SWITCH, 60, 200};
	struct fixture f = {0};
	struct buf b = {0};
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 0);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		make_words(&b, 3, (uint64_t)0, (uint64_t)0, (uint64_t)0);
		make_trailer(&b, 1, 1, 1);
		make_take(&f.make, types[i], 0, &b);
	}
	make_words(&b, 5, (uint64_t)24, (uint64_t)0, (uint64_t)0, (uint64_t)0, (uint64_t)0);
	make_take(&f.make, PERFDATA_RECORD_AUXTRACE, 0, &b);
	make_words(&f.make.records, 3, (uint64_t)-1, (uint64_t)-1, (uint64_t)-1); /* the trace */
	make_sample(&f.make, PERF_RECORD_MISC_USER, 1, 1, 9, NULL);
	open_file(&f);
	assert_int_equal(next(&f).time_ns, 9);
	expect_end(&f);
	assert_int_equal(perfdata_counts(f.reader)->aux_records, 2);
	assert_int_equal(perfdata_counts(f.reader)->aux_bytes, 24);
	assert_int_equal(perfdata_counts(f.reader)->other_records, 1);
	assert_int_equal(perfdata_counts(f.reader)->unknown_records, 2);
	close_fixture(&f);
}

/* --- the header ------------------------------------------------------------------------------ */

static void add_features(struct make *m)
{
	struct buf b = {0};

	make_string_feature(m, PERFDATA_FEATURE_HOSTNAME, "elsewhere");
	make_string_feature(m, PERFDATA_FEATURE_OSRELEASE, "5.4.0");
	make_string_feature(m, PERFDATA_FEATURE_ARCH, "x86_64");
	make_u32(&b, 16);
	make_u32(&b, 8);
	make_feature(m, PERFDATA_FEATURE_NRCPUS, &b);
	make_u32(&b, 3);
	make_string(&b, "perf");
	make_string(&b, "record");
	make_string(&b, "-g");
	make_feature(m, PERFDATA_FEATURE_CMDLINE, &b);
	make_u32(&b, 2);
	make_string(&b, "branches");
	make_string(&b, "32");
	make_string(&b, "max_precise");
	make_string(&b, "3");
	make_feature(m, PERFDATA_FEATURE_CPU_PMU_CAPS, &b);
	make_words(&b, 2, (uint64_t)100, (uint64_t)200);
	make_feature(m, PERFDATA_FEATURE_SAMPLE_TIME, &b);
	make_u32(&b, 1);
	make_u32(&b, sizeof(struct perf_event_attr));
	buf_put(&b, &m->attrs[0], sizeof(m->attrs[0]));
	make_u32(&b, 1);
	make_string(&b, "cycles:ppp");
	make_u64(&b, m->ids[0]);
	make_feature(m, PERFDATA_FEATURE_EVENT_DESC, &b);
}

static void check_features(const struct fixture *f)
{
	const struct perfdata_info *info = perfdata_info(f->reader);

	assert_string_equal(info->host, "elsewhere");
	assert_string_equal(info->kernel, "5.4.0");
	assert_string_equal(info->arch, "x86_64");
	assert_int_equal(info->cpus, 8);
	assert_string_equal(info->command, "perf record -g");
	assert_string_equal(info->cpu_caps, "branches=32,max_precise=3");
	assert_true(info->first_ns == 100 && info->last_ns == 200);
	assert_string_equal(perfdata_event(f->reader, 0)->name, "cycles:ppp");
}

static void test_features(void **state)
{
	struct fixture f = {0};
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 42);
	add_features(&f.make);
	make_sample(&f.make, PERF_RECORD_MISC_USER, 1, 1, 9, NULL);
	open_file(&f);
	check_features(&f);
	assert_false(perfdata_info(f.reader)->is_pipe);
	next(&f);
	expect_end(&f);
	close_fixture(&f);
}

/* Features are not of a size that keeps what follows aligned, nor is trace data. */
static void test_the_form_for_pipes(void **state)
{
	struct fixture f = {0};
	struct perfdata_record r;
	struct buf b = {0};
	(void)state;

	make_event(&f.make, MAKE_PLAIN | PERF_SAMPLE_CALLCHAIN, 42);
	add_features(&f.make);
	make_u32(&b, 5);
	make_take(&f.make, PERFDATA_RECORD_TRACING_DATA, 0, &b);
	buf_put(&f.make.records, "trace", 5);
	make_words(&b, 2, (uint64_t)2, (uint64_t)42);
	buf_put(&b, "renamed", 8);
	make_take(&f.make, PERFDATA_RECORD_EVENT_UPDATE, 0, &b);
	make_words(&b, 3, (uint64_t)2, (uint64_t)PERF_CONTEXT_USER, (uint64_t)0x77);
	make_sample(&f.make, PERF_RECORD_MISC_USER, 1, 1, 9, &b);
	open_pipe(&f);
	r = next(&f);
	assert_int_equal((uintptr_t)r.sample.callchain % 8, 0);
	assert_int_equal(r.sample.callchain[1], 0x77);
	assert_string_equal(perfdata_event(f.reader, 0)->name, "renamed");
	perfdata_event_count(f.reader);
	assert_true(perfdata_info(f.reader)->is_pipe);
	expect_end(&f);
	close_fixture(&f);
}

/* Through a real pipe, in pieces. */
static void test_read_from_pipe(void **state)
{
	struct fixture f = {0};
	struct buf bytes = {0};
	char *error;
	int ends[2];
	(void)state;

	make_event(&f.make, MAKE_PLAIN, 42);
	for (uint64_t i = 1; i <= 100; i++)
		make_sample(&f.make, PERF_RECORD_MISC_USER, i, 1, i, NULL);
	make_pipe(&f.make, &bytes);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes.data, bytes.len), bytes.len);
	close(ends[1]);
	buf_free(&bytes);
	f.fd = ends[0];
	assert_int_equal(perfdata_open(f.fd, &f.reader, &error), 0);
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(next(&f).sample.ip, i);
	expect_end(&f);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_registers_of_a_32_bit_task),
		cmocka_unit_test(test_rounds_are_sorted),
		cmocka_unit_test(test_late_records_are_counted),
		cmocka_unit_test(test_long_queue),
		cmocka_unit_test(test_events_by_identifier),
		cmocka_unit_test(test_events_by_id),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_false_build_id_flag),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_skipped_records),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_the_form_for_pipes),
		cmocka_unit_test(test_read_from_pipe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
