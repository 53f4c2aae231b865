/* SPDX-License-Identifier: MIT */
/* Programs whose allocations are not heard of: daemon/capture/alloc_coverage.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/capture/alloc_coverage.h"

#define LIBRARY "/usr/lib/stackd/libstackalloc.so"
#define LIBC	"/usr/lib/libc.so.6"

static struct alloc_coverage *make(void)
{
	struct alloc_coverage *u;

	assert_int_equal(alloc_coverage_new(&u), 0);
	assert_int_equal(alloc_coverage_add(u, LIBRARY, 0), 0);
	return u;
}

/* A program counts once it has ended without the library: at its exit, at the next exec, or at the
 * end of the recording. */
static void by_end(void **state)
{
	struct alloc_coverage *u = make();

	(void)state;
	alloc_coverage_on_exec(u, 1, "with");
	alloc_coverage_on_mmap(u, 1, LIBRARY);
	alloc_coverage_on_mmap(u, 1, LIBC);
	alloc_coverage_on_exit(u, 1);
	alloc_coverage_on_exec(u, 2, "without");
	alloc_coverage_on_mmap(u, 2, LIBC);
	assert_int_equal(alloc_coverage_count(u), 0);
	alloc_coverage_on_exec(u, 2, "another");
	assert_int_equal(alloc_coverage_count(u), 1);
	alloc_coverage_on_exit(u, 2);
	assert_int_equal(alloc_coverage_count(u), 2);
	alloc_coverage_on_exit(u, 3); /* has executed nothing */
	alloc_coverage_on_exec(u, 4, "running");
	alloc_coverage_finish(u);
	assert_int_equal(alloc_coverage_count(u), 3);
	alloc_coverage_finish(u);
	assert_int_equal(alloc_coverage_count(u), 3);
	alloc_coverage_free(u);
}

/* A file may have probes in one process alone. */
static void by_process(void **state)
{
	struct alloc_coverage *u = make();

	(void)state;
	assert_int_equal(alloc_coverage_add(u, LIBC, 7), 0);
	for (pid_t pid = 7; pid <= 8; pid++) {
		alloc_coverage_on_exec(u, pid, "program");
		alloc_coverage_on_mmap(u, pid, LIBC);
		alloc_coverage_on_exit(u, pid);
	}
	assert_int_equal(alloc_coverage_count(u), 1);
	alloc_coverage_free(u);
}

/* What is not known does not count. */
static void not_known(void **state)
{
	struct alloc_coverage *u = make();

	(void)state;
	alloc_coverage_on_exec(u, 1, "program");
	alloc_coverage_forget(u); /* the event of its mapping may be among those that were lost */
	alloc_coverage_on_exit(u, 1);
	alloc_coverage_on_exec(u, 2, "program");
	alloc_coverage_add_all(u);
	alloc_coverage_on_exit(u, 2);
	alloc_coverage_on_exec(u, 3, "program");
	alloc_coverage_on_exit(u, 3);
	assert_int_equal(alloc_coverage_count(u), 0);
	alloc_coverage_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_end),
		cmocka_unit_test(by_process),
		cmocka_unit_test(not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
