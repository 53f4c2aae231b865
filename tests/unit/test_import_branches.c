/* SPDX-License-Identifier: MIT */
/*
 * Branch records of perf.data files: those of calls, those of every kind with and without call
 * chains, and what the recording's note says of what cannot be used.
 */
#include "import_fixture.h"

struct branch {
	uint64_t from, to, type;
};

#define BRANCHES(...)                                                                              \
	(const struct branch[]){__VA_ARGS__},                                                      \
		sizeof((const struct branch[]){__VA_ARGS__}) / sizeof(struct branch)

static void put_branches(struct buf *b, const struct branch *branches, size_t n)
{
	make_u64(b, n);
	for (size_t i = 0; i < n; i++)
		make_words(b, 3, branches[i].from, branches[i].to, branches[i].type << 20);
}

static void add_branches(struct make *m, uint64_t time, uint64_t ip, const struct branch *branches,
			 size_t n)
{
	struct buf b = {0};

	put_branches(&b, branches, n);
	make_sample(m, ip >> 63 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER, ip, PID, time,
		    &b);
}

static void add_branch_event(struct make *m, uint64_t sample_type, uint64_t branch_type)
{
	make_event(m, MAKE_PLAIN | PERF_SAMPLE_BRANCH_STACK | sample_type, 1)->branch_sample_type =
		PERF_SAMPLE_BRANCH_USER | branch_type;
	make_mmap2(m, PID, 0x400000, 0x10000, 0, "/bin/x", "xxxx", 4, 1);
}

/* The leaf is the sampled address, not where the last call went. */
static void test_branch_records(void **state)
{
	struct fixture f;
	(void)state;

	set_up(&f);
	add_branch_event(&f.make, 0, PERF_SAMPLE_BRANCH_CALL_STACK);
	add_branches(&f.make, 2, 0x402010,
		     BRANCHES({0x401010, 0x402000, 0}, {0x400100, 0x401000, 0}));
	import_and_read(&f);
	assert_int_equal(frame_of(&f, 0, 0)->offset, 0x2010);
	assert_int_equal(depth_of(&f, 0), 3);
	assert_int_equal(frame_of(&f, 0, 1)->offset & ~7ull, 0x1010);
	assert_int_equal(frame_of(&f, 0, 2)->offset & ~7ull, 0x100);
	assert_int_not_equal(f.samples[0].origin, ORIGIN_WALKED);
	tear_down(&f);
}

/* The kind of a branch is taken from its record if the code is not available. */
static void test_any_branch(void **state)
{
	struct fixture f;
	(void)state;

	set_up(&f);
	add_branch_event(&f.make, 0, PERF_SAMPLE_BRANCH_ANY);
	add_branches(&f.make, 2, 0x404010,
		     BRANCHES({0x404008, 0x405000, PERF_BR_CALL | PERF_BR_SPEC_WRONG_PATH << 4},
			      {0x401080, 0x404000, PERF_BR_IND_CALL},
			      {0x402020, 0x401045, PERF_BR_RET}, {0x401040, 0x402000, PERF_BR_CALL},
			      {0x401010, 0x401030, PERF_BR_COND},
			      {0x400100, 0x401000, PERF_BR_CALL}));
	/* A sample of the kernel: a system call has left the user's code. */
	add_branches(&f.make, 3, 0xffffffff81000010,
		     BRANCHES({0x401090, 0xffffffff81000000, PERF_BR_SYSCALL},
			      {0x400100, 0x401000, PERF_BR_CALL}));
	import_and_read(&f);
	assert_int_equal(depth_of(&f, 0), 3);
	assert_int_equal(frame_of(&f, 0, 0)->offset, 0x4010);
	assert_int_equal(frame_of(&f, 0, 1)->offset, 0x1080);
	assert_int_equal(frame_of(&f, 0, 2)->offset, 0x100);
	assert_int_equal(f.samples[0].end_reason, STACKD_END_AS_RECORDED);
	assert_int_equal(depth_of(&f, 1), 3);
	assert_int_equal(frame_of(&f, 1, 1)->offset, 0x1090);
	assert_int_equal(frame_of(&f, 1, 2)->offset, 0x100);
	assert_null(strstr(note_of(&f), "code that is not here"));
	assert_non_null(strstr(note_of(&f), "branches of every kind (-b) and no call chains"));
	tear_down(&f);
}

/* A call that a chain of frame pointers has left out. */
static void test_any_branch_with_chains(void **state)
{
	struct fixture f;
	struct buf b = {0};
	(void)state;

	set_up(&f);
	add_branch_event(&f.make, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_ANY);
	make_words(&b, 4, (uint64_t)3, USER, (uint64_t)0x404010, (uint64_t)0x400105);
	put_branches(&b, BRANCHES({0x401080, 0x404000, PERF_BR_CALL},
				  {0x400100, 0x401000, PERF_BR_CALL}));
	make_sample(&f.make, PERF_RECORD_MISC_USER, 0x404010, PID, 2, &b);
	import_and_read(&f);
	assert_int_equal(depth_of(&f, 0), 3);
	assert_int_equal(frame_of(&f, 0, 1)->offset, 0x1080);
	assert_int_equal(frame_of(&f, 0, 2)->offset, 0x104);
	assert_non_null(strstr(note_of(&f), "joined with the call chains"));
	tear_down(&f);
}

static void expect_note(uint64_t sample_type, uint64_t branch_type, const char *part)
{
	struct fixture f;
	struct buf b = {0};

	set_up(&f);
	add_branch_event(&f.make, sample_type, branch_type);
	if (sample_type & PERF_SAMPLE_CALLCHAIN)
		make_words(&b, 3, (uint64_t)2, USER, (uint64_t)0x402010);
	put_branches(&b, BRANCHES({0x401010, 0x402000, 0}));
	make_sample(&f.make, PERF_RECORD_MISC_USER, 0x402010, PID, 2, &b);
	import_and_read(&f);
	if (part && !strstr(note_of(&f), part))
		fail_msg("'%s' is not in: %s", part, note_of(&f));
	if (!part)
		assert_string_equal(note_of(&f),
				    "imported from perf; 1 of 1 program files were not used "
				    "(/bin/x): 1 not here; stackctl import --symfs DIR reads them "
				    "from DIR");
	tear_down(&f);
}

/* The report says what kind of recording it is, and what to record instead. */
static void test_notes(void **state)
{
	struct fixture f;
	(void)state;

	expect_note(0, PERF_SAMPLE_BRANCH_ANY,
		    "1 of 1 sample has branches in code that is not here");
	expect_note(0, PERF_SAMPLE_BRANCH_ANY, "record with --call-graph lbr or dwarf");
	expect_note(PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_ANY,
		    "1 of 1 sample has branches in code that is not here");
	expect_note(0, PERF_SAMPLE_BRANCH_COND,
		    "some kinds of branches alone, which show no path: "
		    "paths are of one frame");
	expect_note(PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_COND, "which show no path");
	expect_note(0, PERF_SAMPLE_BRANCH_CALL_STACK, NULL);
	set_up(&f);
	make_event(&f.make, MAKE_PLAIN, 1);
	make_sample(&f.make, PERF_RECORD_MISC_USER, 0x402010, PID, 2, NULL);
	import_and_read(&f);
	assert_non_null(strstr(note_of(&f), "without call chains: paths are of one frame; for"));
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branch_records),
		cmocka_unit_test(test_any_branch),
		cmocka_unit_test(test_any_branch_with_chains),
		cmocka_unit_test(test_notes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
