// SPDX-License-Identifier: MIT
/*
 * Real changing stacks, for so many seconds (argv[1]): a tree-walking interpreter runs recursive
 * scripts, libstdc++'s regular expressions search generated text, and a container of strings is
 * built and sorted, in turns of a few milliseconds. The interpreter recurses as the script does,
 * some eight C++ frames a call of it; the regular expressions recurse with each character.
 *
 * Built with frame pointers, so that the kernel's own walk can be measured on it too.
 */
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

namespace
{

// --- the interpreter: (op ...) expressions with numbers and functions ------------------------

struct Machine;

struct Node {
	virtual ~Node() = default;
	virtual long value(Machine &machine) const = 0;
};

using Tree = std::unique_ptr<Node>;

struct Function {
	size_t parameters;
	Tree body;
};

struct Machine {
	std::map<std::string, Function> functions;
	std::vector<std::vector<long>> frames;
};

struct Number : Node {
	explicit Number(long number) : number(number)
	{
	}
	long value(Machine &) const override
	{
		return number;
	}
	long number;
};

struct Parameter : Node {
	explicit Parameter(size_t index) : index(index)
	{
	}
	long value(Machine &machine) const override
	{
		return machine.frames.back().at(index);
	}
	size_t index;
};

struct Branch : Node {
	long value(Machine &machine) const override
	{
		if (condition->value(machine))
			return yes->value(machine);
		return no->value(machine);
	}
	Tree condition, yes, no;
};

long apply(char op, long a, long b)
{
	switch (op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return static_cast<long>(static_cast<unsigned long>(a) *
					 static_cast<unsigned long>(b));
	case '<':
		return a < b;
	default:
		return b ? a % b : 0;
	}
}

struct Arithmetic : Node {
	long value(Machine &machine) const override
	{
		long first = left->value(machine);

		return apply(op, first, right->value(machine));
	}
	char op;
	Tree left, right;
};

struct Call : Node {
	long value(Machine &machine) const override
	{
		const Function &function = machine.functions.at(name);
		std::vector<long> frame;

		for (const Tree &argument : arguments)
			frame.push_back(argument->value(machine));
		frame.resize(function.parameters);
		machine.frames.push_back(std::move(frame));
		long result = function.body->value(machine);
		machine.frames.pop_back();
		return result;
	}
	std::string name;
	std::vector<Tree> arguments;
};

class Parser
{
      public:
	Parser(Machine &machine, const std::string &text) : machine(machine), text(text)
	{
	}

	void program()
	{
		while (peek() == '(')
			definition();
	}

      private:
	char peek()
	{
		while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
			at++;
		return at < text.size() ? text[at] : '\0';
	}

	void expect(char c)
	{
		if (peek() != c)
			throw std::runtime_error(std::string("expected ") + c);
		at++;
	}

	std::string word()
	{
		size_t from = (peek(), at);

		while (at < text.size() && !std::isspace(static_cast<unsigned char>(text[at])) &&
		       text[at] != '(' && text[at] != ')')
			at++;
		return text.substr(from, at - from);
	}

	void definition()
	{
		expect('(');
		std::string name = word();
		Function function;

		parameters.clear();
		expect('(');
		while (peek() != ')')
			parameters.push_back(word());
		expect(')');
		function.parameters = parameters.size();
		function.body = expression();
		expect(')');
		machine.functions[name] = std::move(function);
	}

	Tree atom()
	{
		std::string name = word();
		auto found = std::find(parameters.begin(), parameters.end(), name);

		if (found != parameters.end())
			return std::make_unique<Parameter>(found - parameters.begin());
		return std::make_unique<Number>(std::stol(name));
	}

	Tree expression()
	{
		if (peek() != '(')
			return atom();
		expect('(');
		std::string head = word();
		Tree tree = head == "if"       ? branch()
			    : head.size() == 1 ? operation(head[0])
					       : call(head);
		expect(')');
		return tree;
	}

	Tree branch()
	{
		auto node = std::make_unique<Branch>();

		node->condition = expression();
		node->yes = expression();
		node->no = expression();
		return node;
	}

	Tree operation(char op)
	{
		auto node = std::make_unique<Arithmetic>();

		node->op = op;
		node->left = expression();
		node->right = expression();
		return node;
	}

	Tree call(const std::string &name)
	{
		auto node = std::make_unique<Call>();

		node->name = name;
		while (peek() != ')')
			node->arguments.push_back(expression());
		return node;
	}

	Machine &machine;
	const std::string &text;
	size_t at = 0;
	std::vector<std::string> parameters;
};

const char script[] = R"(
(fibonacci (n) (if (< n 2) n (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))
(tak (x y z) (if (< y x)
	(tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y)) z))
(power (base n) (if (< n 1) 1 (% (* base (power base (- n 1))) 65521)))
(sum (n) (if (< n 1) 0 (+ (power n 9) (sum (- n 1)))))
)";

long run_script(Machine &machine, const char *entry, const std::vector<long> &arguments)
{
	Call call;

	call.name = entry;
	for (long argument : arguments)
		call.arguments.push_back(std::make_unique<Number>(argument));
	return call.value(machine);
}

// --- text -------------------------------------------------------------------------------------

std::vector<std::string> generated_lines()
{
	std::vector<std::string> lines;
	unsigned long state = 12345;

	for (int i = 0; i < 200; i++) {
		std::string line;

		for (int word = 0; word < 5; word++) {
			state = state * 6364136223846793005ul + 1442695040888963407ul;
			line += std::to_string(state >> 52) + (state >> 40 & 1 ? "=" : " ") +
				std::string(state >> 60,
					    static_cast<char>('a' + (state >> 33) % 26)) +
				";";
		}
		lines.push_back(line);
	}
	return lines;
}

long search(const std::vector<std::string> &lines)
{
	static const std::regex pair("([0-9]+)=(a|b|[c-m]+|(n|o)*p?);");
	long found = 0;

	for (const std::string &line : lines)
		found += std::distance(std::sregex_iterator(line.begin(), line.end(), pair),
				       std::sregex_iterator());
	return found;
}

long sort_words(const std::vector<std::string> &lines)
{
	std::map<std::string, long> counts;
	std::vector<std::string> parts;

	for (const std::string &line : lines) {
		for (size_t at = 0, end; (end = line.find(';', at)) != std::string::npos;
		     at = end + 1)
			parts.push_back(line.substr(at, end - at));
	}
	std::sort(parts.begin(), parts.end(), [](const std::string &a, const std::string &b) {
		return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
	});
	for (const std::string &part : parts)
		counts[part]++;
	return static_cast<long>(counts.size());
}

} // namespace

int main(int argc, char **argv)
{
	Machine machine;
	std::vector<std::string> lines = generated_lines();
	long total = 0;

	if (argc != 2) {
		std::fprintf(stderr, "usage: changing SECONDS\n");
		return 2;
	}
	alarm(static_cast<unsigned>(std::atoi(argv[1])));
	for (long turn = 0;; turn++) {
		Parser(machine, script).program();
		total += run_script(machine, "fibonacci", {13 + turn % 3});
		total += run_script(machine, "tak", {8, 4 + turn % 3, 1});
		total += run_script(machine, "sum", {10});
		total += search(lines);
		total += sort_words(lines);
		if (total == -1)
			std::puts("");
	}
}
