/* SPDX-License-Identifier: MIT */
/*
 * Writes the first inputs of fuzz_perfdata: make_perfdata FOLDER. Every kind of record, of event
 * and of header feature is in one of them, in file and in pipe form, compressed and not.
 */
#include <fcntl.h>
#include <zstd.h>

#include "perfdata_make.h"

static void write_to(const char *folder, const char *name, const struct buf *bytes)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, bytes->data, bytes->len) != (ssize_t)bytes->len) {
		perror(path);
		exit(1);
	}
	close(fd);
}

/* In both forms. */
static void save(const char *folder, const char *name, struct make *m)
{
	char pipe_name[64];
	struct buf bytes = {0};

	make_file(m, &bytes);
	write_to(folder, name, &bytes);
	buf_clear(&bytes);
	make_pipe(m, &bytes);
	snprintf(pipe_name, sizeof(pipe_name), "%s_pipe", name);
	write_to(folder, pipe_name, &bytes);
	buf_free(&bytes);
	make_free(m);
}

static void add_side_band(struct make *m)
{
	struct buf b = {0};

	make_kernel_mmap(m, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
			 "[kernel.kallsyms]_text");
	make_comm(m, 1, 1, "program", true, 1);
	make_mmap2(m, 1, 0x400000, 0x1000, 0, "/bin/x", "12345678901234567890", 20, 2);
	make_task(m, PERF_RECORD_FORK, 2, 2, 1, 3);
	make_task(m, PERF_RECORD_EXIT, 2, 2, 1, 4);
	make_words(&b, 2, (uint64_t)0, (uint64_t)17);
	make_trailer(&b, 0, 0, 5);
	make_take(m, PERF_RECORD_LOST, 0, &b);
	make_words(&b, 2, (uint64_t)0xffffffffc0001000, (uint64_t)0x100000100);
	buf_put(&b, "bpf_prog", 9);
	make_pad(&b);
	make_trailer(&b, 0, 0, 6);
	make_take(m, PERF_RECORD_KSYMBOL, 0, &b);
	make_round(m);
}

static void add_features(struct make *m)
{
	struct buf b = {0};

	make_string_feature(m, PERFDATA_FEATURE_HOSTNAME, "host");
	make_u32(&b, 2);
	make_string(&b, "perf");
	make_string(&b, "record");
	make_feature(m, PERFDATA_FEATURE_CMDLINE, &b);
	make_build_id(&b, "/bin/x", "12345678901234567890", 20);
	make_build_id(&b, "/bin/y", "12345678", 8);
	make_feature(m, PERFDATA_FEATURE_BUILD_ID, &b);
	make_u32(&b, 1);
	make_u32(&b, sizeof(struct perf_event_attr));
	buf_put(&b, &m->attrs[0], sizeof(m->attrs[0]));
	make_u32(&b, 1);
	make_string(&b, "cycles:u");
	make_u64(&b, m->ids[0]);
	make_feature(m, PERFDATA_FEATURE_EVENT_DESC, &b);
	make_u32(&b, 1);
	make_u32(&b, 1);
	make_string(&b, "branches");
	make_string(&b, "32");
	make_string(&b, "cpu");
	make_feature(m, PERFDATA_FEATURE_PMU_CAPS, &b);
}

static void save_chains(const char *folder)
{
	struct make m = {0};

	make_event(&m, MAKE_PLAIN | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW, 1);
	add_features(&m);
	add_side_band(&m);
	for (uint64_t i = 0; i < 4; i++) {
		struct buf b = {0};

		make_words(&b, 4, (uint64_t)3, (uint64_t)PERF_CONTEXT_USER, (uint64_t)0x400500,
			   (uint64_t)0x400700);
		make_u32(&b, 12);
		buf_put(&b, "raw raw raw", 12);
		make_sample(&m, PERF_RECORD_MISC_USER, 0x400500, 1, 20 - i, &b);
	}
	make_round(&m);
	save(folder, "chains", &m);
}

static void save_stacks(const char *folder)
{
	struct make m = {0};
	struct perf_event_attr *attr =
		make_event(&m,
			   MAKE_PLAIN | PERF_SAMPLE_READ | PERF_SAMPLE_BRANCH_STACK |
				   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
			   1);
	struct buf b = {0};

	attr->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	attr->branch_sample_type = PERFDATA_BRANCH_TYPE_HW_INDEX | PERFDATA_BRANCH_TYPE_COUNTERS;
	attr->sample_regs_user = 0xff01ff;
	make_words(&b, 3, (uint64_t)1, (uint64_t)5, (uint64_t)1);
	make_words(&b, 6, (uint64_t)1, (uint64_t)0, (uint64_t)0x401000, (uint64_t)0x402000,
		   (uint64_t)1, (uint64_t)3);
	make_u64(&b, 2);
	for (uint64_t i = 0; i < 17; i++)
		make_u64(&b, i);
	make_words(&b, 4, (uint64_t)16, (uint64_t)1, (uint64_t)2, (uint64_t)16);
	make_sample(&m, PERF_RECORD_MISC_USER, 0x401000, 1, 7, &b);
	save(folder, "stacks", &m);
}

static void save_events(const char *folder)
{
	struct make m = {0};

	make_event(&m, MAKE_PLAIN | PERF_SAMPLE_ID, 1);
	make_event(&m, MAKE_PLAIN | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD, 2);
	for (uint64_t id = 1; id <= 2; id++) {
		struct buf b = {0};

		make_words(&b, 2, id, (uint64_t)1000);
		make_sample(&m, PERF_RECORD_MISC_USER, id, 1, id, &b);
	}
	save(folder, "events", &m);
}

static void save_packed(const char *folder)
{
	uint8_t packed[4096];
	struct make m = {0};
	size_t len;

	make_event(&m, MAKE_PLAIN, 1);
	add_side_band(&m);
	for (uint64_t i = 1; i <= 20; i++)
		make_sample(&m, PERF_RECORD_MISC_USER, i, 1, 10 + i, NULL);
	len = ZSTD_compress(packed, sizeof(packed), m.records.data, m.records.len, 1);
	if (ZSTD_isError(len))
		exit(1);
	buf_clear(&m.records);
	for (size_t at = 0; at < len; at += len / 2 + 1) {
		size_t n = len - at < len / 2 + 1 ? len - at : len / 2 + 1;
		struct buf b = {0};

		buf_put(&b, packed + at, n);
		make_take(&m, PERFDATA_RECORD_COMPRESSED, 0, &b);
	}
	save(folder, "packed", &m);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_perfdata FOLDER\n");
		return 2;
	}
	save_chains(argv[1]);
	save_stacks(argv[1]);
	save_events(argv[1]);
	save_packed(argv[1]);
	return 0;
}
