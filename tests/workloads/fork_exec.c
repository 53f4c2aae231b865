/* SPDX-License-Identifier: MIT */
/*
 * Children all the time: each works a little as a copy of its parent, then becomes another
 * program (this one again, with another argument) and works a little more.
 *
 * EXPECT: main;steady;parent_leaf
 * EXPECT: main;steady;turn;@lib+
 * EXPECT: main;steady;turn;@plt
 * EXPECT: main;steady;turn;steady_copy;copy_leaf
 * EXPECT: main;steady;turn;become;@lib+
 * EXPECT: main;steady;turn;become;@plt
 * EXPECT: main;steady_other;other_leaf
 * OUTSIDE: 15
 */
#include <string.h>
#include <sys/wait.h>

#define WORKLOAD_CLOCK ITIMER_REAL
#include "workload.h"

static CALLEE void parent_leaf(void)
{
	SPIN(LONG);
}

static CALLEE void copy_leaf(void)
{
	SPIN(40 * LONG);
}

static CALLEE void steady_copy(void)
{
	copy_leaf();
	KEEP;
}

static CALLEE void other_leaf(void)
{
	SPIN(40 * LONG);
}

static CALLEE void steady_other(void)
{
	other_leaf();
	KEEP;
}

static CALLEE void become(char *self)
{
	char *argv[] = {self, "other", NULL};

	execv("/proc/self/exe", argv);
	_exit(1);
}

static CALLEE void turn(char *self)
{
	pid_t child = fork();

	if (child == 0) {
		steady_copy();
		KEEP;
		become(self);
	}
	waitpid(child, NULL, 0);
	KEEP;
}

static CALLEE void steady(char *self)
{
	for (;;) {
		parent_leaf();
		KEEP;
		turn(self);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "other") == 0) {
		steady_other();
		return 0;
	}
	workload_ready(argc, argv);
	steady(argv[0]);
	return 0;
}
