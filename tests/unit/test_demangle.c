/* SPDX-License-Identifier: MIT */
/* demangle: C++, both of Rust's schemes, D, Ada, suffixes, long names, and names made to hurt. */
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

static void test_named_region(void **state)
{
	(void)state;
	check("stackd_region.time step <2>", "time step <2>");
	check("stackd_region.", NULL);
	check("my_stackd_region.x", NULL);
	assert_true(is_region_name("stackd_region.step"));
	assert_false(is_region_name("stackd_region."));
	assert_false(is_region_name("step"));
}

static void test_rust(void **state)
{
	(void)state;
	check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	check("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

static void test_d(void **state)
{
	(void)state;
	check("_D3foo3barFiZv", "foo.bar(int)");
	check("_D8demangle4testFAyaZv", "demangle.test(immutable(char)[])");
	check("_D3foo3barFiZv.part.0", "foo.bar(int) [clone .part.0]");
	check("_Dmain", "D main");
	check("_DYNAMIC", NULL);
	check("_Driver", NULL);
}

/* GNAT's encoding is read where it can be nothing else, or is known to be it. */
static void test_ocaml(void **state)
{
	(void)state;
	check("camlList__map_456", "List.map");
	check("camlStdlib__List__fold_left_275", "Stdlib.List.fold_left"); /* of OCaml 4 */
	check("camlStdlib__List.assoc_opt_482", "Stdlib.List.assoc_opt");  /* of OCaml 5 */
	check("camlFoo__$2b$21_83", "Foo.(+!)");
	check("camlStdlib.$40_dps_863", "Stdlib.(@_dps)");
	check("camlFoo__f$27_89", "Foo.f'");
	check("camlFoo___hidden_1", "Foo._hidden");
	check("camlFoo__fun_228", "Foo.fun_228");
	check("camlStdlib__Map.fun_1001", "Stdlib.Map.fun_1001");
	check("camlFoo__funny_3", "Foo.funny");
	check("camlFoo__entry", "Foo.entry");
	check("camlDune__exe__Main__run_12", "Dune.exe.Main.run");
	check("camlDune__exe__Main.run_12", "Dune.exe.Main.run");
	check("camlStdlib__Sys__Make_184", "Stdlib.Sys.Make");
	check("camlStdlib__Sys", NULL);
	check("camlFoo", NULL);
	check("camlFoo__", NULL);
	check("camlFoo__12", NULL);
	check("camlFoo___12", NULL);
	check("camlFoo__code_begin", NULL);
	check("camlFoo.data_end", NULL);
	check("camlFoo__$0a_1", NULL);
	check("camlFoo__$2_1", NULL);
	check("camlFoo__$", NULL);
	check("caml_alloc_small", NULL);
	check("caml", NULL);
}

static void test_ada(void **state)
{
	static const struct {
		const char *mangled, *readable;
	} names[] = {
		{"pack__work", "pack.work"},
		{"pack__work__2", "pack.work"},
		{"pack__Oadd", "pack.\"+\""},
		{"pack__deep__go", "pack.deep.go"},
		{"hot__inner.0", "hot.inner"},
		{"pack___elabs", "pack'Elab_Spec"},
		{"pack__go.cold", "pack.go [clone .cold]"},
		{"pack__Work", NULL},
	};

	(void)state;
	check("_ada_hot", "hot");
	check("ada__text_io__put__4", "ada.text_io.put");
	check("system__img_int__impl", "system.img_int.impl");
	check("my__function", NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *readable = demangle_ada(names[i].mangled);

		if (names[i].readable)
			assert_string_equal(readable, names[i].readable);
		else
			assert_null(readable);
		free(readable);
	}
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
		if (n > 1024) {
			assert_non_null(readable);
			assert_memory_equal(readable, "f(*", 3);
			assert_non_null(strstr(readable, " [shortened "));
			assert_true(strlen(readable) < DEMANGLE_MOST_BYTES + 100);
		}
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
	readable = demangle(name);
	assert_non_null(readable);
	assert_memory_equal(readable, "f(A<B, ", 7);
	assert_true(strlen(readable) < DEMANGLE_MOST_BYTES + 100);
	free(readable);
}

/* "int ns::run<ns::Part<0>, ns::Part<1>, ...>(int)": `n` arguments that are not alike. */
static void wide_name(char *name, unsigned n, unsigned first)
{
	name += sprintf(name, "_ZN2ns3runIJ");
	for (unsigned i = 0; i < n; i++)
		name += sprintf(name, "NS_4PartILi%uEEE", first + i);
	strcpy(name, "EEEii");
}

/* Names as long as real ones get: the arguments go first, the function's own name stays. */
static void test_shortened(void **state)
{
	static char name[80000], other[80000];
	char *readable, *second;

	(void)state;
	for (unsigned n = 300; n <= 2400; n *= 2) {
		wide_name(name, n, 0);
		wide_name(other, n, 1);
		assert_true(strlen(name) > 4096);
		readable = demangle(name);
		second = demangle(other);
		assert_non_null(readable);
		assert_memory_equal(readable, "int ns::run<", 12);
		assert_non_null(strstr(readable, n < 1000 ? ">(int) [shortened " : ">("));
		assert_non_null(strstr(readable, " [shortened "));
		assert_true(strlen(readable) < DEMANGLE_MOST_BYTES + 100);
		assert_string_not_equal(readable, second);
		free(readable);
		free(second);
	}
}

/* Each level refers twice to the one before it. */
static void test_d_doubling(void **state)
{
	char name[2000] = "_D1fFS1a1b";

	(void)state;
	for (int i = 0; i < 60; i++)
		strcat(name, "HQgQi");
	strcat(name, "Zv");
	free(demangle(name));
}

static void test_random_bytes(void **state)
{
	static const char alphabet[] = "_ZRNKSITEPDpPvibC01239LXJgsMAstdn.@$1f3fooQaFZH";
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		char name[64] = {'_', "ZRD"[round % 3], '1'};
		size_t len = 2 + (seed >> 32) % 60;

		for (size_t i = name[1] == 'D' ? 3 : 2; i < len; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			name[i] = alphabet[(seed >> 33) % (sizeof(alphabet) - 1)];
		}
		free(demangle(name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cxx),	  cmocka_unit_test(test_named_region),
		cmocka_unit_test(test_rust),	  cmocka_unit_test(test_d),
		cmocka_unit_test(test_ocaml),	  cmocka_unit_test(test_ada),
		cmocka_unit_test(test_suffixes),  cmocka_unit_test(test_not_mangled),
		cmocka_unit_test(test_shortened), cmocka_unit_test(test_d_doubling),
		cmocka_unit_test(test_nesting),	  cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_doubling),  cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
