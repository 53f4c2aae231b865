// SPDX-License-Identifier: MIT
// The compilers of bench/ and the demo compile this file: deep templates, and much of the standard
// library. DEPTH scales the work.
#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <variant>
#include <vector>

#ifndef DEPTH
#define DEPTH 12
#endif

template <int N> struct Node {
	std::map<std::string, std::vector<std::pair<int, Node<N - 1>>>> below;
	std::variant<int, std::string, std::shared_ptr<Node<N - 1>>> value;

	int sum() const
	{
		int total = std::visit([](const auto &x) { return int(sizeof(x)); }, value);

		for (const auto &[name, children] : below) {
			std::vector<int> sums(children.size());
			std::transform(children.begin(), children.end(), sums.begin(),
				       [](const auto &c) { return c.first + c.second.sum(); });
			std::sort(sums.begin(), sums.end(),
				  [](int a, int b) { return a % (N + 2) < b % (N + 2); });
			for (int s : sums)
				total += s + int(name.size());
		}
		return total;
	}
};

template <> struct Node<0> {
	int sum() const
	{
		return 1;
	}
};

template struct Node<DEPTH>;

#if DEPTH > 8
bool matches(const std::string &text)
{
	return std::regex_match(text, std::regex("a+b*(c|d)"));
}
#endif
