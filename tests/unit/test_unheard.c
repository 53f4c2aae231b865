/* SPDX-License-Identifier: MIT */
/* Programs whose allocations are not heard of: daemon/capture/unheard.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/capture/unheard.h"

#define LIBRARY "/usr/lib/stackd/libstackalloc.so"
#define LIBC	"/usr/lib/libc.so.6"

static struct unheard *make(void)
{
	struct unheard *u;

	assert_int_equal(unheard_new(&u), 0);
	assert_int_equal(unheard_hear(u, LIBRARY, 0), 0);
	return u;
}

/* A program counts once it has ended without the library: at its exit, at the next exec, or at the
 * end of the recording. */
static void by_end(void **state)
{
	struct unheard *u = make();

	(void)state;
	unheard_on_exec(u, 1, "with");
	unheard_on_mmap(u, 1, LIBRARY);
	unheard_on_mmap(u, 1, LIBC);
	unheard_on_exit(u, 1);
	unheard_on_exec(u, 2, "without");
	unheard_on_mmap(u, 2, LIBC);
	assert_int_equal(unheard_count(u), 0);
	unheard_on_exec(u, 2, "another");
	assert_int_equal(unheard_count(u), 1);
	unheard_on_exit(u, 2);
	assert_int_equal(unheard_count(u), 2);
	unheard_on_exit(u, 3); /* has executed nothing */
	unheard_on_exec(u, 4, "running");
	unheard_finish(u);
	assert_int_equal(unheard_count(u), 3);
	unheard_finish(u);
	assert_int_equal(unheard_count(u), 3);
	unheard_free(u);
}

/* A file may have probes in one process alone. */
static void by_process(void **state)
{
	struct unheard *u = make();

	(void)state;
	assert_int_equal(unheard_hear(u, LIBC, 7), 0);
	for (pid_t pid = 7; pid <= 8; pid++) {
		unheard_on_exec(u, pid, "program");
		unheard_on_mmap(u, pid, LIBC);
		unheard_on_exit(u, pid);
	}
	assert_int_equal(unheard_count(u), 1);
	unheard_free(u);
}

/* What is not known does not count. */
static void not_known(void **state)
{
	struct unheard *u = make();

	(void)state;
	unheard_on_exec(u, 1, "program");
	unheard_forget(u); /* the event of its mapping may be among those that were lost */
	unheard_on_exit(u, 1);
	unheard_on_exec(u, 2, "program");
	unheard_hear_all(u);
	unheard_on_exit(u, 2);
	unheard_on_exec(u, 3, "program");
	unheard_on_exit(u, 3);
	assert_int_equal(unheard_count(u), 0);
	unheard_free(u);
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
