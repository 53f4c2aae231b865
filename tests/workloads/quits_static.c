/* SPDX-License-Identifier: MIT */
/*
 * A static program without symbols whose own code has no unwind information, while that of its C
 * library has: nothing but the library's code tells that exit() does not return, and nothing but a
 * number in its start code where main() begins. `steady` ends in a call that does not return, right
 * in front of another function.
 *
 * (tests/live/test_stripped.py has its path.)
 */
#include "workload.h"

static CALLEE void leaf(void)
{
	SPIN(SHORT);
}

static volatile int is_over;

static CALLEE void works_and_quits(int status)
{
	while (!is_over) {
		leaf();
		KEEP;
	}
	exit(status);
}

static CALLEE void steady(int status)
{
	works_and_quits(status);
	__builtin_unreachable();
}

/* It has no frame: taken for the end of `steady`, it contradicts it. */
static CALLEE int next_function(int number)
{
	KEEP;
	return number * 3;
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	if (next_function(argc) > 100)
		is_over = 1;
	steady(next_function(0));
}
