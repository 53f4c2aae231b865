/* SPDX-License-Identifier: MIT */
/* A library in C++, for a program that loads it late. */
#include <cstdint>
#include <vector>

extern "C" int64_t make_and_drop(int64_t (*size_of)(const void *))
{
	std::vector<int> *numbers = new std::vector<int>(1000);
	int64_t size = size_of(numbers->data());
	const void *data = numbers->data();

	delete numbers;
	return size_of(data) == -1 ? size : -2;
}
