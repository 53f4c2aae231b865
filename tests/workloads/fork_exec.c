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
 */
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "workload.h"

static double seconds; /* of CPU time, which the children have */

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

/* Whether the children that have ended have had so much CPU time. */
static inline __attribute__((always_inline)) int has_had(double most)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6 >=
	       most;
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
	if (has_had(seconds))
		_exit(0);
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
	seconds = argc > 1 ? atof(argv[1]) : 5;
	workload_ready(argc, argv);
	steady(argv[0]);
	return 0;
}
