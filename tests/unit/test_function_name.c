/* SPDX-License-Identifier: MIT */
/* Short names of functions, and the parts of names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/function_name.h"

static void check(const char *name, const char *shown, const char *bare)
{
	struct buf b = {0};

	function_name_put_short(name, strlen(name), FUNCTION_NAME_FOLDED_ASCII, &b);
	buf_put_u8(&b, '\0');
	assert_string_equal((const char *)b.data, shown);
	buf_clear(&b);
	function_name_put_short(name, strlen(name), FUNCTION_NAME_NO_ARGUMENTS, &b);
	buf_put_u8(&b, '\0');
	assert_string_equal((const char *)b.data, bare);
	buf_free(&b);
}

static void same(const char *name)
{
	check(name, name, name);
}

static void test_cpp(void **state)
{
	(void)state;
	check("void process_batch<float, 4ul>(std::vector<float> const&)", "process_batch<...>",
	      "process_batch");
	check("std::vector<int, std::allocator<int> >::push_back(int&&)",
	      "std::vector<...>::push_back", "std::vector::push_back");
	check("a::b(int, c<(d)1>) const", "a::b", "a::b");
	check("std::map<int, int> f<int>()", "f<...>", "f");
	check("main", "main", "main");
	check("work(int) [clone .cold]", "work [clone .cold]", "work [clone .cold]");
	check("middle [clone .cold]", "middle [clone .cold]", "middle [clone .cold]");
	check("(anonymous namespace)::parse(int)", "(anonymous namespace)::parse",
	      "(anonymous namespace)::parse");
	check("run(int)::{lambda(int)#1}::operator()(int) const",
	      "run(int)::{lambda(int)#1}::operator()", "run(int)::{lambda(int)#1}::operator()");
	check("a::operator()(int) const", "a::operator()", "a::operator()");
	check("bool operator< <int>(x<int> const&, x<int> const&)", "operator< <...>",
	      "operator< ");
	check("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
	      "std::operator<< <...>", "std::operator<< ");
	check("v::operator[](unsigned long)", "v::operator[]", "v::operator[]");
	check("v::operator->() const", "v::operator->", "v::operator->");
	check("operator new(unsigned long)", "operator new", "operator new");
	check("v::operator unsigned long() const", "v::operator unsigned long",
	      "v::operator unsigned long");
	check("decltype(auto) visit<f>(f&&)", "visit<...>", "visit");
	check("std::function<void (int)>::operator()(int) const", "std::function<...>::operator()",
	      "std::function::operator()");
	check("parse(char const*) (lexer.c)", "parse (lexer.c)", "parse (lexer.c)");
	same("parse (lexer.c)");
	check("parse(int) [prog+0x1300]", "parse [prog+0x1300]", "parse [prog+0x1300]");
	same("parse [prog+0x1300]");
}

static void test_others(void **state)
{
	(void)state;
	same("main.(*T).Method");
	same("net/http.(*conn).serve.func1");
	same("<module>");
	same("Shape.__init__.<locals>.<lambda>");
	same("[incomplete: no_recipe]");
	same("libfoo.so.1+0x1a2b");
	same("[jit]+0x40");
	same("core::ops::function::FnOnce::call_once{{vtable.shim}}");
	check("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
	      "<alloc::vec::Vec<...> as core::ops::drop::Drop>::drop",
	      "<alloc::vec::Vec as core::ops::drop::Drop>::drop");
	check("pure nothrow int app.work(int, char[])", "app.work", "app.work");
}

/* Names of programs are arbitrary bytes. */
static void test_hostile(void **state)
{
	static const char *const names[] = {
		"",	     "(",      "((((",	"))))",
		"<<<<",	     ">",      "->",	"operator",
		"operator<", "f(",     "f)",	"a<b",
		" ",	     "  (",    "f() [", "operator operator operator",
		"[clone",    " [clone"};
	struct function_name parts;
	struct buf b = {0};
	char letters[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		function_name_parse(names[i], strlen(names[i]), &parts);
		assert_true(parts.begin <= parts.end && parts.end <= parts.rest &&
			    parts.rest <= strlen(names[i]));
		function_name_put_short(names[i], strlen(names[i]), FUNCTION_NAME_FOLDED, &b);
	}
	for (uint32_t n = 0; n < 200000; n++) {
		static const char alphabet[] = "f(<)>[]{} :.-o";
		uint64_t seed = n * UINT64_C(0x9e3779b97f4a7c15);

		for (size_t i = 0; i < 12; i++, seed = seed * 6364136223846793005u + 1)
			letters[i] = alphabet[(seed >> 33) % (sizeof(alphabet) - 1)];
		function_name_parse(letters, 12, &parts);
		assert_true(parts.begin <= parts.end && parts.end <= parts.rest &&
			    parts.rest <= 12);
		buf_clear(&b);
		function_name_put_short(letters, 12, FUNCTION_NAME_FOLDED, &b);
	}
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpp),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
