/* SPDX-License-Identifier: MIT */
/* demangle: C++, both of Rust's schemes, suffixes, and names made to hurt. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/demangle.h"

static void check(const char *mangled, const char *expected)
{
	char *readable = demangle(mangled);

	if (expected) {
		assert_non_null(readable);
		assert_string_equal(readable, expected);
	} else {
		assert_null(readable);
	}
	free(readable);
}

static void test_cxx(void **state)
{
	(void)state;
	check("_ZN3foo3barEi", "foo::bar(int)");
	check("_Znwm", "operator new(unsigned long)");
	check("_ZZN3fooEvENKUlvE_clEv", "foo()::{lambda()#1}::operator()() const");
	check("_ZN1AIiE1fEv", "A<int>::f()");
}

static void test_rust(void **state)
{
	(void)state;
	check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	check("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

static void test_suffixes(void **state)
{
	(void)state;
	check("_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]");
	check("_ZN3foo3barEi.part.0", "foo::bar(int) [clone .part.0]");
	check("_ZN3foo3barEi.constprop.0.isra.1",
	      "foo::bar(int) [clone .constprop.0] [clone .isra.1]");
	check("_Znwm@plt", "operator new(unsigned long)@plt");
	check("_Znwm@@GLIBCXX_3.4", "operator new(unsigned long)@@GLIBCXX_3.4");
	check("_ZN4core3fmt5write17h0123456789abcdefE.cold", "core::fmt::write [clone .cold]");
	check("_ZN4core3fmt5write17h0123456789abcdefE.llvm.77", "core::fmt::write");
	check("_RNvNtCs1234_7mycrate3foo3bar.cold", "mycrate::foo::bar [clone .cold]");
	check("_RNvNtCs1234_7mycrate3foo3bar.cold.llvm.9", "mycrate::foo::bar [clone .cold]");
}

static void test_not_mangled(void **state)
{
	static const char *const names[] = {"",	     "main", "_",	    "_Z",     "_R",
					    "_ZN",   "@",    "_Z@",	    "_start", "malloc@plt",
					    "_Zfoo", "_R.x", "_Z1f\xff\xfe"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(names[i], NULL);
}

/* "_Z1f" and n pointers to int: nesting. Deep, but within the limits, is shown. */
static void test_nesting(void **state)
{
	static char name[70000];

	(void)state;
	for (size_t n = 1; n < 65000; n *= 2) {
		char *readable;

		memcpy(name, "_Z1f", 4);
		memset(name + 4, 'P', n);
		strcpy(name + 4 + n, "i");
		readable = demangle(name);
		if (n < 500) {
			assert_non_null(readable);
			assert_int_equal(strlen(readable), strlen("f(int)") + n);
		}
		if (n > 4096)
			assert_null(readable);
		free(readable);
	}
}

/* More than 1 KiB, as template-heavy code has them. */
static void test_long_name(void **state)
{
	char name[3000] = "_ZN", *readable;

	(void)state;
	for (int i = 0; i < 150; i++)
		strcat(name, "10abcdefghij");
	strcat(name, "Ev");
	readable = demangle(name);
	assert_non_null(readable);
	assert_int_equal(strlen(readable), 150 * 12 - 2 + 2);
	free(readable);
}

static void seq_id(char *to, unsigned n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (!n--)
		strcat(to, "S_");
	else if (n < 36)
		sprintf(to + strlen(to), "S%c_", digits[n]);
	else
		sprintf(to + strlen(to), "S%c%c_", digits[n / 36], digits[n % 36]);
}

/* A<B,B>, then A<that, that>, and so on: every level doubles the readable name. A, B and B are
 * the first three substitutions, so what is doubled first is the fourth. */
static void doubling_name(char *name, unsigned levels)
{
	strcpy(name, "_Z1f1AI1B1BE");
	for (unsigned i = 0; i < levels; i++) {
		strcat(name, "S_I");
		seq_id(name, i + 3);
		seq_id(name, i + 3);
		strcat(name, "E");
	}
}

static void test_doubling(void **state)
{
	char name[2000], *readable;

	(void)state;
	doubling_name(name, 8);
	readable = demangle(name);
	assert_non_null(readable);
	assert_true(strlen(readable) > 2000);
	free(readable);
	doubling_name(name, 100);
	check(name, NULL);
}

static void test_random_bytes(void **state)
{
	static const char alphabet[] = "_ZRNKSITEPDpPvibC01239LXJgsMAstdn.@$1f3foo";
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		char name[64] = {'_', round & 1 ? 'Z' : 'R'};
		size_t len = 2 + (seed >> 32) % 60;

		for (size_t i = 2; i < len; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			name[i] = alphabet[(seed >> 33) % (sizeof(alphabet) - 1)];
		}
		free(demangle(name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cxx),	 cmocka_unit_test(test_rust),
		cmocka_unit_test(test_suffixes), cmocka_unit_test(test_not_mangled),
		cmocka_unit_test(test_nesting),	 cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_doubling), cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
