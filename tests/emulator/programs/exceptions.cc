// SPDX-License-Identifier: MIT
// Exceptions through frames with destructors, caught at different depths, some thrown again.
#include "common.h"

#include <stdexcept>
#include <string>

struct guard {
	int *count;
	NOINLINE ~guard()
	{
		work(3);
		(*count)++;
	}
};

static int cleaned;

static NOINLINE int thrower(int depth)
{
	guard g{&cleaned};
	work(4);
	if (depth > 0) {
		int got = thrower(depth - 1);
		NOT_LAST;
		return got + 1;
	}
	if (random_below(2))
		throw std::runtime_error("deep");
	if (random_below(3) == 0)
		throw 7;
	return static_cast<int>(work(20) & 3);
}

static NOINLINE int middle(int depth)
{
	try {
		return thrower(depth) + 1;
	} catch (const std::runtime_error &e) {
		work(10);
		if (random_below(2))
			throw std::string(e.what());
		return static_cast<int>(work(10) & 1);
	}
}

static NOINLINE int outer(int depth)
{
	guard g{&cleaned};
	try {
		return middle(depth) + 2;
	} catch (const std::string &text) {
		return static_cast<int>(text.size() + work(10)) & 7;
	} catch (int number) {
		return number + static_cast<int>(work(10) & 1);
	}
}

int main()
{
	int sum = 0;
	for (int i = 0; i < 400; i++)
		sum += outer(static_cast<int>(random_below(30)));
	return sum == 42;
}
