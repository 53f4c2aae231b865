// SPDX-License-Identifier: MIT
/* Exceptions: through functions, with destructors on the way, rethrown, out of a callback. */
#include <algorithm>
#include <cstdio>
#include <vector>

#include "expect.h"

#ifndef DESTRUCTOR /* the complete object's and the base's have one address */
#define DESTRUCTOR "_ZN5guardD2Ev"
#endif

static volatile int zero;

struct guard {
	const char *path;
	NOINLINE ~guard()
	{
		expect(path);
		zero = 0;
	}
};

extern "C" {

NOINLINE void thrower(int depth)
{
	if (depth)
		thrower(depth - 1);
	throw depth;
}

NOINLINE void between(const char *path)
{
	guard g = {path};

	thrower(2);
}

NOINLINE void catcher(const char *path, const char *at_guard)
{
	try {
		between(at_guard);
	} catch (int) {
		expect(path);
	}
	expect(path);
	zero = 0;
}

NOINLINE void again()
{
	try {
		catcher("main;again;catcher", "main;again;catcher;between;" DESTRUCTOR);
		thrower(1);
	} catch (int) {
		expect("main;again");
		throw;
	}
}

NOINLINE bool later(int a, int b)
{
	if (a == 7 || b == 7)
		thrower(0);
	return a < b;
}

NOINLINE void sorter()
{
	std::vector<int> numbers = {5, 7, 1};

	try {
		std::sort(numbers.begin(), numbers.end(), later);
	} catch (int) {
		expect("main;sorter");
	}
}

} // extern "C"

int main()
{
	catcher("main;catcher", "main;catcher;between;" DESTRUCTOR);
	expect("main");
	try {
		again();
	} catch (int) {
		expect("main");
	}
	sorter();
	expect("main");
	printf("%u of %u failed\n", failed, expected);
	return failed || !expected;
}
