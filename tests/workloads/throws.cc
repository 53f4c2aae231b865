/* SPDX-License-Identifier: MIT */
/*
 * Exceptions alone: functions with an object that has a destructor, so that each has a landing pad,
 * before which there often is a call to the library that throws.
 */
#include "workload.h"

struct Guard {
	CALLEE ~Guard();
};

Guard::~Guard()
{
	KEEP;
}

static CALLEE void thrower()
{
	Guard guard;

	KEEP;
	throw 7;
}

static CALLEE void middle()
{
	Guard guard;

	thrower();
	KEEP;
}

static CALLEE void attempt()
{
	try {
		middle();
	} catch (int) {
		KEEP;
	}
	KEEP;
}

static CALLEE void steady()
{
	for (;;) {
		attempt();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
