/* SPDX-License-Identifier: MIT */
/* Functions outside of the analysed code that do not return, which only their code tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>
#include "linked_library.h"

static int setup(void **state)
{
	return library_open(state, "linked_outside.so", "calls_quits");
}

/* What stands behind the call is another function, in the middle of a line of code. */
static void ends(void **state)
{
	check(state, "calls_quits", 8);
	check(state, "calls_quits_in", 16);
	check(state, "follows_quits", 8);
}

static void two_that_call_each_other(void **state)
{
	check(state, "calls_two_in", 16);
	check(state, "follows_two", 8);
}

static void tail_call(void **state)
{
	check(state, "calls_leaves_in", 16);
	check(state, "follows_leaves", 8);
}

static void returns(void **state)
{
	check(state, "behind_back", 16);
	check(state, "behind_pointer", 16);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends),
		cmocka_unit_test(two_that_call_each_other),
		cmocka_unit_test(tail_call),
		cmocka_unit_test(returns),
	};

	return cmocka_run_group_tests(tests, setup, library_close);
}
