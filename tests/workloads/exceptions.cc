/* SPDX-License-Identifier: MIT */
/*
 * C++ exceptions: work in a catch block, and in a destructor that runs while the stack is being
 * unwound. Both lie in the cold part of their function, which has unwind information of its own.
 *
 * EXPECT: main;steady();attempt();middle();thrower();@lib+
 * EXPECT: main;steady();attempt();middle();thrower();@plt
 * EXPECT: main;steady();attempt();middle()|middle() [clone .cold]|middle()
 * (.cold);Guard::~Guard();dtor_leaf() EXPECT: main;steady();attempt();middle()|middle() [clone
 * .cold]|middle() (.cold);@lib+ EXPECT: main;steady();attempt();middle()|middle() [clone
 * .cold]|middle() (.cold);@plt EXPECT: main;steady();attempt()|attempt() [clone .cold]|attempt()
 * (.cold);catch_middle();catch_leaf() EXPECT: main;steady();attempt()|attempt() [clone
 * .cold]|attempt() (.cold);@lib+ EXPECT: main;steady();attempt()|attempt() [clone .cold]|attempt()
 * (.cold);@plt
 */
#include "workload.h"

static CALLEE void dtor_leaf()
{
	SPIN(100000);
}

struct Guard {
	CALLEE ~Guard();
};

Guard::~Guard()
{
	dtor_leaf();
	KEEP;
}

static CALLEE void thrower()
{
	throw 7;
}

static CALLEE void middle()
{
	Guard guard;

	thrower();
	KEEP;
}

static CALLEE void catch_leaf()
{
	SPIN(100000);
}

static CALLEE void catch_middle()
{
	catch_leaf();
	KEEP;
}

static CALLEE void attempt()
{
	try {
		middle();
	} catch (int) {
		catch_middle();
		KEEP;
	}
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
