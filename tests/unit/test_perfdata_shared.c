/* SPDX-License-Identifier: MIT */
/*
 * Recordings of real PMUs, where a checkout has them beside it: what their README says of each is
 * what the reader finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "perf/perfdata.h"

#define FOLDER "../shared/lbr/"

struct found {
	unsigned samples, user, kernel, kernel_empty;
	unsigned user_min, user_max; /* branches of user samples */
	unsigned min, max;	     /* of all */
	unsigned zero;		     /* entries */
	unsigned with_cycles, with_index, with_chain, with_regs, with_stack;
};

static void count_branches(const struct perfdata_sample *s, struct found *f)
{
	bool is_user = s->mode == PERFDATA_MODE_USER;
	unsigned n = (unsigned)s->n_branches;

	f->user += is_user;
	f->kernel += !is_user;
	f->kernel_empty += !is_user && !n;
	if (is_user && n < f->user_min)
		f->user_min = n;
	if (is_user && n > f->user_max)
		f->user_max = n;
	f->min = n < f->min ? n : f->min;
	f->max = n > f->max ? n : f->max;
	for (unsigned i = 0; i < n; i++) {
		f->zero += !s->branches[i].from && !s->branches[i].to;
		f->with_cycles += PERFDATA_BRANCH_CYCLES(s->branches[i].flags) != 0;
	}
}

static struct found read_file(const char *path)
{
	struct found f = {.user_min = UINT32_MAX, .min = UINT32_MAX};
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;
	struct perfdata_record record;
	struct perfdata *reader;
	char *error;

	assert_true(fd >= 0);
	assert_int_equal(perfdata_open(fd, &reader, &error), 0);
	while ((status = perfdata_next(reader, &record)) == 1) {
		const struct perfdata_sample *s = &record.sample;

		if (record.kind != PERFDATA_SAMPLE)
			continue;
		f.samples++;
		f.with_index += s->hw_index != PERFDATA_NO_HW_INDEX;
		f.with_chain += s->n_callchain > 0;
		f.with_regs += s->regs_mask != 0;
		f.with_stack += s->stack_room == 8192;
		count_branches(s, &f);
	}
	assert_int_equal(status, 0);
	assert_int_equal(perfdata_counts(reader)->unknown_records, 0);
	perfdata_free(reader);
	close(fd);
	return f;
}

static void test_call_stack_mode(void **state)
{
	struct found f = read_file(FOLDER "kdab-call-stack.perf.data");
	(void)state;

	assert_true(f.samples == 29 && f.user == 17 && f.kernel == 12 && f.kernel_empty == 8);
	assert_true(f.user_min == 2 && f.user_max == 4);
	assert_int_equal(f.with_index, 0);
}

static void test_registers_and_stack(void **state)
{
	struct found f = read_file(FOLDER "kdab-dwarf.perf.data");
	(void)state;

	assert_true(f.samples == 45 && f.with_regs == 45);
	assert_int_equal(f.with_stack, 45);
}

static void test_any_branch(void **state)
{
	struct found f = read_file(FOLDER "quipper-callgraph-branch-3.4.perf.data");
	(void)state;

	assert_true(f.samples == 923 && f.min == 16 && f.max == 16 && f.with_chain == 923);
	f = read_file(FOLDER "quipper-branch-4.14.perf.data");
	assert_true(f.samples == 13 && f.min == 32 && f.max == 32);
	assert_true(f.zero == 29 && f.with_cycles > 0);
}

static void test_hardware_index(void **state)
{
	struct found f = read_file(FOLDER "quipper-branch-hw-index.perf.data");
	(void)state;

	assert_true(f.samples > 0 && f.with_index == f.samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_stack_mode),
		cmocka_unit_test(test_registers_and_stack),
		cmocka_unit_test(test_any_branch),
		cmocka_unit_test(test_hardware_index),
	};

	if (access(FOLDER, R_OK)) {
		puts("no recorded files beside the checkout (docs/LBR.md)");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
