/* SPDX-License-Identifier: MIT */
/*
 * Writes the first inputs of fuzz_perfdata and fuzz_import: make_perfdata FOLDER CODE. Every kind
 * of record, of event and of header feature is in one of them, in file and in pipe form, compressed
 * and not. CODE is the library of code.c: stacks and branch records are of its functions.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <zstd.h>

#include "elf/elf_file.h"
#include "perf/perfdata.h"
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

/* --- of code that is there ------------------------------------------------------------------- */

#define CODE_AT 0x10000000 /* where it is mapped in the recordings */

struct code {
	char path[4096];
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_len;
	uint64_t leaf, middle, top;	 /* addresses of the functions */
	uint64_t into_leaf, into_middle; /* of the calls */
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "make_perfdata: %s: %s\n", what, why);
	exit(1);
}

/* The address of the call from one function to another. */
static const uint8_t *find_call(const uint8_t *from, const uint8_t *to)
{
	for (size_t i = 0; i < 256; i++) {
		int32_t distance;

		memcpy(&distance, from + i + 1, sizeof(distance));
		if (from[i] == 0xe8 && from + i + 5 + distance == to)
			return from + i;
	}
	die("code", "a function does not call the next");
	return NULL;
}

static void load_code(const char *path, struct code *c)
{
	const uint8_t *const *functions, *base;
	const uint8_t *build_id;
	struct elf_file *elf = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *loaded = dlopen(path, RTLD_NOW);
	Dl_info info;

	if (fd < 0 || !loaded || !realpath(path, c->path) || elf_file_open(fd, &elf))
		die(path, "cannot be read");
	build_id = elf_file_build_id(elf, &c->build_id_len);
	memcpy(c->build_id, build_id, c->build_id_len);
	functions = dlsym(loaded, "fuzz_code");
	if (!functions || !dladdr(functions[0], &info))
		die(path, "has no functions");
	base = (const uint8_t *)info.dli_fbase - CODE_AT;
	c->leaf = (uint64_t)(functions[0] - base);
	c->middle = (uint64_t)(functions[1] - base);
	c->top = (uint64_t)(functions[2] - base);
	c->into_leaf = (uint64_t)(find_call(functions[1], functions[0]) - base);
	c->into_middle = (uint64_t)(find_call(functions[2], functions[1]) - base);
	elf_file_free(elf);
	close(fd);
}

static void add_code(struct make *m, const struct code *c)
{
	make_string_feature(m, PERFDATA_FEATURE_HOSTNAME, "host");
	make_mmap2(m, 1, CODE_AT, 0x10000, 0, c->path, c->build_id, (uint8_t)c->build_id_len, 1);
}

/* The registers of a sample in the leaf, and a stack on which the two calls stand. */
static void put_stack(struct buf *b, const struct code *c)
{
	uint64_t words[64] = {[0] = c->into_leaf + 5};

	for (size_t i = 1; i < 64; i++)
		words[i] = i < 32 ? c->into_middle + 5 : 0x7ffff000 + 8 * i;
	make_u64(b, PERFDATA_REGS_64);
	for (unsigned i = 0; i < 17; i++)
		make_u64(b, i == 7 ? 0x7ffff000 : i == 8 ? c->leaf : 0x7ffff040);
	make_u64(b, sizeof(words));
	buf_put(b, words, sizeof(words));
	make_u64(b, sizeof(words));
}

static void put_branches(struct buf *b, const struct code *c, bool has_types)
{
	make_u64(b, 4);
	make_words(b, 3, c->into_leaf, c->leaf, has_types ? (uint64_t)PERF_BR_CALL << 20 : 0);
	make_words(b, 3, c->leaf + 8, c->into_leaf + 5, (uint64_t)0);
	make_words(b, 3, c->into_middle, c->middle, (uint64_t)0);
	make_words(b, 3, (uint64_t)0x20000000, c->top, (uint64_t)PERF_BR_IND_CALL << 20);
}

/* `sample_type`: which of call chain, branches, registers and stack a sample has. */
static void save_code(const char *folder, const char *name, const struct code *c,
		      uint64_t sample_type, uint64_t branch_type)
{
	struct make m = {0};
	struct perf_event_attr *attr = make_event(&m, MAKE_PLAIN | sample_type, 1);

	attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | branch_type;
	attr->sample_regs_user = sample_type & PERF_SAMPLE_REGS_USER ? 0xff01ff : 0;
	attr->exclude_callchain_user = (sample_type & PERF_SAMPLE_STACK_USER) != 0;
	add_code(&m, c);
	for (uint64_t i = 0; i < 3; i++) {
		struct buf b = {0};

		if (sample_type & PERF_SAMPLE_CALLCHAIN)
			make_words(&b, 5, (uint64_t)4, (uint64_t)PERF_CONTEXT_USER, c->leaf,
				   c->into_leaf + 5, c->into_middle + 5);
		if (sample_type & PERF_SAMPLE_BRANCH_STACK)
			put_branches(&b, c, i == 1);
		if (sample_type & PERF_SAMPLE_STACK_USER)
			put_stack(&b, c);
		make_sample(&m, PERF_RECORD_MISC_USER, c->leaf + i, 1, 2 + i, &b);
	}
	save(folder, name, &m);
}

static void save_codes(const char *folder, const char *path)
{
	const uint64_t stack = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	const uint64_t branches = PERF_SAMPLE_BRANCH_STACK;
	struct code c;

	load_code(path, &c);
	save_code(folder, "code_chain", &c, PERF_SAMPLE_CALLCHAIN, 0);
	save_code(folder, "code_dwarf", &c, stack, 0);
	save_code(folder, "code_lbr", &c, branches, PERF_SAMPLE_BRANCH_CALL_STACK);
	save_code(folder, "code_lbr_dwarf", &c, branches | stack, PERF_SAMPLE_BRANCH_CALL_STACK);
	save_code(folder, "code_any", &c, branches, PERF_SAMPLE_BRANCH_ANY);
	save_code(folder, "code_any_chain", &c, branches | PERF_SAMPLE_CALLCHAIN,
		  PERF_SAMPLE_BRANCH_ANY);
	save_code(folder, "code_any_dwarf", &c, branches | stack, PERF_SAMPLE_BRANCH_ANY);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: make_perfdata FOLDER CODE\n");
		return 2;
	}
	save_codes(argv[1], argv[2]);
	save_chains(argv[1]);
	save_stacks(argv[1]);
	save_events(argv[1]);
	save_packed(argv[1]);
	return 0;
}
