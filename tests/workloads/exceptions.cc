/* SPDX-License-Identifier: MIT */
/*
 * C++ exceptions: work in a catch block, and in a destructor that runs while the stack is being
 * unwound. Both lie in the cold part of their function, which has unwind information of its own.
 * throws and throws_fp, the same without any work (ALONE), do nothing but throw and catch.
 *
 * EXPECT: main;steady();attempt();middle();thrower();@lib+
 * EXPECT: main;steady();attempt();middle();thrower();@plt
 * EXPECT: main;steady();attempt();middle();thrower();Guard::~Guard();dtor_leaf()
 * EXPECT: main;steady();attempt();middle();Guard::~Guard();dtor_leaf()
 * EXPECT: main;steady();attempt();middle();@lib+
 * EXPECT: main;steady();attempt();middle();@plt
 * EXPECT: main;steady();attempt();catch_middle();catch_leaf()
 * EXPECT: main;steady();attempt();@lib+
 * EXPECT: main;steady();attempt();@plt
 * TORN: _Unwind_RaiseException;_Unwind_Resume
 */
#include "workload.h"

#ifdef ALONE
#define WORK KEEP
#else
#define WORK SPIN(100000)
#endif

static CALLEE void dtor_leaf()
{
	WORK;
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
	Guard guard; /* so that it has a landing pad, behind the call that throws */

	KEEP;
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
	WORK;
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
