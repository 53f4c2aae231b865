/* SPDX-License-Identifier: MIT */
/*
 * Three threads beside the main one, each with a path of its own; one of them ends and is made
 * anew all the time.
 *
 * EXPECT: main;steady;main_leaf
 * EXPECT: main;steady;turn;@lib+
 * EXPECT: main;steady;turn;@plt
 * EXPECT: @thread;steady_one;one_middle;one_leaf
 * EXPECT: @thread;steady_two;two_leaf
 * EXPECT: @thread;steady_brief;brief_leaf
 */
#include <pthread.h>

#include "workload.h"

static CALLEE void main_leaf(void)
{
	SPIN(LONG);
}

static CALLEE void one_leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void one_middle(void)
{
	one_leaf();
	KEEP;
}

static CALLEE void *steady_one(void *arg)
{
	for (;;) {
		one_middle();
		KEEP;
	}
	return arg;
}

static CALLEE void two_leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void *steady_two(void *arg)
{
	for (;;) {
		two_leaf();
		KEEP;
	}
	return arg;
}

/* Long beside what making and ending a thread takes, which depends on the host: up to 0.1 ms. */
static CALLEE void brief_leaf(void)
{
	SPIN(4 * LONG);
}

static CALLEE void *steady_brief(void *arg)
{
	brief_leaf();
	KEEP;
	return arg;
}

static CALLEE void turn(void)
{
	pthread_t brief;

	if (pthread_create(&brief, NULL, steady_brief, NULL))
		_exit(1);
	pthread_join(brief, NULL);
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		main_leaf();
		KEEP;
		turn();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	pthread_t one, two;

	if (pthread_create(&one, NULL, steady_one, NULL) ||
	    pthread_create(&two, NULL, steady_two, NULL))
		return 1;
	workload_ready(argc, argv);
	steady();
	return 0;
}
